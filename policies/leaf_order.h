#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/functional/function_ref.h"

#include "policies/leaf_tree.h"
#include "store/eviction_policy.h"

namespace larder {

/// Which block leaves first: the least `major`, then the least `minor`.
struct LeafRank {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  friend auto operator<=>(const LeafRank&, const LeafRank&) = default;
};

/// The blocks of a policy by rank, of which only leaves are looked at.
///
/// Owns 40 bytes an id and 24 a leaf. O(log n) a call. Not thread-safe: its policy owns it.
class LeafOrder {
 public:
  using Rank = LeafRank;
  static constexpr Rank kFirst{};
  static constexpr Rank kLast{~0ULL, ~0ULL};

  /// `id` must not be tracked.
  void insert(PolicyId id, std::optional<PolicyId> parent, Rank rank);
  /// `id` must be tracked.
  void move(PolicyId id, Rank rank);
  /// False: it was not tracked.
  bool erase(PolicyId id);
  bool tracked(PolicyId id) const { return tree_.tracked(id); }
  Rank rank(PolicyId id) const { return ranks_[id.value()]; }
  std::size_t size() const { return size_; }

  /// The first leaf in [from, to) for which `skip` is false. Looks at limits::kVictimScanMax leaves
  /// at most; then has_more() says so, and the next call goes on from there.
  std::optional<PolicyId> first(Rank from, Rank to, absl::FunctionRef<bool(PolicyId)> skip);
  bool has_more() const { return resume_.has_value(); }
  /// What was skipped may be free by now: the next look begins at the front.
  void look_anew() { resume_.reset(); }

 private:
  struct Leaf {
    Rank rank;
    std::uint32_t id = 0;
    friend auto operator<=>(const Leaf&, const Leaf&) = default;
  };

  LeafTree tree_;
  std::vector<Rank> ranks_;  // by id
  absl::btree_set<Leaf> leaves_;
  std::size_t size_ = 0;
  std::optional<Leaf> resume_;
};

}  // namespace larder
