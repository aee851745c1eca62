#include "store/usable_tokens.h"

#include <algorithm>
#include <numeric>

#include "absl/container/inlined_vector.h"

#include "store/assert.h"

namespace larder {
namespace {

std::uint32_t leading(const GroupPresence& presence) {
  const auto gap = std::find(presence.begin(), presence.end(), std::uint8_t{0});
  return static_cast<std::uint32_t>(gap - presence.begin());
}

/// No boundary beyond it is usable: full groups to their first gap, the others to their end.
std::uint64_t upper_bound(const NamespaceSpec& spec, std::span<const GroupPresence> groups) {
  std::uint64_t bound = ~std::uint64_t{0};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const GroupSpec& group = spec.groups[g];
    const std::uint64_t blocks =
        group.kind == GroupKind::kFull ? leading(groups[g]) : groups[g].size();
    bound = std::min(bound, blocks * group.block_tokens);
  }
  return bound;
}

/// Smallest common boundary of all groups, or anything beyond `bound` when that is larger.
std::uint64_t boundary_step(const NamespaceSpec& spec, std::uint64_t bound) {
  std::uint64_t step = 1;
  for (const GroupSpec& group : spec.groups) {
    step = std::lcm(step, std::uint64_t{group.block_tokens});
    if (step > bound) break;  // and so it never overflows
  }
  return step;
}

/// A window or state group, read block by block as the boundary moves on.
struct Scan {
  const GroupSpec* group;
  const GroupPresence* presence;
  std::uint64_t read = 0;  // blocks read so far
  std::uint64_t run = 0;   // present blocks in a row at the end of them

  bool usable_at(std::uint64_t boundary) {
    const std::uint64_t blocks = boundary / group->block_tokens;
    for (; read < blocks; ++read)
      run = (*presence)[read] != 0 ? run + 1 : 0;
    if (group->kind == GroupKind::kState) return run > 0;
    const std::uint64_t window = std::min<std::uint64_t>(boundary, group->window_tokens);
    return run >= blocks - (boundary - window) / group->block_tokens;
  }
};

}  // namespace

std::uint32_t usable_tokens(const NamespaceSpec& spec, std::span<const GroupPresence> groups) {
  LARDER_ASSERT(groups.size() == spec.groups.size());
  LARDER_ASSERT(!groups.empty());
  const std::uint64_t bound = upper_bound(spec, groups);
  const std::uint64_t step = boundary_step(spec, bound);
  absl::InlinedVector<Scan, 8> scans;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (spec.groups[g].kind != GroupKind::kFull) scans.push_back({&spec.groups[g], &groups[g]});
  }
  if (scans.empty()) return static_cast<std::uint32_t>(bound / step * step);

  std::uint64_t best = 0;
  for (std::uint64_t boundary = step; boundary <= bound; boundary += step) {
    bool usable = true;
    for (Scan& scan : scans)
      usable = scan.usable_at(boundary) && usable;
    if (usable) best = boundary;
  }
  return static_cast<std::uint32_t>(best);
}

}  // namespace larder
