#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "actors/session.h"
#include "actors/session_lookup.h"
#include "transport/guarded_copy.h"

namespace larder {

/// A get, from its lookup to the hand-over of its leases.
///
///   verifying (when asked) --> answered --shm: leases to the session's book--> done
///                                |---------tcp: streaming --last chunk queued--> done
///
/// tcp: each chunk borrows the slot's memory and shares the block's lease, which ends when the last
/// byte was handed to the kernel, or the session is gone.
class GetOp : public SessionOp {
 public:
  GetOp(Session& session, std::uint64_t id, std::vector<wire::GetResult> results,
        std::vector<HeldBlock> held, std::vector<std::uint32_t> held_key, Duration lease,
        bool verify);

  ~GetOp() override;

  /// `ready`: since when the call is in the io thread.
  void start(Time ready);

  void on_answer(ShardCall& /*call*/) override {}
  void step(Time now, std::size_t& budget) override;
  bool runnable() const override;
  void on_time(Time now) override;
  void cancel() override;
  bool done() const override { return state_ == State::kDone; }

 private:
  enum class State : std::uint8_t { kVerifying, kStreaming, kDone };
  class Guard;

  void verify_some(std::size_t& budget);
  void verified(bool good);
  void leave_to_scrub();
  void answer();
  void finish();
  void stream_some(std::size_t& budget);
  const std::byte* data(std::size_t n) const;

  Session& session_;
  std::uint64_t id_;
  std::vector<wire::GetResult> results_;
  std::vector<std::shared_ptr<Guard>> held_;  ///< null once handed over
  std::vector<std::uint32_t> held_key_;
  Duration lease_;
  State state_ = State::kVerifying;
  bool verify_;
  Time began_;
  std::size_t next_ = 0;  ///< block verified or streamed
  std::uint64_t offset_ = 0;
  Checksum sum_;
};

}  // namespace larder
