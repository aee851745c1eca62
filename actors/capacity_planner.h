#pragma once

#include <optional>

#include "actors/memory_room.h"
#include "store/types.h"

namespace larder {

/// Decides what slabs may take while memory is short, and which capacity goes with it: less at once
/// when the reserve is touched, more again in small steps after a while of room.
///
/// Looks at what is, and remembers no orders: what slabs hold and the room beside it add up to the
/// same before and after memory was given back, so one shortfall lowers once, however long it
/// takes. Pure: no clock, no I/O. Not thread-safe.
class CapacityPlanner {
 public:
  /// Room must have lasted this long before each step up.
  static constexpr Duration kRoomyFor = std::chrono::seconds(30);
  /// Largest step up, and least that is left, as a part of the configured capacity.
  static constexpr std::uint64_t kStepShare = 16;

  struct Look {
    Bytes configured;
    Bytes held;    ///< by slabs in service
    Bytes beyond;  ///< what slabs may take beyond capacity
    MemoryRoom room;
    Time now;
  };
  struct Plan {
    Bytes capacity;   ///< at most what is configured
    Bytes slabs_max;  ///< kUnlimited: capacity alone bounds slabs
  };

  /// Whether slabs may take `more`, and leave the reserve.
  static bool fits(const Look& look, Bytes more);

  Plan next(const Look& look);
  /// Instead of next(), when a slab did not fit: no more than there is, until there is room again.
  Plan refused(const Look& look);

 private:
  static bool roomy(const Look& look);
  void lower(const Look& look, Bytes to);
  void raise(const Look& look);
  void set(const Look& look, Bytes slabs_max);
  Plan plan(const Look& look) const;

  Bytes slabs_max_ = MemoryRoom::kUnlimited;
  Bytes capacity_max_ = MemoryRoom::kUnlimited;
  std::optional<Time> roomy_since_;
};

}  // namespace larder
