#include "policies/leaf_tree.h"

#include <algorithm>

#include "store/assert.h"

namespace larder {

std::optional<PolicyId> LeafTree::insert(PolicyId id, std::optional<PolicyId> parent) {
  if (nodes_.size() <= id.value()) {
    nodes_.resize(std::max<std::size_t>(id.value() + 1, nodes_.size() * 3 / 2));
  }
  Node& node = nodes_[id.value()];
  LARDER_ASSERT((node.life & 1) == 0);
  node.life += 1;
  node.children = 0;
  node.parent_life = 0;
  if (!parent || *parent == id || !tracked(*parent)) return std::nullopt;
  Node& above = nodes_[parent->value()];
  node.parent = parent->value();
  node.parent_life = above.life;
  above.children += 1;
  return above.children == 1 ? parent : std::nullopt;
}

std::optional<PolicyId> LeafTree::erase(PolicyId id) {
  LARDER_ASSERT(tracked(id));
  Node& node = nodes_[id.value()];
  node.life += 1;
  if (node.parent_life == 0) return std::nullopt;
  Node& above = nodes_[node.parent];
  if (above.life != node.parent_life) return std::nullopt;  // gone before its child
  above.children -= 1;
  if (above.children != 0) return std::nullopt;
  return PolicyId(node.parent);
}

}  // namespace larder
