#include "actors/shard_desk.h"

#include <algorithm>
#include <map>
#include <utility>

namespace larder {

ShardDesk::ShardDesk(std::unique_ptr<Shard> shard, Hooks hooks)
    : shard_(std::move(shard)), hooks_(std::move(hooks)) {}

ShardDesk::~ShardDesk() {
  for (auto& call : parked_)
    call->answer();
}

void ShardDesk::reserve(std::shared_ptr<ReserveCall> call, Time now) {
  if (attempt(*call, now)) {
    call->answer();
    return;
  }
  parked_.push_back(std::move(call));
}

bool ShardDesk::attempt(ReserveCall& call, Time now) {
  if (call.is_given_up()) return true;
  shard_->reserve(call.items, call.request, now);
  std::map<PoolName, std::uint32_t> short_of;
  for (const ReserveItem& item : call.items) {
    if (item.outcome == ReserveOutcome::kNoSlot) short_of[{item.tenant, item.slot_bytes}] += 1;
  }
  evict_over(now);
  for (const auto& [pool, count] : short_of) {
    if (asked_.insert(pool).second) hooks_.need_slots(pool, count);
  }
  return short_of.empty();
}

void ShardDesk::refilled(const PoolName& pool, bool success, Time now) {
  asked_.erase(pool);
  std::vector<std::shared_ptr<ReserveCall>> waiting;
  waiting.swap(parked_);
  for (auto& call : waiting) {
    const bool waits_for_it =
        std::any_of(call->items.begin(), call->items.end(), [&](const ReserveItem& item) {
          return item.outcome == ReserveOutcome::kNoSlot && item.tenant == pool.tenant &&
                 item.slot_bytes == pool.slot_bytes;
        });
    if (!waits_for_it) {
      parked_.push_back(std::move(call));
    } else if (success) {
      reserve(std::move(call), now);
    } else if (++call->refusals >= kRefusalsMax) {
      call->answer();
    } else {
      parked_.push_back(std::move(call));
      refused_ = true;  // the tick asks again
    }
  }
}

void ShardDesk::retry_refused(Time now) {
  if (!std::exchange(refused_, false)) return;
  std::vector<std::shared_ptr<ReserveCall>> waiting;
  waiting.swap(parked_);
  for (auto& call : waiting) {
    if (call->refusals == 0) {
      parked_.push_back(std::move(call));
    } else {
      reserve(std::move(call), now);
    }
  }
}

bool ShardDesk::tick(Time now, std::int64_t wall_ns) {
  shard_->tick(now, wall_ns);
  evict_over(now);
  std::erase_if(parked_, [now](const auto& call) {
    if (call->deadline > now && !call->is_given_up()) return false;
    call->answer();
    return true;
  });
  retry_refused(now);
  const Shard::Counters before = std::exchange(seen_, shard_->counters());
  return seen_ != before || !parked_.empty() || shard_->upkeep_due();
}

void ShardDesk::evict_over(Time now) {
  const ShardSet cheaper = shard_->evict_over(now);
  for (std::uint32_t i = 0; cheaper.any() && i < cheaper.size(); ++i)
    if (cheaper[i]) hooks_.poke(ShardId(i));
}

}  // namespace larder
