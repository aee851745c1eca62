#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "store/eviction_policy.h"

namespace larder {

/// Who stands below whom among the blocks of a policy: only leaves may leave.
///
/// Owns 16 bytes an id. O(1) a call. Not thread-safe: its policy owns it. A parent that is erased
/// before its children (removed, moved) leaves them without one.
class LeafTree {
 public:
  /// `id` must not be tracked. Returns the parent if it was a leaf until now.
  std::optional<PolicyId> insert(PolicyId id, std::optional<PolicyId> parent);
  /// `id` must be tracked. Returns its parent if that is a leaf from now on.
  std::optional<PolicyId> erase(PolicyId id);
  bool tracked(PolicyId id) const {
    return id.value() < nodes_.size() && (nodes_[id.value()].life & 1) != 0;
  }
  bool leaf(PolicyId id) const { return tracked(id) && nodes_[id.value()].children == 0; }

 private:
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t parent_life = 0;  ///< 0: has none
    std::uint32_t life = 0;         ///< odd: tracked; one more at each insert and erase
    std::uint32_t children = 0;
  };
  std::vector<Node> nodes_;
};

}  // namespace larder
