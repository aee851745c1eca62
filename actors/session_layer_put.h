#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "actors/session_put_batch.h"
#include "store/status_macros.h"

namespace larder {

/// Bytes of a block that parts have filled: disjoint ranges, merged.
class Coverage {
 public:
  static constexpr std::size_t kRangesMax = 4'096;
  /// False: past the bound of ranges (parts in no order at all).
  bool add(std::uint64_t begin, std::uint64_t end);
  bool complete(std::uint64_t length) const;

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  ///< begin to end
};

/// A layer-by-layer put, from PutStart to the answer of PutEnd. Visible at its end only.
///
///   reserving --> open --parts--> open --end: checksums--> sealing --> done
///       |           |---abort, cancel, deadline-----------------------> done (taken back)
///       |--abort, end, cancel, deadline--> given up --shards answered---> done (taken back)
///
/// Each of its calls is answered: PutStart once the shards have, parts and PutEnd at the latest
/// when it is given up.
class LayerPutOp : public PayloadOp {
 public:
  struct Part {
    std::uint64_t id = 0;
    std::uint32_t control_word = 0;
    std::vector<wire::PutSource> sources;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> checksums;  ///< of stream parts
    HeldRegions regions;
  };

  LayerPutOp(Session& session, NamespaceRef ns, std::uint64_t request, std::uint64_t id,
             Duration deadline);

  void start(std::vector<wire::KeyRecord> records, Time now);
  /// INVALID_ARGUMENT or FAILED_PRECONDITION; else the part is answered when its bytes are in.
  absl::Status add_part(Part part, std::uint32_t payload, Time now);
  std::size_t keys() { return batch_.items().size(); }
  /// False once it is ending, or over.
  bool takes_end() const {
    return end_id_ == 0 && state_ != State::kGivenUp && state_ != State::kDone;
  }
  /// The last frame: publishes (or takes back) and answers `id`. `checksums`: of the whole blocks,
  /// one a key, or none.
  void end(std::uint64_t id, std::uint32_t control_word, bool abort,
           std::vector<std::uint64_t> checksums, Time now);

  void on_answer(ShardCall& call) override;
  void step(Time now, std::size_t& budget) override;
  bool runnable() const override;
  void on_time(Time now) override;
  void cancel() override;
  bool done() const override { return state_ == State::kDone; }
  PayloadSink payload_sink(std::span<const std::byte> array, std::uint32_t payload) override;
  void on_payload_done(Time now) override;

 private:
  enum class State : std::uint8_t { kReserving, kOpen, kSealing, kGivenUp, kDone };

  absl::Status check_part(const Part& part, std::uint32_t payload) const;
  void open();
  void answer_start();
  void copy_part(std::size_t& budget);
  void finish_part();
  void answer_part(std::uint64_t id, const absl::Status& status);
  void seal_some(std::size_t& budget);
  void answer_end();

  Session& session_;
  std::uint64_t id_;
  Duration deadline_;
  PutBatch batch_;
  std::vector<Coverage> coverage_;
  State state_ = State::kReserving;
  Time progress_;
  std::deque<Part> parts_;  ///< shared-memory parts to copy; the front is under way
  std::size_t source_ = 0;
  std::uint64_t source_done_ = 0;
  absl::Status part_status_;
  std::optional<Part> streamed_;  ///< whose payload is arriving
  std::uint64_t end_id_ = 0;
  std::vector<std::uint64_t> checksums_;  ///< of whole blocks, as PutEnd said them
  std::uint32_t end_word_ = 0;
  bool attached_ = false;
  std::size_t sealing_ = 0;
};

}  // namespace larder
