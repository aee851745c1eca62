#pragma once

#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include <sys/uio.h>

#include "actors/shard_calls.h"
#include "store/types.h"
#include "transport/guarded_copy.h"
#include "transport/records.h"

namespace larder {

class Session;
using PayloadPieces = absl::InlinedVector<iovec, 4>;
/// Where a payload goes, and what sums it up on its way (may be null).
struct PayloadSink {
  PayloadPieces pieces;
  Checksum* sum = nullptr;
};

/// A call that is not answered at once: it waits for shards, copies in slices, streams, or waits
/// for time. Lives in its session, on one io thread; answers exactly once, also when it is
/// cancelled, and not before its id is free: with its last answer due to shards. Only the end of
/// its session spares it the answer.
class SessionOp {
 public:
  virtual ~SessionOp() = default;

  /// As in RequestContext, at most 2: of the request that it works for.
  std::uint8_t priority() const { return priority_; }
  void set_priority(std::uint8_t priority) { priority_ = priority; }

  /// A shard's answer to a call of this op.
  virtual void on_answer(ShardCall& call) = 0;
  /// Does up to `budget` bytes of work (subtracted).
  virtual void step(Time now, std::size_t& budget) = 0;
  /// True when step() has something to do now.
  virtual bool runnable() const = 0;
  /// Deadlines and polling, about once a millisecond.
  virtual void on_time(Time now) = 0;
  /// The client gave up: takes back what is uncommitted. The answer says so (CANCELLED, or a
  /// kCancelled a key), at once or with the last answer of the shards. Nothing when answered.
  virtual void cancel() = 0;
  /// Answered, and waits for nothing: may be destroyed.
  virtual bool done() const = 0;

 private:
  std::uint8_t priority_ = 0;
};

/// An op that takes payload from the stream.
class PayloadOp : public SessionOp {
 public:
  /// Where this chunk goes; empty: to scratch. Memory and sum stay until on_payload_done(), or
  /// until the session discards the payload because the op ended.
  virtual PayloadSink payload_sink(std::span<const std::byte> array, std::uint32_t payload) = 0;
  virtual void on_payload_done(Time now) = 0;
};

}  // namespace larder
