#include "actors/capacity_keeper.h"

#include <utility>

#include <fmt/format.h>
#include <malloc.h>

namespace larder {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(1);
constexpr Duration kLookEveryShort = std::chrono::milliseconds(250);
constexpr Duration kTrimEvery = std::chrono::seconds(30);
/// Memory is short when less than so many reserves are left.
constexpr std::uint64_t kShortReserves = 4;

bool is_short(const MemoryRoom& room) {
  return room.left() < room.reserve() * kShortReserves;
}

}  // namespace

CapacityKeeper::CapacityKeeper(NodeStore& store, NodeMetrics& metrics, Hooks hooks)
    : store_(store),
      metrics_(metrics),
      hooks_(std::move(hooks)),
      wanted_{.capacity = store.budget.ledger.capacity()} {}

void CapacityKeeper::look(Time now) {
  const Wanted wanted = hooks_.wanted();
  reloaded_ = wanted.capacity != wanted_.capacity || wanted.watch != wanted_.watch;
  wanted_ = wanted;
  const Duration pause = is_short(room_) ? kLookEveryShort : kLookEvery;
  if (!reloaded_ && looked_ && now - *looked_ < pause) return;
  looked_ = now;
  CapacityPlanner::Look seen = see(wanted.capacity, now);
  if (is_short(room_) && now - trimmed_ >= kTrimEvery) {
    // What sessions had and gave back goes before blocks do.
    trimmed_ = now;
    ::malloc_trim(0);
    seen = see(wanted.capacity, now);
  }
  if (!wanted.watch) planner_ = CapacityPlanner();
  put_in_force(wanted.watch ? planner_.next(seen)
                            : CapacityPlanner::Plan{wanted.capacity, MemoryRoom::kUnlimited});
}

bool CapacityKeeper::may_take(Bytes bytes, Time now) {
  if (!wanted_.watch) return true;
  reloaded_ = false;
  const CapacityPlanner::Look seen = see(wanted_.capacity, now);
  if (CapacityPlanner::fits(seen, bytes)) return true;
  put_in_force(planner_.refused(seen));
  return false;
}

CapacityPlanner::Look CapacityKeeper::see(Bytes configured, Time now) {
  room_ = hooks_.probe();
  metrics_.memory_room.store(room_.left().count, std::memory_order_relaxed);
  return {.configured = configured,
          .held = store_.slabs.total_bytes(),
          .beyond = store_.slabs.beyond_capacity(),
          .room = room_,
          .now = now};
}

void CapacityKeeper::put_in_force(const CapacityPlanner::Plan& plan) {
  const Bytes before = store_.budget.ledger.capacity();
  store_.slabs.set_max(plan.slabs_max);
  if (plan.capacity == before) return;
  store_.set_capacity(plan.capacity);
  tell(before, plan.capacity);
}

void CapacityKeeper::tell(Bytes before, Bytes after) {
  const bool lowered = after < before;
  count(reloaded_ ? metrics_.capacity_changes_for_reload
        : lowered ? metrics_.capacity_changes_for_pressure
                  : metrics_.capacity_changes_for_room);
  hooks_.log(fmt::format("capacity_changed from={} to={} configured={} room={} limit={} reason={}",
                         before.count, after.count, wanted_.capacity.count, room_.left().count,
                         room_.limited() ? room_.file : "none",
                         reloaded_ ? "reload" : (lowered ? "pressure" : "room")));
}

}  // namespace larder
