#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "actors/session_put_batch.h"

namespace larder {

/// How a put's bytes reach the slots.
enum class PutInput : std::uint8_t {
  kShared,  ///< the server copies from the client's memory, in slices
  kInline,  ///< all bytes came with the frame
  kStream,  ///< the client streams what is wanted
};

struct PutOpOptions {
  std::uint64_t id = 0;
  PutInput input = PutInput::kShared;
  std::uint32_t control_word = 0;               ///< kShared
  std::vector<wire::PutSource> sources;         ///< kShared
  std::vector<std::uint64_t> inline_checksums;  ///< kInline
  std::uint32_t inline_bytes = 0;               ///< kInline
  Duration deadline{0};                         ///< without progress
};

/// A put, from the first frame to its reply.
///
/// Slots that were lent are filled while the shards decide.
///
///   reserving --shards answered--> filling --all bytes in--> committing (one step) --> answered
///       |                              |--cancel, deadline--> taken back, answered kCancelled
///       |--cancel, deadline--> given up --shards answered--------------------------> the same
class PutOp : public PayloadOp {
 public:
  PutOp(Session& session, NamespaceRef ns, std::uint64_t request, PutOpOptions options);

  void start(std::vector<wire::KeyRecord> records, Time now);

  void on_answer(ShardCall& call) override;
  void step(Time now, std::size_t& budget) override;
  bool runnable() const override;
  void on_time(Time now) override;
  void cancel() override;
  bool done() const override { return state_ == State::kAnswered; }
  PayloadSink payload_sink(std::span<const std::byte> array, std::uint32_t payload) override;
  void on_payload_done(Time now) override;
  /// kInline: where the frame's payload goes.
  PayloadPieces inline_sink();

 private:
  enum class State : std::uint8_t { kReserving, kFilling, kGivenUp, kAnswered };

  void begin_filling();
  void copy_some(std::size_t& budget);
  void next_key();
  void tell_wanted();
  void give_up(wire::KeyStatus status);
  bool filling() const;
  const PutItem* next_wanted() const;
  void take_inline();
  void finish_chunk();
  void acknowledge(bool force);
  void commit();
  void answer();
  bool all_in() const;

  Session& session_;
  PutOpOptions options_;
  PutBatch batch_;
  State state_ = State::kReserving;
  Time progress_;
  Time began_;
  // kShared
  HeldRegions regions_;
  std::size_t key_ = 0;
  std::size_t source_ = 0;
  std::uint64_t source_done_ = 0;
  bool attached_ = false;
  // kInline
  std::vector<std::byte> inline_data_;
  bool inline_here_ = false;
  // kStream
  bool told_wanted_ = false;
  std::optional<wire::ChunkRecord> chunk_;
  std::uint32_t chunk_bytes_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace larder
