// Requests and lookups.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/clock.h"
#include "actors/session.h"
#include "actors/session_calls.h"
#include "actors/session_claim_op.h"
#include "actors/session_match_call.h"
#include "store/limits.h"

namespace larder {

namespace {

Duration request_deadline(const Config& config, std::uint32_t deadline_ms) {
  const auto longest = std::chrono::milliseconds(config.request_deadline_ms);
  if (deadline_ms == 0) return longest;
  return std::min<Duration>(std::chrono::milliseconds(deadline_ms), longest);
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
  if (body.request() == 0) {
    return refuse(call, absl::InvalidArgumentError("request: 0 means none; at least 1 is needed"));
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

bool Session::request_or_refuse(const Call& call, std::uint64_t number, const NamespaceRef& ns) {
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
  requests_.find(number)->matched = true;
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
  const std::size_t units = call.array.size() / sizeof(BlockHash);
  if (ns->spec.fingerprint.flat) {
    constexpr Bytes kPerName{sizeof(BlockHash) + 2};
    return run_in_steps(call, units, kPerName * units, [&]() -> std::unique_ptr<CallInSteps> {
      if (!request_or_refuse(call, body.request(), ns)) return nullptr;
      return std::make_unique<FlatMatchCall>(*this, call.id, ns, body.request(), call.array);
    });
  }
  std::uint64_t blocks = 0;
  if (!check_blocks(call, *ns, &blocks)) return;
  const bool begins = requests_.find(body.request()) == nullptr;
  const Bytes memory = MatchCall::memory(units, blocks, body);
  run_in_steps(call, blocks, memory, [&]() -> std::unique_ptr<CallInSteps> {
    if (!request_or_refuse(call, body.request(), ns)) return nullptr;
    return std::make_unique<MatchCall>(*this, call.id, ns, std::move(body), call.array, begins);
  });
}

bool Session::check_blocks(const Call& call, const NamespaceInfo& ns, std::uint64_t* blocks) {
  std::uint64_t blocks_per_unit = 0;
  for (const GroupSpec& group : ns.spec.groups) {
    blocks_per_unit += std::uint64_t{ns.spec.ranks} * ns.spec.unit_tokens / group.block_tokens + 1;
  }
  const std::uint64_t units = call.array.size() / sizeof(BlockHash);
  *blocks = units * blocks_per_unit;
  if (*blocks <= kMatchBlocksMax) return true;
  refuse(call, absl::InvalidArgumentError(fmt::format(
                   "chain_units: {} units of {} groups and ranks; at most {} blocks a match", units,
                   blocks_per_unit, kMatchBlocksMax)));
  return false;
}

bool Session::claim(std::uint64_t id, MatchAnswer answer, std::deque<LocatedKey> absent,
                    std::vector<std::uint32_t> chains, const wire::MatchRequest& asked) {
  const Call call{.id = id, .type = FrameType::kMatch, .body = {}, .array = {}};
  if (claims() + absent.size() > limits::kSessionClaimsMax) {
    refuse(call, absl::ResourceExhaustedError(
                     fmt::format("claim: {} claims beside {} open, the limit is {}", absent.size(),
                                 claims(), limits::kSessionClaimsMax)));
    return false;
  }
  if (!node_.take(*tenant_, Common::kClaims, absent.size())) {
    refuse(call,
           absl::ResourceExhaustedError(fmt::format("claim: {} claims: {}", absent.size(),
                                                    node_.why_not(*tenant_, Common::kClaims))));
    return false;
  }
  const Time deadline = now_ + request_deadline(node_.config(), asked.claim_ms());
  claims_.emplace_back(deadline, absent.size());
  auto op = std::make_unique<ClaimOp>(*this, id, std::move(answer), std::move(absent),
                                      std::move(chains), deadline);
  ClaimOp& started = *op;
  if (!start(call, std::move(op), asked.request())) return false;
  started.ask();
  return true;
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
