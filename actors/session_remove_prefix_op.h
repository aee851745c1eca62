#pragma once

#include <vector>

#include "absl/container/flat_hash_set.h"

#include "actors/session.h"

namespace larder {

/// Which of a namespace's blocks begin with a prefix: those named by its last hash, and whatever
/// descends from them by parent hashes, in any order of discovery.
///
/// A block of a group with longer blocks may begin inside the prefix and end behind it; its parent
/// lies before the prefix's end, and its own hash does not say which branch it is of. Such a block
/// is taken as well: what is removed by mistake costs a hit, what is left costs a promise.
class PrefixSet {
 public:
  PrefixSet(const NamespaceInfo& ns, const std::vector<BlockHash>& prefix);
  /// Looks at all rows until nothing more is found; marks those to be removed.
  std::vector<std::size_t> select(const std::vector<ScanCall::Row>& rows);

 private:
  bool belongs(const ScanCall::Row& row) const;

  const NamespaceInfo& ns_;
  BlockHash last_;
  std::uint32_t last_position_;
  absl::flat_hash_set<BlockHash> inside_;       ///< hashes of the prefix before its last
  absl::flat_hash_set<BlockHash> descendants_;  ///< hashes removed, by name
};

/// Removes every block whose prompt begins with a prefix. Scans the namespace in slices, removes
/// what belongs, and scans again until a scan finds nothing: what is put meanwhile is found too.
///
///   scanning --all shards seen--> erasing --answered--> scanning (again)
///      |--nothing found--> answered
class RemovePrefixOp : public SessionOp {
 public:
  RemovePrefixOp(Session& session, std::uint64_t id, NamespaceRef ns,
                 std::vector<BlockHash> prefix);

  void start();

  void on_answer(ShardCall& call) override;
  void step(Time, std::size_t&) override {}
  bool runnable() const override { return false; }
  void on_time(Time) override {}
  void cancel() override { cancelled_ = true; }
  bool done() const override { return done_; }

 private:
  static constexpr int kRoundsMax = 16;

  void on_scan(ScanCall& call);
  void erase_found();
  void answer(const absl::Status& status);

  Session& session_;
  std::uint64_t id_;
  NamespaceRef ns_;
  PrefixSet set_;
  std::vector<ScanCall::Row> rows_;
  std::vector<ShardId> row_shards_;
  int rounds_ = 0;
  int erasing_ = 0;
  std::uint64_t removed_ = 0;
  bool cancelled_ = false;
  bool lost_ = false;  ///< a shard died with a call of this op
  bool done_ = false;
};

}  // namespace larder
