// One session without an io thread: the caller says when it reads, when shards work, which answer
// comes when, and what time it is.

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "actors/session.h"
#include "tests/session/session_node.h"
#include "transport/control_page.h"
#include "transport/frame_head.h"
#include "transport/frame_reader.h"
#include "transport/socket.h"

namespace larder::sim {

/// Both ends of a session of `node`, which was not started. One thread.
class LoneSession {
 public:
  struct Options {
    std::uint64_t id = 1;
    bool is_unix = true;
    std::optional<uid_t> uid = {};  ///< unix: of the client; none: this process's
  };
  LoneSession(SessionNode& node, const Options& options, Time now);
  ~LoneSession();

  // -- the client's end --------------------------------------------------------------------------
  void add(const FrameParts& parts, std::span<const std::byte> payload = {});
  void add_bytes(std::span<const std::byte> bytes);
  /// With descriptors; what was added before goes first.
  void add_with_fds(const FrameParts& parts, std::span<const int> fds, Time now);
  /// Bytes that the session has not been given yet.
  std::size_t waiting() const { return out_.size() - sent_; }
  /// Hands the session at most `bytes` of it.
  void send_some(std::size_t bytes);
  /// Hands it everything, letting it read as needed.
  void send_all(Time now);
  /// What the session answered, in order, without payloads. A control page is kept.
  struct Reply {
    FrameHeader header;
    std::vector<std::byte> body;
    std::vector<std::byte> array;
  };
  std::vector<Reply> replies();
  ControlPage* control_page() { return control_page_.get(); }
  void hang_up() { here_.reset(); }

  // -- the io thread's part ----------------------------------------------------------------------
  bool alive() const { return session_ != nullptr; }
  bool runnable() const { return alive() && session_->runnable(); }
  /// Answers of shards that deliver() has not handed over.
  std::size_t arrived() {
    take_inbox();
    return arrived_.size();
  }
  void pump(Time now);
  void on_time(Time now);
  /// Hands over up to `count` answers of shards; a turn follows each, unless it is not its turn
  /// yet.
  void deliver(std::size_t count, Time now, bool turns = true);
  /// Everybody works until nothing is left to do.
  void settle(Time now);
  /// The session ends at once.
  void end();
  Session* session() { return session_.get(); }

 private:
  void take_inbox();
  void read_replies();

  SessionNode& node_;
  Inbox& inbox_;
  std::vector<Inbox::Item> arrived_;
  Fd here_;
  std::unique_ptr<Session> session_;
  std::vector<std::byte> out_;
  std::size_t sent_ = 0;
  FrameReader reader_;
  std::vector<Reply> replies_;
  std::unique_ptr<ControlPage> control_page_;
};

}  // namespace larder::sim
