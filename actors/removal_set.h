#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "actors/namespace_directory.h"
#include "actors/session_lookup.h"
#include "actors/shard_calls.h"

namespace larder {

/// Which of the blocks that a scan finds are to go. One thread.
class RemovalSet {
 public:
  virtual ~RemovalSet() = default;
  /// A block, from a scan.
  virtual void offer(const ScanCall::Row& row, ShardId shard) = 0;
  /// Follows what was chosen to what goes with it, `limit` blocks at most; true when nothing is
  /// left.
  virtual bool expand(std::size_t /*limit*/) { return true; }
  /// Before a new scan.
  virtual void next_round() {}
  /// Another scan is needed although this one found nothing to remove.
  virtual bool unsure() const { return false; }
  /// Hands out blocks to be removed, `limit` at most, each once.
  std::vector<LocatedKey> take(std::size_t limit);

 protected:
  void choose(const LocatedKey& at) { chosen_.push_back(at); }

 private:
  std::deque<LocatedKey> chosen_;  ///< of millions: to move them all at once takes too long
};

/// The blocks for which a question of one row answers true.
class FilterSet : public RemovalSet {
 public:
  explicit FilterSet(std::function<bool(const ScanCall::Row&)> goes) : goes_(std::move(goes)) {}
  void offer(const ScanCall::Row& row, ShardId shard) override {
    if (goes_(row)) choose({row.key, shard});
  }

 private:
  std::function<bool(const ScanCall::Row&)> goes_;
};

/// Which of a namespace's blocks begin with a prefix: those named by its last hash, and whatever
/// descends from them by parent hashes, in any order of discovery.
///
/// A block of a group with longer blocks may begin inside the prefix and end behind it; its parent
/// lies before the prefix's end, and its own hash does not say which branch it is of. Such a block
/// is taken as well: what is removed by mistake costs a hit, what is left costs a promise.
///
/// Blocks whose parent is not there in two scans (a slab emptied for another size leaves such gaps)
/// are taken as well, with what is behind them: they may descend from the prefix, and no match
/// reaches them. In one scan alone a parent may be missing because it was put meanwhile; after
/// kDoubtRounds of them doubt costs blocks, not the promise.
///
/// offer() and expand() are O(1) a block: each is looked at when it comes and once more when its
/// parent turns out to belong. The names of what was removed last over rounds.
class PrefixSet : public RemovalSet {
 public:
  PrefixSet(NamespaceRef ns, const std::vector<BlockHash>& prefix);

  void offer(const ScanCall::Row& row, ShardId shard) override;
  bool expand(std::size_t limit) override;
  void next_round() override;
  bool unsure() const override { return unsure_; }

 private:
  struct Waiting {
    LocatedKey at;
    std::uint32_t next;  ///< another child of the same parent
  };
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::uint32_t kDoubtRounds = 4;

  bool belongs(const ScanCall::Row& row) const;
  void follow(const LocatedKey& at);
  void take_in_orphans_of(const BlockHash& parent);

  NamespaceRef ns_;
  BlockHash last_;
  std::uint32_t last_position_;
  absl::flat_hash_set<BlockHash> inside_;       ///< hashes of the prefix before its last
  absl::flat_hash_set<BlockHash> descendants_;  ///< hashes removed, by name
  std::vector<Waiting> waiting_;                ///< blocks whose parent is not known to belong
  absl::flat_hash_map<BlockHash, std::uint32_t> children_;  ///< first of them, by parent
  std::vector<BlockHash> unexplored_;
  absl::flat_hash_set<BlockHash> present_;  ///< hashes of all that was offered in this round
  std::vector<BlockHash> parents_;          ///< of waiting blocks behind the prefix's end
  absl::flat_hash_set<BlockHash> missing_;  ///< of them, not there in this round
  absl::flat_hash_set<BlockHash> missing_before_;
  std::uint32_t rounds_ = 1;
  bool unsure_ = false;  ///< a parent was missing for the first time
};

}  // namespace larder
