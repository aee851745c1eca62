#pragma once

#include <bit>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

#include "store/mutex.h"
#include "store/namespace_spec.h"
#include "store/types.h"

namespace larder {

/// How a namespace's blocks form units: what a shard has to know of the group table.
struct UnitShape {
  /// Bit g: group g is a window or a state, and its blocks share the unit of their boundary with
  /// those of the other such groups. A full group's blocks have units of their own.
  std::uint64_t boundary_groups = 0;
  /// Slot bytes of one block of each of them, one rank; 0 when a group declares no size.
  Bytes boundary_bytes;

  /// Groups whose blocks form a unit with those of `group`.
  std::uint64_t with(GroupId group) const {
    const std::uint64_t own = 1ULL << group.value();
    return (boundary_groups & own) != 0 ? boundary_groups : own;
  }
};

UnitShape unit_shape(const NamespaceSpec& spec);

/// The shapes of a node's namespaces. Set before the first block of a namespace is reserved or
/// re-adopted, removed after its last. Any thread; a mutex held for one look.
class UnitShapes {
 public:
  void set(NamespaceId ns, const UnitShape& shape) {
    MutexLock lock(&mutex_);
    shapes_[ns] = shape;
  }
  void remove(NamespaceId ns) {
    MutexLock lock(&mutex_);
    shapes_.erase(ns);
  }
  /// An unknown namespace has no boundary groups.
  UnitShape of(NamespaceId ns) const {
    MutexLock lock(&mutex_);
    const auto it = shapes_.find(ns);
    return it == shapes_.end() ? UnitShape{} : it->second;
  }

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<NamespaceId, UnitShape> shapes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace larder
