#include "actors/session_requests.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/session_limits.h"
#include "store/limits.h"

namespace larder {

namespace {

constexpr std::size_t kChainedAtOnce = 256;
constexpr std::size_t kLookBack = 1'024;

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
    request.blocks().pinned.push_back(held);
  } else {
    release(node_.store, held);
  }
}

void RequestBook::append(SessionRequest& request, const LocatedKey& at, std::uint32_t last_unit) {
  if (chained_ >= limits::kSessionChainMax) return;
  if (!take_chained()) return;
  chained_ += 1;
  request.blocks().chain.push_back({at, last_unit});
}

void RequestBook::extend(SessionRequest& request, const LocatedKey& at, std::uint32_t last_unit) {
  std::deque<RequestBlocks::Link>& chain = request.blocks().chain;
  // Flat keys have no position: the order of the calls is theirs, and one named twice keeps its
  // first place (a unit is touched once a request).
  if (request.ns->spec.fingerprint.flat) {
    return append(request, at, static_cast<std::uint32_t>(chain.size()));
  }
  // Puts come root-first behind what was matched, so a known block is near the end if anywhere. One
  // that is further away is there twice, which costs a touch.
  const std::size_t stop = chain.size() - std::min(chain.size(), kLookBack);
  for (std::size_t i = chain.size(); i-- > stop && chain[i].last_unit >= last_unit;) {
    if (chain[i].at.key == at.key) return;
  }
  append(request, at, last_unit);
}

bool RequestBook::end(std::uint64_t number, std::uint32_t output_tokens) {
  const auto found = requests_.find(number);
  if (found == requests_.end()) return false;
  begin_end(std::move(found->second), output_tokens);
  requests_.erase(found);
  work();
  return true;
}

void RequestBook::begin_end(SessionRequest request, std::uint32_t output_tokens) {
  announce(request);
  ending_.emplace_back(node_, *tenant_, std::move(request), output_tokens);
}

void RequestBook::work(std::size_t blocks) {
  while (!ending_.empty() && ending_.front().step(blocks)) {
    node_.commons.give(*tenant_, Common::kRequests, 1);
    chained_ -= ending_.front().blocks();
    give_chained(ending_.front().blocks(), kChainedAtOnce);
    ending_.pop_front();
    if (blocks == 0) return;
  }
}

void RequestBook::expire(Time now) {
  std::vector<std::uint64_t> late;
  for (const auto& [number, request] : requests_) {
    if (request.deadline <= now) late.push_back(number);
  }
  for (const std::uint64_t number : late) {
    count(node_.metrics.requests_expired);
    begin_end(std::move(requests_.at(number)), 0);
    requests_.erase(number);
  }
  work();
}

void RequestBook::end_all() {
  for (auto& [number, request] : requests_)
    begin_end(std::move(request), 0);
  requests_.clear();
  while (ending())
    work();
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
