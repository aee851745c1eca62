#include "actors/session_match_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "actors/clock.h"
#include "actors/session_limits.h"
#include "store/chain.h"
#include "store/limits.h"

namespace larder {

namespace {

constexpr std::uint32_t kContinuingFanOut = 8;  // a branch with more is shared by sessions

void learn(const ChainFound& found, RequestContext& context) {
  const auto blocks = static_cast<std::uint32_t>(found.groups.empty() ? 0 : found.groups[0].size());
  context.prompt_blocks = std::max(context.prompt_blocks, blocks);
  if (found.known_blocks < context.known_blocks) return;
  context.known_blocks = found.known_blocks;
  context.continuing = found.known_blocks > 0 && found.deepest_children < kContinuingFanOut;
  context.last_gap =
      context.continuing ? gap(use_tick(context.now), found.deepest_used) : Duration{0};
}

}  // namespace

bool HashLoader::step() {
  const std::size_t count = std::min(rest_.size() / sizeof(BlockHash), kLoadStep);
  if (count == 0) return true;
  const std::size_t before = hashes_.size();
  hashes_.resize(before + count);
  std::memcpy(hashes_.data() + before, rest_.data(), count * sizeof(BlockHash));
  rest_ = rest_.subspan(count * sizeof(BlockHash));
  return rest_.empty();
}

Bytes MatchCall::memory(std::uint64_t units, std::uint64_t blocks,
                        const wire::MatchRequest& asked) {
  constexpr std::uint64_t kPerState = 2 * sizeof(wire::MatchRecord) + 2;  // the answer's, too
  constexpr std::uint64_t kPerClaim = sizeof(LocatedKey) + sizeof(std::uint32_t);
  const std::uint64_t claims =
      asked.claim() ? std::min<std::uint64_t>(blocks, limits::kSessionClaimsMax) : 0;
  return {units * sizeof(BlockHash) + blocks * kPerState + claims * kPerClaim};
}

bool MatchCall::step() {
  if (!loader_.step()) return false;
  std::size_t keys = kMatchStep;
  while (!all_chains() && keys > 0)
    look_up(keys);
  if (!all_chains()) return false;
  answer();
  return true;
}

/// Goes on with the chain, or with the next one.
void MatchCall::look_up(std::size_t& keys) {
  if (!lookup_) {
    const std::uint32_t units = body_.chain_units(answer_.body.chains_size());
    lookup_.emplace(session_.node().store, *ns_, loader_.hashes().subspan(unit_, units));
    unit_ += units;
    count(session_.node().metrics.match_units, units);
  }
  RequestBook& requests = session_.requests();
  SessionRequest* request = requests.find(body_.request());
  const ChainLookup::Part part =
      lookup_->step(keys, {.hold = request != nullptr && served_, .absent = body_.claim()});
  for (const HeldBlock& held : part.held)
    requests.pin(*request, held);
  for (std::size_t i = 0; request != nullptr && i < part.chain.size(); ++i)
    requests.append(*request, part.chain[i], part.chain_units[i]);
  note_absent(part.absent);
  if (lookup_->done()) finish_chain();
}

/// For claims: one more than there may be is enough to refuse them all.
void MatchCall::note_absent(const std::vector<LocatedKey>& absent) {
  const std::size_t room = limits::kSessionClaimsMax + 1 - absent_.size();
  absent_.insert(absent_.end(), absent.begin(),
                 absent.begin() + static_cast<std::ptrdiff_t>(std::min(room, absent.size())));
  absent_chains_.resize(absent_.size(), static_cast<std::uint32_t>(answer_.body.chains_size()));
}

void MatchCall::finish_chain() {
  ChainFound& found = lookup_->found();
  NodeMetrics& metrics = session_.node().metrics;
  const NamespaceMode mode = session_.node().mode_of(*ns_);
  if (SessionRequest* request = session_.requests().find(body_.request())) {
    learn(found, request->context);
  }
  wire::ChainMatch& out = *answer_.body.add_chains();
  const std::uint32_t usable = usable_tokens(ns_->spec, found.present);
  if (mode == NamespaceMode::kShadow) count(metrics.shadow_hit_tokens, usable);
  const bool is_served = served();
  if (is_served) {
    count(metrics.match_hit_tokens, usable);
    out.set_usable_tokens(usable);
    out.set_usable_units(usable / ns_->spec.unit_tokens);
    out.set_pending_tokens(usable_tokens(ns_->spec, found.coming));
    out.set_known_blocks(found.known_blocks);
  }
  for (auto& group : found.groups) {
    // What is not served looks as if it were not there.
    if (!is_served) std::fill(group.begin(), group.end(), wire::MatchRecord{});
    out.add_group_blocks(static_cast<std::uint32_t>(group.size()));
    if (body_.details()) wire::append(answer_.array, std::span<const wire::MatchRecord>(group));
  }
  lookup_.reset();
}

void MatchCall::answer() {
  if (SessionRequest* request = session_.requests().find(body_.request())) {
    session_.requests().announce(*request);
  }
  const Duration took = larder::now() - ready_;
  answer_.body.set_residence_ns(static_cast<std::uint64_t>(took.count()));
  session_.add_time(Operation::kMatch, took);
  const bool claims = body_.claim() && served();
  if (!claims || absent_.empty())
    return session_.reply(FrameType::kMatch, id_, answer_.body, answer_.array);
  if (session_.claim(id_, std::move(answer_), std::move(absent_), std::move(absent_chains_), body_))
    return;
  if (begins_) session_.requests().end(body_.request(), 0);
}

bool FlatMatchCall::step() {
  if (states_.empty() && !loader_.step()) return false;
  NodeContext& node = session_.node();
  SessionRequest* request = session_.requests().find(request_);
  const auto names = loader_.hashes().subspan(states_.size());
  std::vector<LocatedKey> keys;
  for (const BlockHash& name : names.first(std::min(names.size(), kMatchStep)))
    keys.push_back({{ns_->id, name, GroupId(0), Rank(0)}, shard_of(name, node.store.shards())});
  const std::vector<EntryId> found = find_all(node.store, keys);
  for (std::size_t i = 0; i < keys.size(); ++i)
    states_.push_back(static_cast<char>(look_at(keys[i], found[i], request)));
  if (states_.size() < loader_.hashes().size()) return false;
  if (request != nullptr) session_.requests().announce(*request);
  if (!served()) states_.assign(states_.size(), static_cast<char>(wire::MatchState::kAbsent));
  wire::MatchReply body;
  body.set_flat(std::move(states_));
  session_.reply(FrameType::kMatch, id_, body);
  session_.add_time(Operation::kMatch, larder::now() - ready_);
  return true;
}

wire::MatchState FlatMatchCall::look_at(const LocatedKey& at, EntryId entry,
                                        SessionRequest* request) {
  NodeContext& node = session_.node();
  const NamespaceMode mode = node.mode_of(*ns_);
  wire::MatchState state = state_of(node.store, at, entry);
  if (!serves(mode)) {
    const bool hit = mode == NamespaceMode::kShadow && state == wire::MatchState::kPresent;
    if (hit) count(node.metrics.shadow_get_hits);
    state = wire::MatchState::kAbsent;
  }
  if (request == nullptr) return state;
  session_.requests().extend(*request, at, 0);
  if (state != wire::MatchState::kPresent) return state;
  // Present is what can be leased: it cannot be evicted between this answer and the get.
  const auto held = hold(node.store, at, entry);
  if (!held) return wire::MatchState::kAbsent;
  session_.requests().pin(*request, *held);
  return state;
}

}  // namespace larder
