// Requests and lookups.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/clock.h"
#include "actors/session.h"
#include "actors/session_calls.h"
#include "actors/session_claim_op.h"
#include "actors/session_match.h"
#include "store/limits.h"

namespace larder {

namespace {

constexpr std::uint32_t kContinuingFanOut = 8;  // POLICIES.md: a session's own branch

Duration request_deadline(const Config& config, std::uint32_t deadline_ms) {
  const auto longest = std::chrono::milliseconds(config.request_deadline_ms);
  if (deadline_ms == 0) return longest;
  return std::min<Duration>(std::chrono::milliseconds(deadline_ms), longest);
}

void learn(const ChainLookup& found, RequestContext& context) {
  const auto blocks = static_cast<std::uint32_t>(found.groups.empty() ? 0 : found.groups[0].size());
  context.prompt_blocks = std::max(context.prompt_blocks, blocks);
  if (found.known_blocks < context.known_blocks) return;
  context.known_blocks = found.known_blocks;
  context.continuing = found.known_blocks > 0 && found.deepest_children < kContinuingFanOut;
  context.last_gap =
      context.continuing ? gap(use_tick(context.now), found.deepest_used) : Duration{0};
}

/// What is not served looks as if it were not there.
void hide(ChainLookup& found) {
  for (auto& group : found.groups)
    std::fill(group.begin(), group.end(), wire::MatchRecord{});
  found.usable_tokens = 0;
  found.pending_tokens = 0;
  found.known_blocks = 0;
}

void fill(const ChainLookup& found, const NamespaceInfo& ns, wire::ChainMatch* out) {
  out->set_usable_tokens(found.usable_tokens);
  out->set_usable_units(found.usable_tokens / ns.spec.unit_tokens);
  out->set_pending_tokens(found.pending_tokens);
  out->set_known_blocks(found.known_blocks);
  for (const auto& group : found.groups) {
    out->add_group_blocks(static_cast<std::uint32_t>(group.size()));
  }
}

}  // namespace

void Session::begin_request(const Call& call) {
  wire::BeginRequestRequest body;
  if (!parse(call, body)) return;
  const NamespaceRef ns = open_or_refuse(call, body.ns());
  if (!ns) return;
  if (body.now_ns() != 0 && !node_.config().allow_trace_time) {
    return refuse(call, absl::PermissionDeniedError("now_ns: needs allow_trace_time"));
  }
  RequestContext context;
  context.now = body.now_ns() != 0 ? Time(Duration(body.now_ns())) : now_;
  context.session = body.session_hint();
  context.hint_positions = body.hint_positions();
  context.has_hint = body.has_hint();
  context.priority = static_cast<std::uint8_t>(std::min(body.priority(), 2U));
  const Time deadline = now_ + request_deadline(node_.config(), body.deadline_ms());
  if (absl::Status begun = requests_.begin(body.request(), ns, context, deadline); !begun.ok()) {
    return refuse(call, begun);
  }
  reply(call.type, call.id, wire::SimpleReply());
}

void Session::end_request(const Call& call) {
  wire::EndRequestRequest body;
  if (!parse(call, body)) return;
  if (!requests_.end(body.request(), body.output_tokens())) {
    return refuse(call,
                  absl::NotFoundError(fmt::format("request: {} is not open", body.request())));
  }
  reply(call.type, call.id, wire::SimpleReply());
}

bool Session::check_match(const Call& call, const wire::MatchRequest& body) {
  std::uint64_t units = 0;
  for (const std::uint32_t chain : body.chain_units())
    units += chain;
  absl::Status status;
  if (call.array.size() != units * sizeof(BlockHash)) {
    status = absl::InvalidArgumentError(
        fmt::format("chain_units: sum {} of {} bytes, the array has {} bytes", units,
                    sizeof(BlockHash), call.array.size()));
  } else if (units > limits::kMatchUnitsMax) {
    status = absl::InvalidArgumentError(
        fmt::format("chain_units: sum {}, the limit is {}", units, limits::kMatchUnitsMax));
  } else if (body.chain_units_size() > static_cast<int>(limits::kMatchChainsMax)) {
    status = absl::InvalidArgumentError(fmt::format(
        "chains: {}, the limit is {}", body.chain_units_size(), limits::kMatchChainsMax));
  }
  if (status.ok()) return true;
  refuse(call, status);
  return false;
}

bool Session::request_or_refuse(const Call& call, std::uint64_t number, const NamespaceRef& ns,
                                SessionRequest** request) {
  *request = nullptr;
  if (number == 0) return true;
  if (requests_.find(number) == nullptr) {
    RequestContext context;
    context.now = now_;
    const Time deadline = now_ + request_deadline(node_.config(), 0);
    if (absl::Status begun = requests_.begin(number, ns, context, deadline); !begun.ok()) {
      refuse(call, begun);
      return false;
    }
  }
  *request = requests_.find(number);
  (*request)->matched = true;
  return true;
}

void Session::match(const Call& call) {
  wire::MatchRequest body;
  if (!parse(call, body)) return;
  const NamespaceRef ns = open_or_refuse(call, body.ns());
  if (!ns || !check_match(call, body)) return;
  if (body.claim() && !grant_.write) {
    return refuse(call, absl::PermissionDeniedError("right: write is needed to claim"));
  }
  count(node_.metrics.matches);
  note_priority(body.request());
  SessionRequest* request = nullptr;
  if (ns->spec.fingerprint.flat) {
    if (request_or_refuse(call, body.request(), ns, &request)) match_flat(call, *ns, request);
    return;
  }
  std::uint64_t blocks_per_unit = 0;
  for (const GroupSpec& group : ns->spec.groups) {
    blocks_per_unit +=
        std::uint64_t{ns->spec.ranks} * ns->spec.unit_tokens / group.block_tokens + 1;
  }
  const std::uint64_t units = call.array.size() / sizeof(BlockHash);
  if (units * blocks_per_unit > kMatchBlocksMax) {
    return refuse(
        call, absl::InvalidArgumentError(fmt::format(
                  "chain_units: {} units of {} groups and ranks; at most {} blocks a match", units,
                  blocks_per_unit, kMatchBlocksMax)));
  }
  if (!request_or_refuse(call, body.request(), ns, &request)) return;
  std::vector<BlockHash> hashes;
  wire::parse(call.array, hashes);
  MatchAnswer answer;
  std::vector<LocatedKey> absent;
  std::vector<std::uint32_t> absent_chains;
  std::span<const BlockHash> rest(hashes);
  const NamespaceMode mode = node_.mode_of(*ns);
  for (const std::uint32_t units_of_chain : body.chain_units()) {
    ChainLookup found =
        look_up_chain(node_.store, *ns, rest.first(units_of_chain),
                      {.hold = request != nullptr && serves(mode), .absent = body.claim()});
    rest = rest.subspan(units_of_chain);
    count(node_.metrics.match_units, units_of_chain);
    if (mode == NamespaceMode::kShadow) {
      count(node_.metrics.shadow_hit_tokens, found.usable_tokens);
    }
    if (request != nullptr) {
      learn(found, request->context);
      for (const HeldBlock& held : found.held)
        requests_.pin(*request, held);
      for (std::size_t i = 0; i < found.chain.size(); ++i)
        requests_.append(*request, found.chain[i], found.chain_units[i]);
    }
    if (!serves(mode)) hide(found);
    count(node_.metrics.match_hit_tokens, found.usable_tokens);
    fill(found, *ns, answer.body.add_chains());
    absent.insert(absent.end(), found.absent.begin(), found.absent.end());
    absent_chains.resize(absent.size(), static_cast<std::uint32_t>(answer.body.chains_size() - 1));
    if (!body.details()) continue;
    for (const auto& group : found.groups) {
      wire::append(answer.array, std::span<const wire::MatchRecord>(group));
    }
  }
  if (request != nullptr) requests_.announce(*request);
  const Duration took = larder::now() - ready_;
  answer.body.set_residence_ns(static_cast<std::uint64_t>(took.count()));
  add_time(Operation::kMatch, took);
  if (!body.claim() || absent.empty() || !serves(mode))
    return reply(call.type, call.id, answer.body, answer.array);
  claim(call, std::move(answer), absent, std::move(absent_chains), body.claim_ms());
}

void Session::match_flat(const Call& call, const NamespaceInfo& ns, SessionRequest* request) {
  std::vector<BlockHash> names;
  wire::parse(call.array, names);
  std::vector<LocatedKey> keys;
  for (const BlockHash& name : names) {
    keys.push_back({{ns.id, name, GroupId(0), Rank(0)}, shard_of_name(name)});
  }
  const std::vector<EntryId> found = find_all(node_.store, keys);
  wire::MatchReply body;
  std::string states(names.size(), '\0');
  const NamespaceMode mode = node_.mode_of(ns);
  for (std::size_t i = 0; i < names.size(); ++i) {
    wire::MatchState state = state_of(node_.store, keys[i], found[i]);
    if (!serves(mode)) {
      const bool hit = mode == NamespaceMode::kShadow && state == wire::MatchState::kPresent;
      if (hit) count(node_.metrics.shadow_get_hits);
      state = wire::MatchState::kAbsent;
    }
    if (request != nullptr) {
      requests_.extend(*request, keys[i], 0);
      if (state == wire::MatchState::kPresent) {
        // Present is what can be leased: it cannot be evicted between this answer and the get.
        const auto held = hold(node_.store, keys[i], found[i]);
        if (held) requests_.pin(*request, *held);
        if (!held) state = wire::MatchState::kAbsent;
      }
    }
    states[i] = static_cast<char>(state);
  }
  if (request != nullptr) requests_.announce(*request);
  body.set_flat(std::move(states));
  reply(call.type, call.id, body);
  add_time(Operation::kMatch, larder::now() - ready_);
}

void Session::claim(const Call& call, MatchAnswer answer, const std::vector<LocatedKey>& absent,
                    std::vector<std::uint32_t> chains, std::uint32_t claim_ms) {
  if (claims() + absent.size() > limits::kSessionClaimsMax) {
    return refuse(call, absl::ResourceExhaustedError(
                            fmt::format("claim: {} claims beside {} open, the limit is {}",
                                        absent.size(), claims(), limits::kSessionClaimsMax)));
  }
  if (!node_.take(*tenant_, Common::kClaims, absent.size())) {
    return refuse(
        call, absl::ResourceExhaustedError(fmt::format("claim: {} claims: {}", absent.size(),
                                                       node_.why_not(*tenant_, Common::kClaims))));
  }
  const Time deadline = now_ + request_deadline(node_.config(), claim_ms);
  claims_.emplace_back(deadline, absent.size());
  auto op = std::make_unique<ClaimOp>(*this, call.id, std::move(answer), std::move(chains));
  ClaimOp& started = *op;
  if (!start(call, std::move(op))) return;
  started.start(absent, deadline);
}

void Session::touch(const Call& call) {
  wire::TouchRequest body;
  if (!parse(call, body)) return;
  const NamespaceRef ns = open_or_refuse(call, body.ns());
  if (!ns) return;
  std::vector<wire::KeyRecord> records;
  if (!records_or_refuse(call, call.array, records)) return;
  // The order of the call is the order of the touches: the first key is the most lasting.
  std::vector<LocatedKey> keys;
  for (const wire::KeyRecord& record : records)
    keys.push_back(locate(*ns, record, node_.store.shards()));
  const SessionRequest* request = requests_.find(body.request());
  touches_.add(keys, request == nullptr ? std::nullopt : std::optional(request->context.request));
  touches_.flush();
  const std::vector<wire::PutResult> results(records.size());
  reply(call.type, call.id, wire::PutReply(), std::as_bytes(std::span(results)));
}

}  // namespace larder
