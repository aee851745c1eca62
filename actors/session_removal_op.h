#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "actors/removal_set.h"
#include "actors/session.h"
#include "actors/session_progress.h"

namespace larder {

/// Removes every block of a set. Scans a namespace, or all, in slices, removes what belongs in
/// batches, and scans again until a scan finds nothing: what is put meanwhile is
/// found too. No step of a shard or of the io thread is longer than a slice.
///
///   scanning --all shards seen--> expanding --all found--> erasing --all erased--> scanning
///   (again)
///                                     |--nothing found--> answered
///   each of them --cancel, nothing asked of shards any more--> answered
class RemovalOp : public SessionOp {
 public:
  struct Options {
    std::uint64_t id = 0;
    FrameType type = FrameType::kRemovePrefix;  ///< of the answer
    std::optional<NamespaceId> ns;              ///< none: all are scanned
  };
  /// Before one is made, which gives it back; RESOURCE_EXHAUSTED when too many are under way.
  static absl::Status take_place(Session& session);
  RemovalOp(Session& session, Options options, std::unique_ptr<RemovalSet> set);
  ~RemovalOp() override;

  void start();

  void on_answer(ShardCall& call) override;
  void step(Time now, std::size_t& budget) override;
  bool runnable() const override { return state_ == State::kExpanding; }
  void on_time(Time now) override { progress_.tell(session_, options_.id, removed_, now); }
  void cancel() override;
  bool done() const override { return state_ == State::kAnswered; }

 private:
  enum class State : std::uint8_t { kScanning, kExpanding, kErasing, kAnswered };
  static constexpr int kRoundsMax = 16;

  void on_scan(ScanCall& call);
  void erase_some();
  void answer(const absl::Status& status);

  Session& session_;
  Options options_;
  std::unique_ptr<RemovalSet> set_;
  State state_ = State::kScanning;
  int rounds_ = 0;
  int asked_ = 0;  ///< calls that shards have not answered
  std::uint64_t removed_ = 0;
  std::uint64_t removed_before_ = 0;  ///< when the round began
  bool found_ = false;                ///< this round has sent erases
  bool cancelled_ = false;
  ProgressNote progress_;
  bool lost_ = false;  ///< a shard died with a call of this op
};

}  // namespace larder
