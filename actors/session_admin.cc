// Waits, pins, removal, lists and statistics.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/node_stats.h"
#include "actors/session.h"
#include "actors/session_calls.h"
#include "actors/session_erase_op.h"
#include "actors/session_limits.h"
#include "actors/session_list_op.h"
#include "actors/session_match.h"
#include "actors/session_removal_op.h"
#include "actors/session_wait_op.h"
#include "store/hash_text.h"
#include "store/limits.h"

namespace larder {

using wire::KeyStatus;

namespace {

wire::PutResult result_of(KeyStatus status) {
  return {static_cast<std::uint16_t>(status), 0, 0};
}

}  // namespace

void Session::wait(const Call& call) {
  wire::WaitRequest body;
  if (!parse(call, body)) return;
  const NamespaceRef ns = open_or_refuse(call, body.ns());
  if (!ns) return;
  std::vector<wire::KeyRecord> records;
  if (!records_or_refuse(call, call.array, records)) return;
  if (waits_ >= limits::kSessionWaitsMax) {
    return refuse(
        call, absl::ResourceExhaustedError(fmt::format("wait: {} are open, the limit is {}", waits_,
                                                       limits::kSessionWaitsMax)));
  }
  if (wait_keys_ + records.size() > limits::kSessionWaitKeysMax) {
    return refuse(call, absl::ResourceExhaustedError(
                            fmt::format("wait: {} keys beside {} waited for, the limit is {}",
                                        records.size(), wait_keys_, limits::kSessionWaitKeysMax)));
  }
  if (!node_.take(*tenant_, Common::kWaitKeys, records.size())) {
    return refuse(call, absl::ResourceExhaustedError(
                            fmt::format("wait: {} keys: {}", records.size(),
                                        node_.why_not(*tenant_, Common::kWaitKeys))));
  }
  std::vector<LocatedKey> keys;
  for (const wire::KeyRecord& record : records) {
    keys.push_back(locate(*ns, record, node_.store.shards()));
  }
  const Time deadline = now_ + put_deadline(body.deadline_ms());
  auto op = std::make_unique<WaitOp>(*this, call.id, ns, std::move(keys), deadline);
  WaitOp& started = *op;
  if (start(call, std::move(op))) started.on_time(now_);  // all may be there already
}

void Session::pin(const Call& call) {
  wire::PinRequest body;
  if (!parse(call, body)) return;
  const NamespaceRef ns = open_or_refuse(call, body.ns());
  if (!ns) return;
  std::vector<wire::KeyRecord> records;
  if (!records_or_refuse(call, call.array, records)) return;
  audit_keys(call.type, *ns, records);
  const SharedPot::Bounds bounds = node_.pin_bounds(*tenant_);
  const Time until =
      body.ttl_ms() == 0 ? Time::max() : now_ + std::chrono::milliseconds(body.ttl_ms());
  std::vector<wire::PutResult> results;
  for (const wire::KeyRecord& record : records) {
    const LocatedKey at = locate(*ns, record, node_.store.shards());
    const auto held = hold(node_.store, at, node_.store.indexes[at.shard.value()]->find(at.key));
    if (!held) {
      results.push_back(result_of(KeyStatus::kMiss));
    } else if (node_.pins.pin(node_.store, *tenant_, *held, until, bounds)) {
      results.push_back(result_of(KeyStatus::kOk));
    } else {
      larder::release(node_.store, *held);
      results.push_back(result_of(KeyStatus::kNoSpace));
    }
  }
  reply(call.type, call.id, wire::PutReply(), std::as_bytes(std::span(results)));
}

void Session::unpin(const Call& call) {
  wire::PinRequest body;
  if (!parse(call, body)) return;
  const NamespaceRef ns = open_or_refuse(call, body.ns());
  if (!ns) return;
  std::vector<wire::KeyRecord> records;
  if (!records_or_refuse(call, call.array, records)) return;
  audit_keys(call.type, *ns, records);
  std::vector<wire::PutResult> results;
  for (const wire::KeyRecord& record : records) {
    const LocatedKey at = locate(*ns, record, node_.store.shards());
    const bool unpinned = node_.pins.unpin(node_.store, at.key);
    results.push_back(result_of(unpinned ? KeyStatus::kOk : KeyStatus::kMiss));
  }
  reply(call.type, call.id, wire::PutReply(), std::as_bytes(std::span(results)));
}

void Session::remove(const Call& call) {
  wire::RemoveRequest body;
  if (!parse(call, body)) return;
  const NamespaceRef ns = open_or_refuse(call, body.ns());
  if (!ns) return;
  std::vector<wire::KeyRecord> records;
  if (!records_or_refuse(call, call.array, records)) return;
  audit_keys(call.type, *ns, records);
  auto op = std::make_unique<EraseOp>(*this, call.id);
  EraseOp& started = *op;
  if (!start(call, std::move(op))) return;
  std::vector<LocatedKey> keys;
  for (const wire::KeyRecord& record : records) {
    keys.push_back(locate(*ns, record, node_.store.shards()));
    node_.pins.unpin(node_.store, keys.back().key);
  }
  started.start(keys);
}

void Session::remove_prefix(const Call& call) {
  wire::RemovePrefixRequest body;
  if (!parse(call, body)) return;
  const NamespaceRef ns = open_or_refuse(call, body.ns());
  if (!ns) return;
  if (ns->spec.fingerprint.flat) {
    return refuse(call,
                  absl::FailedPreconditionError("prefix: names of a flat namespace have none"));
  }
  std::vector<BlockHash> prefix;
  if (!wire::parse(call.array, prefix) || prefix.empty() ||
      prefix.size() > limits::kMatchUnitsMax) {
    return refuse(call, absl::InvalidArgumentError(fmt::format(
                            "prefix: an array of {} bytes; 1 to {} hashes of {} bytes",
                            call.array.size(), limits::kMatchUnitsMax, sizeof(BlockHash))));
  }
  if (absl::Status room = RemovalOp::take_place(*this); !room.ok()) return refuse(call, room);
  audit(call.type, fmt::format("ns={:016x} prefix={}:{}", ns->id.value(), prefix.size(),
                               hash_text(prefix.back())));
  auto op = std::make_unique<RemovalOp>(
      *this, RemovalOp::Options{.id = call.id, .type = call.type, .ns = ns->id},
      std::make_unique<PrefixSet>(ns, prefix));
  RemovalOp& started = *op;
  if (start(call, std::move(op))) started.start();
}

void Session::list(const Call& call) {
  wire::ListRequest body;
  if (!parse(call, body)) return;
  const NamespaceRef ns = open_or_refuse(call, body.ns());
  if (!ns) return;
  const std::uint64_t shard = body.cursor() >> 32;
  if (shard >= node_.store.shards()) {
    return refuse(
        call, absl::InvalidArgumentError(fmt::format("cursor: {:x} names shard {}, there are {}",
                                                     body.cursor(), shard, node_.store.shards())));
  }
  const std::uint32_t limit =
      body.limit() == 0 ? limits::kListPageMax : std::min(body.limit(), limits::kListPageMax);
  auto op = std::make_unique<ListOp>(*this, call.id, ns->id, limit);
  ListOp& started = *op;
  if (start(call, std::move(op))) started.start(body.cursor());
}

void Session::stats(const Call& call) {
  wire::StatsReply body;
  body.set_version(LARDER_VERSION);
  body.set_policy(node_.config().policy);
  body.set_node(node_.node_id);
  for (const auto& [name, value] : collect_stats(node_)) {
    wire::Stat* stat = body.add_stats();
    stat->set_name(name);
    stat->set_value(value);
  }
  add_tenants(body);
  reply(call.type, call.id, body);
}

/// An administrator sees all tenants, everybody else their own.
void Session::add_tenants(wire::StatsReply& body) const {
  if (!node_.has_tenants()) return;
  absl::flat_hash_map<std::string, TenantId> numbers;  // of those that have opened a namespace
  std::uint32_t number = 0;
  for (const std::string& name : node_.namespaces->tenants())
    numbers.emplace(name, TenantId(number++));
  for (const auto& [name, id] : numbers)
    (void)node_.tenant_uses.of(name);
  for (const TenantUse* use : node_.tenant_uses.all()) {
    if (!is_admin() && use != tenant_) continue;
    if (body.tenants_size() == static_cast<int>(kTenantRowsMax)) return;
    wire::TenantRow& row = *body.add_tenants();
    row.set_tenant(use->name);
    row.set_sessions(use->sessions.load());
    row.set_pinned_bytes(use->pinned.load());
    row.set_held_bytes(use->held.load());
    const auto found = numbers.find(use->name);
    if (found == numbers.end()) continue;
    row.set_used_bytes(node_.store.tenants.used(found->second).count);
    row.set_quota_bytes(node_.store.tenants.quota(found->second).value_or(Bytes{0}).count);
  }
}

void Session::cancel(const Call& call) {
  wire::CancelRequest body;
  if (!parse_body(call.body, body)) return;
  const auto found = ops_.find(body.id());
  if (found == ops_.end()) return;
  found->second->cancel();
}

}  // namespace larder
