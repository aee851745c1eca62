#pragma once

#include <vector>

#include "client/operation.h"

namespace larder {

/// One frame out, one reply back: every call that moves no blocks. Owns copies of all it sends and
/// of the reply, so that giving it up needs nobody's consent.
class Call final : public Operation {
 public:
  /// `head` as make_head() makes it, with any id. `keys` results are expected in the reply's array
  /// when not 0.
  Call(std::vector<std::byte> head, std::size_t keys, Duration deadline)
      : Operation(keys, deadline), head_(std::move(head)) {}

  /// A descriptor (borrowed until the call ends) that travels with the frame.
  void attach_fd(int fd) { fds_.push_back(fd); }

  absl::Status start(Link& link) override;
  void on_reply(Link& link, FrameReader::Frame& frame) override;
  void give_up(Link* link, absl::StatusCode code, std::string message) override;

  /// Of the reply, after an OK end.
  std::span<const std::byte> body() const { return body_; }
  std::span<const std::byte> array() const { return array_; }

 private:
  std::vector<std::byte> head_;
  std::vector<int> fds_;
  std::vector<std::byte> body_;
  std::vector<std::byte> array_;
};

/// Ends a layer-by-layer put over shared memory: a call with a control word, so that after its
/// deadline both ends agree whether the blocks became visible.
class PutEnd final : public Operation {
 public:
  PutEnd(std::uint64_t put, std::size_t keys, Duration deadline)
      : Operation(keys, deadline), put_(put) {
    mode = Mode::kShm;
  }

  absl::Status start(Link& link) override;
  void on_reply(Link& link, FrameReader::Frame& frame) override;
  void give_up(Link* link, absl::StatusCode code, std::string message) override;

 private:
  std::uint64_t put_ = 0;
  std::uint64_t frame_ = 0;
  Link::Held held_;
  bool committed_ = false;
};

/// How a put with a control word can end when it is given up.
enum class Verdict : std::uint8_t {
  kCancelled,   ///< it will not happen
  kWait,        ///< its bytes were taken: the answer may still come, wait for it
  kAnswerLost,  ///< its bytes were taken, and no answer comes any more
};
/// Swaps the word of frame `frame` to cancelled, or finds out that it is too late (`committed` says
/// so from then on): then the answer is waited for, up to the second deadline or the link's death.
Verdict give_up_word(Link& link, const Link::Held& held, std::uint64_t frame, bool& committed,
                     absl::StatusCode code);

/// Reads `keys` PutResults into the completion; false when the array lies.
bool read_put_results(std::span<const std::byte> array, std::vector<KeyStatus>& keys);

/// What a call reports whose put was committed but whose answer did not come in time. Whether the
/// blocks are there, nobody here knows: a daemon killed between its word and the seals of the slots
/// has not stored them.
inline constexpr char kCommittedAnswerLost[] = "committed, answer lost";

}  // namespace larder
