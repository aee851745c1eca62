#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "actors/session.h"

namespace larder {

/// Which of a namespace's blocks begin with a prefix: those named by its last hash, and whatever
/// descends from them by parent hashes, in any order of discovery.
///
/// A block of a group with longer blocks may begin inside the prefix and end behind it; its parent
/// lies before the prefix's end, and its own hash does not say which branch it is of. Such a block
/// is taken as well: what is removed by mistake costs a hit, what is left costs a promise.
///
/// offer() and expand() are O(1) a block: each is looked at when it comes and once more when its
/// parent turns out to belong.
class PrefixSet {
 public:
  PrefixSet(const NamespaceInfo& ns, const std::vector<BlockHash>& prefix);

  /// A block of the namespace, from a scan.
  void offer(const ScanCall::Row& row, ShardId shard);
  /// Follows what was chosen to its children, `limit` blocks at most; true when nothing is left.
  bool expand(std::size_t limit);
  /// Hands out blocks to be removed, `limit` at most, each once.
  std::vector<LocatedKey> take(std::size_t limit);
  /// Before a new scan: forgets the blocks, not the names of what was removed.
  void next_round();

 private:
  struct Waiting {
    LocatedKey at;
    std::uint32_t next;  ///< another child of the same parent
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  bool belongs(const ScanCall::Row& row) const;
  void choose(const LocatedKey& at);

  const NamespaceInfo& ns_;
  BlockHash last_;
  std::uint32_t last_position_;
  absl::flat_hash_set<BlockHash> inside_;       ///< hashes of the prefix before its last
  absl::flat_hash_set<BlockHash> descendants_;  ///< hashes removed, by name
  std::vector<Waiting> waiting_;                ///< blocks whose parent is not known to belong
  absl::flat_hash_map<BlockHash, std::uint32_t> children_;  ///< first of them, by parent
  std::vector<BlockHash> unexplored_;
  std::vector<LocatedKey> chosen_;
};

/// Removes every block whose prompt begins with a prefix. Scans the namespace in slices, removes
/// what belongs in batches, and scans again until a scan finds nothing: what is put meanwhile is
/// found too. No step of a shard or of the io thread is longer than a slice.
///
///   scanning --all shards seen--> expanding --all found--> erasing --all erased--> scanning
///   (again)
///                                     |--nothing found--> answered
///   each of them --cancel, nothing asked of shards any more--> answered
class RemovePrefixOp : public SessionOp {
 public:
  RemovePrefixOp(Session& session, std::uint64_t id, NamespaceRef ns,
                 std::vector<BlockHash> prefix);

  void start();

  void on_answer(ShardCall& call) override;
  void step(Time now, std::size_t& budget) override;
  bool runnable() const override { return state_ == State::kExpanding; }
  void on_time(Time) override {}
  void cancel() override;
  bool done() const override { return state_ == State::kAnswered; }

 private:
  enum class State : std::uint8_t { kScanning, kExpanding, kErasing, kAnswered };
  static constexpr int kRoundsMax = 16;

  void on_scan(ScanCall& call);
  void erase_some();
  void answer(const absl::Status& status);

  Session& session_;
  std::uint64_t id_;
  NamespaceRef ns_;
  PrefixSet set_;
  State state_ = State::kScanning;
  int rounds_ = 0;
  int asked_ = 0;  ///< calls that shards have not answered
  std::uint64_t removed_ = 0;
  std::uint64_t removed_before_ = 0;  ///< when the round began
  bool found_ = false;                ///< this round has sent erases
  bool cancelled_ = false;
  bool lost_ = false;  ///< a shard died with a call of this op
};

}  // namespace larder
