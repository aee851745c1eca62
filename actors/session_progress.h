#pragma once

#include <cstdint>

#include "actors/session.h"
#include "transport/wire.pb.h"

namespace larder {

/// Tells a client now and then that a long call goes on: its deadline is time without progress.
/// Says nothing while nothing moves, so that a call that hangs still ends there.
class ProgressNote {
 public:
  /// The call got somewhere.
  void moved() { moved_ = true; }
  /// On the session's timer: `done` of what the call's answer will count.
  void tell(Session& session, std::uint64_t id, std::uint64_t done, Time now) {
    if (due_ == Time{}) due_ = now + kPeriod;
    if (!moved_ || now < due_) return;
    moved_ = false;
    due_ = now + kPeriod;
    wire::SimpleReply body;
    body.set_count(done);
    session.tell(FrameType::kProgress, id, body);
  }

 private:
  static constexpr Duration kPeriod = std::chrono::milliseconds(100);

  bool moved_ = false;
  Time due_;
};

}  // namespace larder
