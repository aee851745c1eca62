#include "actors/capacity_planner.h"

#include <algorithm>

namespace larder {
namespace {

/// Of what slabs may take, at most this part is left to pools that are not full.
constexpr std::uint64_t kBeyondShareMost = 8;

/// Kept free beyond the reserve: others may take so much before the next change.
Bytes slack(const MemoryRoom& room) {
  return {room.reserve().count / 4};
}

Bytes less(Bytes from, Bytes by) {
  return from - std::min(from, by);
}

}  // namespace

bool CapacityPlanner::fits(const Look& look, Bytes more) {
  return look.held + more <= look.room.fitting(look.held);
}

bool CapacityPlanner::roomy(const Look& look) {
  return fits(look, look.room.reserve());
}

CapacityPlanner::Plan CapacityPlanner::next(const Look& look) {
  const Bytes fitting = look.room.fitting(look.held);
  if (fitting < std::min(look.held, slabs_max_)) {
    lower(look, less(fitting, slack(look.room)));
  } else if (slabs_max_ != MemoryRoom::kUnlimited) {
    raise(look);
  }
  return plan(look);
}

CapacityPlanner::Plan CapacityPlanner::refused(const Look& look) {
  // With room, it was one large slab: others are emptied for it.
  if (!roomy(look)) lower(look, look.held);
  return plan(look);
}

void CapacityPlanner::lower(const Look& look, Bytes to) {
  roomy_since_.reset();
  const Bytes floor{look.configured.count / kStepShare};
  if (std::max(to, floor) < slabs_max_) set(look, std::max(to, floor));
}

void CapacityPlanner::raise(const Look& look) {
  if (!roomy(look)) return roomy_since_.reset();
  if (!roomy_since_) roomy_since_ = look.now;
  if (look.now - *roomy_since_ < kRoomyFor) return;
  roomy_since_ = look.now;
  const Bytes step{look.configured.count / kStepShare};
  const Bytes most = less(look.room.fitting(look.held), slack(look.room));
  const Bytes to = std::min(slabs_max_ + step, most);
  if (to <= slabs_max_) return;
  set(look, to);
  if (capacity_max_ >= look.configured) slabs_max_ = capacity_max_ = MemoryRoom::kUnlimited;
}

void CapacityPlanner::set(const Look& look, Bytes slabs_max) {
  const Bytes beyond = std::min(look.beyond, Bytes{slabs_max.count / kBeyondShareMost});
  slabs_max_ = slabs_max;
  capacity_max_ = slabs_max - beyond;
}

CapacityPlanner::Plan CapacityPlanner::plan(const Look& look) const {
  return {.capacity = std::min(look.configured, capacity_max_), .slabs_max = slabs_max_};
}

}  // namespace larder
