// The client's calls that move no blocks: namespaces, regions, requests, lookups, upkeep.

#include <algorithm>

#include <fmt/format.h>

#include "client/client_impl.h"
#include "client/milliseconds.h"
#include "store/huge_pages.h"
#include "store/limits.h"
#include "store/status_macros.h"
#include "transport/guarded_copy.h"
#include "transport/namespace_wire.h"
#include "transport/wire.pb.h"

namespace larder {
namespace {

/// A region is registered again when the connection changed meanwhile; so often at most.
constexpr int kTriesMax = 8;

/// A call's share of its keys' records in an array.
std::span<const std::byte> bytes_of(std::span<const Key> keys) {
  return std::as_bytes(keys);
}

absl::Status changed_too_often() {
  return absl::UnavailableError("the connection to larderd was lost again and again");
}

}  // namespace

absl::StatusOr<std::shared_ptr<Call>> Client::Impl::exchange(
    FrameType type, const google::protobuf::MessageLite& body,
    std::span<const std::byte> array) const {
  LARDER_RETURN_IF_ERROR(usable());
  auto call = std::make_shared<Call>(make_head({.type = type, .body = &body, .array = array}), 0,
                                     engine->options().deadline);
  engine->run(call);
  const Completion& done = call->completion();
  if (done.code != absl::StatusCode::kOk) return absl::Status(done.code, done.message);
  return call;
}

Completion Client::Impl::exchange_keys(FrameType type, const google::protobuf::MessageLite& body,
                                       std::span<const Key> keys, Duration deadline) const {
  absl::Status status = usable();
  if (status.ok()) status = check_batch(keys.size(), keys.size(), engine->terms().batch_keys);
  if (!status.ok()) return failed_completion(status, keys.size());
  if (keys.empty()) return {};
  return run(std::make_shared<Call>(
      make_head({.type = type, .body = &body, .array = bytes_of(keys)}), keys.size(), deadline));
}

absl::StatusOr<NamespaceId> Client::open_namespace(const NamespaceSpec& spec) {
  LARDER_RETURN_IF_ERROR(spec.validate());
  for (int tries = 0; tries < kTriesMax; ++tries) {
    LARDER_ASSIGN_OR_RETURN(const std::shared_ptr<Call> call,
                            impl_->exchange(FrameType::kOpenNamespace, to_wire(spec)));
    wire::OpenNamespaceReply reply;
    if (!parse_body(call->body(), reply)) return absl::InternalError("malformed reply");
    if (impl_->engine->remember_namespace(spec, call->link_serial)) return NamespaceId(reply.id());
  }
  return changed_too_often();
}

// -- regions
// ----------------------------------------------------------------------------------------

namespace {

/// Tells the daemon of the region, and then the table; over tcp the table alone.
absl::Status announce(Client::Impl& client, Region region) {
  Engine& engine = *client.engine;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    std::uint64_t serial = 0;
    if (engine.terms().shm) {
      wire::RegisterRegionRequest body;
      body.set_region(region.number);
      body.set_bytes(region.size);
      const auto call = std::make_shared<Call>(
          make_head({.type = FrameType::kRegisterRegion, .fds = 1, .body = &body}), 0,
          engine.options().deadline);
      call->attach_fd(region.memfd.get());
      engine.run(call);
      const Completion& done = call->completion();
      if (done.code != absl::StatusCode::kOk) return absl::Status(done.code, done.message);
      serial = call->link_serial;
    }
    LARDER_ASSIGN_OR_RETURN(const bool added, engine.add_region(region, serial));
    if (added) return absl::OkStatus();
  }
  return changed_too_often();
}

}  // namespace

absl::StatusOr<std::span<std::byte>> Client::allocate_region(std::size_t bytes) {
  LARDER_RETURN_IF_ERROR(impl_->usable());
  LARDER_ASSIGN_OR_RETURN(Region region, impl_->engine->with_regions([bytes](RegionTable& table) {
    return table.make({bytes});
  }));
  fill_with_huge_pages(region.memfd.get(), region.base, {region.size});
  const std::span<std::byte> memory(region.base, region.size);
  LARDER_RETURN_IF_ERROR(announce(*impl_, std::move(region)));
  return memory;
}

absl::Status Client::register_region(int memfd, std::span<std::byte> memory) {
  LARDER_RETURN_IF_ERROR(impl_->usable());
  LARDER_ASSIGN_OR_RETURN(Region region, impl_->engine->with_regions([&](RegionTable& table) {
    return table.adopt(memfd, memory.data(), memory.size());
  }));
  return announce(*impl_, std::move(region));
}

absl::Status Client::unregister_region(std::span<std::byte> memory) {
  LARDER_RETURN_IF_ERROR(impl_->usable());
  const std::optional<Region> region = impl_->engine->take_region(memory.data());
  if (!region) return absl::NotFoundError("no region is registered at this address");
  if (!impl_->engine->terms().shm) return absl::OkStatus();
  wire::UnregisterRegionRequest body;
  body.set_region(region->number);
  const absl::Status status = impl_->exchange(FrameType::kUnregisterRegion, body).status();
  // Without its session the daemon has no region either.
  return absl::IsUnavailable(status) ? absl::OkStatus() : status;
}

// -- requests
// ---------------------------------------------------------------------------------------

std::uint64_t Client::begin_request(NamespaceId ns, const RequestOptions& options) {
  const std::uint64_t request = ++impl_->last_request;
  if (!impl_->usable().ok()) return request;
  wire::BeginRequestRequest body;
  body.set_ns(ns.value());
  body.set_request(request);
  body.set_session_hint(options.session);
  body.set_hint_positions(options.hint_positions);
  body.set_has_hint(options.has_hint);
  body.set_priority(options.priority);
  body.set_deadline_ms(options.deadline_ms);
  body.set_now_ns(options.now_ns);
  impl_->engine->tell(FrameType::kBeginRequest, body);
  return request;
}

absl::Status Client::end_request(std::uint64_t request, std::uint32_t output_tokens) {
  wire::EndRequestRequest body;
  body.set_request(request);
  body.set_output_tokens(output_tokens);
  return impl_->exchange(FrameType::kEndRequest, body).status();
}

// -- lookups
// ----------------------------------------------------------------------------------------

namespace {

absl::Status check_match(std::size_t chains, std::size_t units, std::uint32_t told) {
  if (chains > limits::kMatchChainsMax) {
    return absl::InvalidArgumentError(
        fmt::format("chains: {} given, the limit is {}", chains, limits::kMatchChainsMax));
  }
  const std::uint32_t most =
      told == 0 ? limits::kMatchUnitsMax : std::min(told, limits::kMatchUnitsMax);
  if (units > most) {
    return absl::InvalidArgumentError(
        fmt::format("chains: {} units in all, the limit (match_units) is {}", units, most));
  }
  return absl::OkStatus();
}

wire::MatchRequest match_body(NamespaceId ns, const MatchOptions& options) {
  wire::MatchRequest body;
  body.set_ns(ns.value());
  body.set_request(options.request);
  body.set_claim(options.claim);
  body.set_claim_ms(options.claim_ms);
  body.set_details(options.details);
  return body;
}

/// Moves `blocks` records from the front of `array` into a group; false when there are fewer.
bool take_group(std::span<const std::byte>& array, std::uint32_t blocks,
                std::vector<wire::MatchRecord>& out) {
  const std::size_t bytes = std::size_t{blocks} * sizeof(wire::MatchRecord);
  if (bytes > array.size()) return false;
  if (!wire::parse(array.first(bytes), out)) return false;
  array = array.subspan(bytes);
  return true;
}

}  // namespace

absl::StatusOr<std::vector<ChainMatch>> Client::match(
    NamespaceId ns, std::span<const std::span<const BlockHash>> chains,
    const MatchOptions& options) {
  std::size_t units = 0;
  for (const auto& chain : chains)
    units += chain.size();
  LARDER_RETURN_IF_ERROR(check_match(chains.size(), units, impl_->engine->terms().match_units));
  wire::MatchRequest body = match_body(ns, options);
  std::vector<std::byte> array;
  array.reserve(units * sizeof(BlockHash));
  for (const auto& chain : chains) {
    body.add_chain_units(static_cast<std::uint32_t>(chain.size()));
    wire::append(array, chain);
  }
  LARDER_ASSIGN_OR_RETURN(const std::shared_ptr<Call> call,
                          impl_->exchange(FrameType::kMatch, body, array));
  wire::MatchReply reply;
  if (!parse_body(call->body(), reply) ||
      static_cast<std::size_t>(reply.chains_size()) != chains.size()) {
    return absl::InternalError("the reply has another number of chains than the match");
  }
  std::vector<ChainMatch> out;
  std::span<const std::byte> records = call->array();
  for (const wire::ChainMatch& chain : reply.chains()) {
    ChainMatch& to = out.emplace_back();
    to.usable_tokens = chain.usable_tokens();
    to.usable_units = chain.usable_units();
    to.pending_tokens = chain.pending_tokens();
    to.known_blocks = chain.known_blocks();
    to.claimed = chain.claimed();
    to.residence_ns = reply.residence_ns();
    for (const std::uint32_t blocks : chain.group_blocks()) {
      if (!options.details) break;
      if (!take_group(records, blocks, to.groups.emplace_back())) {
        return absl::InternalError("the reply has fewer match records than it says");
      }
    }
  }
  return out;
}

absl::StatusOr<std::vector<MatchState>> Client::match_flat(NamespaceId ns,
                                                           std::span<const BlockHash> names,
                                                           const MatchOptions& options) {
  LARDER_RETURN_IF_ERROR(check_match(1, names.size(), impl_->engine->terms().match_units));
  wire::MatchRequest body = match_body(ns, options);
  body.add_chain_units(static_cast<std::uint32_t>(names.size()));
  LARDER_ASSIGN_OR_RETURN(const std::shared_ptr<Call> call,
                          impl_->exchange(FrameType::kMatch, body, std::as_bytes(names)));
  wire::MatchReply reply;
  if (!parse_body(call->body(), reply) || reply.flat().size() != names.size()) {
    return absl::InternalError("the reply has another number of states than the match has names");
  }
  std::vector<MatchState> out;
  for (const char state : reply.flat())
    out.push_back(static_cast<MatchState>(state));
  return out;
}

Completion Client::wait(NamespaceId ns, std::span<const Key> keys, Duration deadline) {
  wire::WaitRequest body;
  body.set_ns(ns.value());
  body.set_deadline_ms(to_ms(deadline));
  // The daemon answers at the deadline; the client's own is for a daemon that does not.
  Completion done = impl_->exchange_keys(
      FrameType::kWait, body, keys,
      std::clamp(deadline, Duration(0), kLongest) + impl_->engine->options().deadline);
  const auto pending = [](KeyStatus key) { return key == KeyStatus::kPending; };
  if (done.code == absl::StatusCode::kOk &&
      std::any_of(done.keys.begin(), done.keys.end(), pending)) {
    done.code = absl::StatusCode::kDeadlineExceeded;
    done.message = fmt::format("keys are still pending after {} ms", to_ms(deadline));
  }
  return done;
}

// -- upkeep
// -----------------------------------------------------------------------------------------

namespace {

/// Unlike a deadline, a pin must not end before or after what was asked.
absl::Status check_ttl(Duration ttl) {
  if (ttl >= Duration(0) && ttl <= kLongest) return absl::OkStatus();
  using Ms = std::chrono::milliseconds;
  const auto given = ttl > kLongest ? std::chrono::ceil<Ms>(ttl) : std::chrono::floor<Ms>(ttl);
  return absl::InvalidArgumentError(fmt::format(
      "ttl: {} ms given, the limits are 0 (for ever) and {} ms", given.count(), to_ms(kLongest)));
}

}  // namespace

Completion Client::touch(NamespaceId ns, std::span<const Key> keys, std::uint64_t request) {
  wire::TouchRequest body;
  body.set_ns(ns.value());
  body.set_request(request);
  return impl_->exchange_keys(FrameType::kTouch, body, keys, impl_->engine->options().deadline);
}

Completion Client::pin(NamespaceId ns, std::span<const Key> keys, Duration ttl) {
  const absl::Status status = check_ttl(ttl);
  if (!status.ok()) return failed_completion(status, keys.size());
  wire::PinRequest body;
  body.set_ns(ns.value());
  if (ttl > Duration(0)) body.set_ttl_ms(to_ms(ttl));
  return impl_->exchange_keys(FrameType::kPin, body, keys, impl_->engine->options().deadline);
}

Completion Client::unpin(NamespaceId ns, std::span<const Key> keys) {
  wire::PinRequest body;
  body.set_ns(ns.value());
  return impl_->exchange_keys(FrameType::kUnpin, body, keys, impl_->engine->options().deadline);
}

Completion Client::remove(NamespaceId ns, std::span<const Key> keys) {
  wire::RemoveRequest body;
  body.set_ns(ns.value());
  return impl_->exchange_keys(FrameType::kRemove, body, keys, impl_->engine->options().deadline);
}

absl::StatusOr<std::uint64_t> Client::remove_prefix(NamespaceId ns,
                                                    std::span<const BlockHash> prefix) {
  LARDER_RETURN_IF_ERROR(check_match(1, prefix.size(), impl_->engine->terms().match_units));
  wire::RemovePrefixRequest body;
  body.set_ns(ns.value());
  LARDER_ASSIGN_OR_RETURN(const std::shared_ptr<Call> call,
                          impl_->exchange(FrameType::kRemovePrefix, body, std::as_bytes(prefix)));
  wire::SimpleReply reply;
  if (!parse_body(call->body(), reply)) return absl::InternalError("malformed reply");
  return reply.count();
}

absl::StatusOr<Client::ListPage> Client::list(NamespaceId ns, std::uint64_t cursor,
                                              std::uint32_t limit) {
  wire::ListRequest body;
  body.set_ns(ns.value());
  body.set_cursor(cursor);
  body.set_limit(limit);
  LARDER_ASSIGN_OR_RETURN(const std::shared_ptr<Call> call,
                          impl_->exchange(FrameType::kList, body));
  wire::ListReply reply;
  ListPage page;
  if (!parse_body(call->body(), reply) || !wire::parse(call->array(), page.blocks)) {
    return absl::InternalError("malformed reply");
  }
  page.writers.assign(reply.writers().begin(), reply.writers().end());
  page.writers.resize(page.blocks.size());  // daemons that tell none
  page.cursor = reply.cursor();
  page.end = reply.end();
  return page;
}

absl::StatusOr<Client::ServerStats> Client::server_stats() {
  LARDER_ASSIGN_OR_RETURN(const std::shared_ptr<Call> call,
                          impl_->exchange(FrameType::kStats, wire::StatsRequest()));
  wire::StatsReply reply;
  if (!parse_body(call->body(), reply)) return absl::InternalError("malformed reply");
  ServerStats out;
  for (const wire::Stat& stat : reply.stats())
    out.values.emplace_back(stat.name(), stat.value());
  for (const wire::TenantRow& row : reply.tenants()) {
    out.tenants.push_back({.tenant = row.tenant(),
                           .used_bytes = row.used_bytes(),
                           .quota_bytes = row.quota_bytes(),
                           .sessions = row.sessions(),
                           .pinned_bytes = row.pinned_bytes(),
                           .held_bytes = row.held_bytes()});
  }
  out.version = reply.version();
  out.policy = reply.policy();
  out.node = reply.node();
  return out;
}

Client::Stats Client::stats() const {
  Stats out;
  if (!impl_->usable().ok()) return out;
  const LinkTerms terms = impl_->engine->terms();
  const Counters counters = impl_->engine->counters();
  out.transport = terms.shm ? "shm" : "tcp";
  if (!terms.shm) {
    out.put_path = "stream";
    out.put_path_reason = "connected without shared memory";
  } else if (terms.attach && impl_->engine->options().allow_attach) {
    out.put_path = "attach";
  } else {
    out.put_path = "staged";
    out.put_path_reason = terms.attach ? "the client's allow_attach is off" : terms.attach_reason;
  }
  out.reconnects = counters.reconnects;
  out.gets = counters.gets;
  out.puts = counters.puts;
  out.hits = counters.hits;
  out.misses = counters.misses;
  out.bytes_in = counters.bytes_in;
  out.bytes_out = counters.bytes_out;
  out.stale_generations = counters.stale_generations;
  out.checksum_errors = counters.checksum_errors;
  out.sigbus_faults = sigbus_faults();
  return out;
}

}  // namespace larder
