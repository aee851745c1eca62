#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "client/client.h"
#include "client/link.h"
#include "store/types.h"

namespace larder {

/// One call of the client from its start to its one completion: events in, frames out.
///
///   waiting (no connection) --start--> under way --finish--> finished
///        |                                | work() (no lock) and back
///        |--give_up---------------------> finished
///
/// Every method but work() runs under the engine's lock. When `finished()` the operation touches
/// no memory of the caller any more; the engine takes the completion from it exactly once.
class Operation : public std::enable_shared_from_this<Operation> {
 public:
  Operation(std::size_t keys, Duration deadline) : deadline_(deadline) {
    completion_.keys.resize(keys, KeyStatus::kUnavailable);
  }
  virtual ~Operation() = default;

  /// A connection is there. An error ends the operation.
  virtual absl::Status start(Link& link) = 0;
  /// A reply to one of its frames; the id is forgotten after it.
  virtual void on_reply(Link& link, FrameReader::Frame& frame) = 0;
  /// A data frame of one of its ids; may name the payload's place with receive_payload().
  virtual void on_data(Link& link, FrameReader::Frame& frame);
  /// The payload of the last on_data() is in its place.
  virtual void on_payload(Link& link);
  /// There is room to send: queues its next piece of payload; false when it has none now.
  virtual bool send_more(Link& link);
  /// Something was freed that it waited for.
  virtual void resume(Link& link);
  /// Ends as soon as it can: deadline, cancel, or (`link` null) the connection's loss.
  virtual void give_up(Link* link, absl::StatusCode code, std::string message) = 0;

  /// True: somebody should call work() without the lock, then worked().
  virtual bool wants_work() const { return false; }
  virtual void work() {}
  /// `link` is null when the connection was lost meanwhile.
  virtual void worked(Link* /*link*/) {}

  bool finished() const { return finished_; }
  /// Its frames' ids, for which nothing is expected any more; a payload under way goes to scratch.
  void forget_frames(Link* link);
  Completion& completion() { return completion_; }
  Duration deadline() const { return deadline_; }
  /// Ends it with one status for the call and for every key that has none yet.
  void finish_with(absl::StatusCode code, std::string message);
  /// Ends it not knowing what became of its keys: those that have no answer say kUnavailable.
  void finish_unanswered(absl::StatusCode code, std::string message);

  // -- the engine's
  // ---------------------------------------------------------------------------------
  std::uint64_t id = 0;
  bool sync = false;      ///< a thread waits for it
  bool internal = false;  ///< nobody sees its completion
  /// The transport that it is made for; a connection of another ends it.
  enum class Mode : std::uint8_t { kAny, kShm, kStream } mode = Mode::kAny;
  bool started = false;
  bool retired = false;
  bool working = false;  ///< somebody is in work(): its memory is in use
  bool queued = false;   ///< for the background's work()
  absl::StatusCode give_up_after_work = absl::StatusCode::kOk;
  std::uint64_t link_serial = 0;
  Time progress;
  Time answer_due;  ///< when the daemon will have copied what it was told of
  std::condition_variable wake;
  /// Set while working to make work() return early.
  std::atomic<bool> abandon{false};

 protected:
  /// Id of its next frame: the first one's is the operation's own, known to the caller since the
  /// submission.
  std::uint64_t next_frame_id(Link& link) const { return frames_.empty() ? id : link.new_id(); }
  /// Sends `frame` under that id (patched into its head) and expects its reply.
  absl::Status send_call(Link& link, OutFrame frame, std::uint64_t frame_id);
  absl::StatusOr<std::uint64_t> send_call(Link& link, OutFrame frame);
  void finish() { finished_ = true; }
  /// False, and the operation finished, when the body is malformed or says an error.
  bool accept(const FrameReader::Frame& frame, google::protobuf::MessageLite& body);

  Completion completion_;

 private:
  Duration deadline_;
  bool finished_ = false;
  std::vector<std::uint64_t> frames_;
};

/// What a key becomes when its whole call ended with `code`.
KeyStatus key_status_of(absl::StatusCode code);

}  // namespace larder
