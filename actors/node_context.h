#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/config.h"
#include "actors/corrupt_block.h"
#include "actors/live.h"
#include "actors/metrics.h"
#include "actors/namespace_directory.h"
#include "actors/pin_table.h"
#include "actors/refusal_log.h"
#include "actors/session_limits.h"
#include "actors/shard_calls.h"
#include "actors/shard_counters.h"
#include "actors/tenant_limits.h"
#include "actors/tenant_port.h"
#include "actors/tenant_use.h"
#include "actors/token_table.h"
#include "store/node_store.h"
#include "transport/tls.h"

namespace larder {

class IoThread;

/// What every io thread and session of a node shares. Owned by Node, outlives them; only what is
/// atomic changes after start.
struct NodeContext {
  const Live<Config>& live_config;
  NodeStore& store;
  ShardPort& shards;
  TenantPort& tenants;
  const Live<TokenTable>& tokens;
  const Live<TenantLimits>& tenant_limits;
  const Live<std::shared_ptr<const TlsContext>>& tls;  ///< of TCP sessions; null: none
  NodeMetrics& metrics;
  std::vector<std::unique_ptr<ShardCounters>>& counters_of_shards;
  std::string node_id;  ///< UUID kept in the runtime directory
  std::uint64_t incarnation = 0;
  std::shared_ptr<const NamespaceDirectory> namespaces;
  std::function<void(const std::string&)> log;    ///< one line; any thread
  std::function<void(const std::string&)> audit;  ///< one line of who changed what; any thread
  RefusalLog refusals{audit};                     ///< audit lines of what was not allowed
  std::vector<IoThread*> io_threads;
  std::atomic<std::uint64_t> next_session{1};
  std::atomic<std::uint64_t> next_request{1};
  std::atomic<std::uint32_t> sessions{0};
  SharedPot members{};  ///< of them, those that belong to a tenant: they have said Hello
  /// Accepted, and on their way to the io thread that makes sessions of them.
  std::atomic<std::uint32_t> arriving{0};
  TenantUses tenant_uses;
  TenantUse nobody{""};  ///< whose is what connections hold that have said no Hello
  Commons commons{};
  SharedPot held;  ///< bytes that cannot leave: of gets over shared memory and of puts under way
  PinTable pins;
  Suspects suspects;

  const Config& config() const { return live_config.get(); }
  /// Whether some have to leave room for others: without tokens there is one tenant.
  bool has_tenants() const { return !tokens.get().empty(); }
  /// False, and nothing is taken: so many are not left.
  bool take(TenantUse& tenant, Common what, std::uint64_t count) {
    return commons.take(tenant, what, count, common_bounds(what));
  }
  /// After that: who has how many, and the limit.
  std::string why_not(const TenantUse& tenant, Common what) const {
    return commons.why_not(tenant, what, common_bounds(what));
  }
  SharedPot::Bounds common_bounds(Common what) const {
    const std::uint64_t most = common_max(what, config().host_bytes);
    return {.all = most, .own = most, .tenants = has_tenants()};
  }
  /// What requests' pins and explicit pins may hold together: a part of the capacity, and of the
  /// tenant's quota.
  SharedPot::Bounds pin_bounds(const TenantUse& tenant) const {
    const auto part = [percent = std::uint64_t{config().pin_quota_percent}](std::uint64_t whole) {
      return whole / 100 * percent + whole % 100 * percent / 100;
    };
    const std::uint64_t all = part(store.budget.ledger.capacity().count);
    const auto quota = tenant_limits.get().of(tenant.name).host;
    return {.all = all, .own = quota ? part(quota->count) : all, .tenants = has_tenants()};
  }
  /// What gets and puts may hold at one time; a node of one tenant has no bound but its capacity.
  SharedPot::Bounds held_bounds() const {
    constexpr std::uint64_t kNone = ~std::uint64_t{0};
    const bool bounded = has_tenants();
    return {.all = bounded ? store.budget.ledger.capacity().count : kNone,
            .own = kNone,
            .tenants = bounded};
  }

  NamespaceMode mode_of(const NamespaceInfo& ns) const {
    const NamespaceMode own = ns.mode->load(std::memory_order_relaxed);
    if (own != NamespaceMode::kDefault) return own;
    return parse_namespace_mode(config().namespace_mode).value_or(NamespaceMode::kOn);
  }

  /// Sums over the shards, by name.
  std::vector<std::pair<std::string, std::uint64_t>> shard_counters() const {
    return sum_counters(counters_of_shards);
  }
};

}  // namespace larder
