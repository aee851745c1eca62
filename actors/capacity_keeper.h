#pragma once

#include <functional>
#include <optional>
#include <string>

#include "actors/capacity_planner.h"
#include "actors/memory_room.h"
#include "actors/metrics.h"
#include "store/node_store.h"

namespace larder {

/// Owns the capacity in force: what is configured, or less while memory is short. Nobody else sets
/// a running node's.
///
/// Looks at the memory that is left as its owner's turns come, once a second, four times when it is
/// short. One thread: the slab actor's, which makes and retires slabs, so that what it sees of them
/// and of memory belongs together.
class CapacityKeeper {
 public:
  struct Wanted {
    Bytes capacity;
    bool watch = true;  ///< false: in force whatever memory there is
  };
  struct Hooks {
    std::function<Wanted()> wanted;  ///< as configured now
    MemoryProbe probe;
    std::function<void(const std::string&)> log;  ///< one line a change
  };

  /// `store` and `metrics` outlive it.
  CapacityKeeper(NodeStore& store, NodeMetrics& metrics, Hooks hooks);

  /// Puts the capacity in force that is right now. Cheap when no look is due.
  void look(Time now);
  /// Whether a slab of so many bytes leaves the reserve: the kernel would kill for one that does
  /// not fit its limit. If not, the capacity becomes what there is.
  bool may_take(Bytes bytes, Time now);

 private:
  CapacityPlanner::Look see(Bytes configured, Time now);
  void put_in_force(const CapacityPlanner::Plan& plan);
  void tell(Bytes before, Bytes after);

  NodeStore& store_;
  NodeMetrics& metrics_;
  Hooks hooks_;
  CapacityPlanner planner_;
  MemoryRoom room_;
  Wanted wanted_;
  bool reloaded_ = false;  ///< since the last look
  std::optional<Time> looked_;
  Time trimmed_;  ///< when free heap was last given back
};

}  // namespace larder
