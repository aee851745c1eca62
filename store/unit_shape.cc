#include "store/unit_shape.h"

#include "store/limits.h"

namespace larder {

static_assert(limits::kGroupsMax <= 64, "a bit a group");

UnitShape unit_shape(const NamespaceSpec& spec) {
  UnitShape shape;
  bool declared = true;
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    const GroupSpec& group = spec.groups[g];
    if (group.kind == GroupKind::kFull) continue;
    shape.boundary_groups |= 1ULL << g;
    declared = declared && group.block_bytes.count != 0;
    shape.boundary_bytes = shape.boundary_bytes + slot_bytes(group, group.block_bytes);
  }
  if (!declared) shape.boundary_bytes = Bytes{0};
  return shape;
}

}  // namespace larder
