#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/functional/function_ref.h"

#include "store/eviction_policy.h"

namespace larder {

/// The leaves of each kind of block, oldest stamp first, and what the head of each is worth.
///
/// Values are asked for, never kept longer than they hold: `HeadValue` says until when. Owns 16
/// bytes a leaf and 24 a kind. Not thread-safe. insert and erase: O(log n) of one kind; cheapest():
/// a look at every kind, four bytes each.
class KindHeads {
 public:
  using Clock = std::uint32_t;  ///< ticks of the policy
  struct HeadValue {
    float value = 0;  ///< ≥ 0
    Clock until = 0;  ///< holds before that
  };
  /// A head's value now.
  using Price = absl::FunctionRef<HeadValue(std::uint32_t kind, PolicyId id)>;
  struct Head {
    std::uint32_t kind = 0;
    PolicyId id;
    float value = 0;
  };

  void insert(std::uint32_t kind, std::uint64_t stamp, PolicyId id);
  void erase(std::uint32_t kind, std::uint64_t stamp, PolicyId id);
  /// All values are to be asked for again.
  void reprice() { repriced_ = true; }

  /// The cheapest head; of equal ones the oldest.
  std::optional<Head> cheapest(Clock now, Price price);
  /// The kind's head becomes the leaf behind it, until restore() or an older leaf comes.
  void pass(const Head& head);
  void restore();
  std::size_t passed() const { return passed_.size(); }

 private:
  using Leaf = std::pair<std::uint64_t, std::uint32_t>;  // stamp, id
  struct Kind {
    absl::btree_set<Leaf> leaves;
    std::optional<Leaf> passed;  ///< this one and those before it are not looked at
    Leaf head{};
  };
  static constexpr std::uint32_t kEmpty = 0x7f800000;  // bits of infinity

  void touch(std::uint32_t kind);
  bool refresh(Clock now, Price price);
  std::optional<Head> find_cheapest() const;
  void reprice_one(std::uint32_t kind, Price price);

  std::vector<Kind> kinds_;
  std::vector<std::uint32_t> values_;  // bits of the heads' values, which sort like them
  std::vector<Clock> until_;
  std::vector<std::uint32_t> dirty_;
  std::vector<std::uint32_t> passed_;  // kinds
  std::optional<Head> cheapest_;       // until a head or its value changes
  Clock refreshed_ = 0;
  bool repriced_ = true;
};

}  // namespace larder
