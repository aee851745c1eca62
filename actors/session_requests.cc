#include "actors/session_requests.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "actors/session_limits.h"
#include "store/limits.h"

namespace larder {

namespace {

constexpr std::size_t kChainedAtOnce = 256;

}  // namespace

absl::Status RequestBook::begin(std::uint64_t number, const NamespaceRef& ns,
                                RequestContext context, Time deadline) {
  if (requests_.contains(number)) end(number, 0);
  if (requests_.size() >= limits::kSessionRequestsMax) {
    return absl::ResourceExhaustedError(fmt::format("request {}: {} requests open, the limit is {}",
                                                    number, requests_.size(),
                                                    limits::kSessionRequestsMax));
  }
  if (!node_.take(*tenant_, Common::kRequests, 1)) {
    return absl::ResourceExhaustedError(
        fmt::format("request {}: {}", number, node_.why_not(*tenant_, Common::kRequests)));
  }
  SessionRequest request;
  request.context = context;
  request.context.request = RequestId(node_.next_request.fetch_add(1, std::memory_order_relaxed));
  request.context.tenant = ns->tenant;
  request.ns = ns;
  request.deadline = deadline;
  requests_.emplace(number, std::move(request));
  count(node_.metrics.requests);
  return absl::OkStatus();
}

SessionRequest* RequestBook::find(std::uint64_t number) {
  const auto found = requests_.find(number);
  return found == requests_.end() ? nullptr : &found->second;
}

void RequestBook::announce(SessionRequest& request) {
  if (request.announced) return;
  request.announced = true;
  auto note = std::make_shared<RequestNote>();
  note->context = request.context;
  for (std::uint32_t shard = 0; shard < node_.store.shards(); ++shard) {
    node_.shards.send(ShardId(shard), std::shared_ptr<const RequestNote>(note));
  }
}

void RequestBook::pin(SessionRequest& request, const HeldBlock& held) {
  const std::uint64_t length = held.hold.length.count;
  if (node_.pins.pot().take(tenant_->pinned, length, node_.pin_bounds(*tenant_))) {
    request.pinned.push_back(held);
  } else {
    release(node_.store, held);
  }
}

void RequestBook::append(SessionRequest& request, const LocatedKey& at, std::uint32_t last_unit) {
  if (chained_ >= limits::kSessionChainMax) return;
  if (!take_chained()) return;
  chained_ += 1;
  request.chain.push_back(at);
  request.chain_units.push_back(last_unit);
}

void RequestBook::extend(SessionRequest& request, const LocatedKey& at, std::uint32_t last_unit) {
  // Flat keys have no position: the order of the calls is theirs, and one named twice keeps its
  // first place (a unit is touched once a request).
  if (request.ns->spec.fingerprint.flat) {
    return append(request, at, static_cast<std::uint32_t>(request.chain.size()));
  }
  // Puts come root-first behind what was matched, so a known block is near the end if anywhere.
  for (std::size_t i = request.chain.size(); i-- > 0 && request.chain_units[i] >= last_unit;) {
    if (request.chain[i].key == at.key) return;
  }
  append(request, at, last_unit);
}

bool RequestBook::end(std::uint64_t number, std::uint32_t output_tokens) {
  const auto found = requests_.find(number);
  if (found == requests_.end()) return false;
  finish(found->second, output_tokens);
  requests_.erase(found);
  return true;
}

void RequestBook::finish(SessionRequest& request, std::uint32_t output_tokens) {
  announce(request);
  node_.commons.give(*tenant_, Common::kRequests, 1);
  chained_ -= request.chain.size();
  give_chained(request.chain.size(), kChainedAtOnce);
  const std::uint64_t sequence = node_.store.sequence.fetch_add(1, std::memory_order_relaxed);
  std::vector<std::size_t> order(request.chain.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return request.chain_units[a] > request.chain_units[b];
  });
  std::vector<std::shared_ptr<RequestEndNote>> notes;
  for (std::uint32_t shard = 0; shard < node_.store.shards(); ++shard) {
    notes.push_back(std::make_shared<RequestEndNote>());
    notes.back()->request = request.context.request;
    notes.back()->output_tokens = output_tokens;
    notes.back()->holds =
        std::make_unique<NoteHolds>(node_.store, ShardId(shard), node_.pins.pot(), tenant_->pinned);
  }
  std::uint64_t from_suffix = 0;
  std::uint32_t last_unit = 0;
  for (const std::size_t i : order) {
    const ShardId shard = request.chain[i].shard;
    std::vector<TouchItem>& touches = notes[shard.value()]->touches;
    // A step of a shard is bounded; keys of one unit stay together, which is touched once.
    if (touches.size() >= kTouchStep && request.chain_units[i] != last_unit) {
      auto part = std::make_shared<TouchNote>();
      part->request = request.context.request;
      part->touches.swap(touches);
      node_.shards.send(shard, std::shared_ptr<const TouchNote>(std::move(part)));
    }
    last_unit = request.chain_units[i];
    touches.push_back({request.chain[i].key, Stamp(sequence << kStampPositionBits | from_suffix)});
    from_suffix += 1;
  }
  for (const HeldBlock& held : request.pinned)
    notes[held.at.shard.value()]->holds->add(held.hold);
  request.pinned.clear();
  for (std::uint32_t shard = 0; shard < node_.store.shards(); ++shard) {
    node_.shards.send(ShardId(shard),
                      std::shared_ptr<const RequestEndNote>(std::move(notes[shard])));
  }
}

void RequestBook::expire(Time now) {
  std::vector<std::uint64_t> late;
  for (const auto& [number, request] : requests_) {
    if (request.deadline <= now) late.push_back(number);
  }
  for (const std::uint64_t number : late) {
    count(node_.metrics.requests_expired);
    end(number, 0);
  }
}

void RequestBook::end_all() {
  for (auto& [number, request] : requests_)
    finish(request, 0);
  requests_.clear();
  give_chained(0, 0);
}

bool RequestBook::take_chained() {
  if (spare_ == 0) {
    if (!node_.take(*tenant_, Common::kChainBlocks, kChainedAtOnce)) return false;
    spare_ = kChainedAtOnce;
  }
  spare_ -= 1;
  return true;
}

/// All that is spare goes back, but for `kept`.
void RequestBook::give_chained(std::size_t blocks, std::size_t kept) {
  spare_ += blocks;
  if (spare_ <= kept) return;
  node_.commons.give(*tenant_, Common::kChainBlocks, spare_ - kept);
  spare_ = kept;
}

}  // namespace larder
