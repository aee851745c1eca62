#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "store/types.h"
#include "transport/byte_stream.h"
#include "transport/socket.h"

namespace larder {

/// One frame to be sent. `head` is header, body and array as make_head() makes them (a small
/// payload may stand behind them); `payload` is memory of somebody else.
struct OutFrame {
  std::vector<std::byte> head = {};
  std::vector<iovec> payload = {};
  std::vector<int> fds = {};              ///< borrowed, open until sent
  std::uint64_t tag = 0;                  ///< not 0: reported by take_sent() and named by drop()
  std::shared_ptr<const void> keep = {};  ///< held until sent: owner of payload or fds
};

/// Queue of outgoing frames of one stream; used by both ends.
///
/// Frames with payload wait behind all frames without, so that an answer never waits behind blocks;
/// a frame begun is finished first; order is kept inside each of the two. Payload memory and
/// descriptors are borrowed until the frame's last byte is in the kernel, its tag is reported, or
/// drop() returns. Not thread-safe. The queue's heads are bounded by kQueueMax.
class FrameWriter {
 public:
  static constexpr std::size_t kQueueMax = 64 << 20;

  /// False, and nothing is queued, when the heads waiting would exceed kQueueMax.
  [[nodiscard]] bool push(OutFrame frame);

  /// Sends until the stream would block, nothing is left in the stream either, or `budget` bytes
  /// are sent (subtracted). kDone: nothing left, or the budget is used up (see empty()).
  IoResult flush(ByteStream& stream, std::size_t& budget);
  /// To a socket as it is.
  IoResult flush(int fd, std::size_t& budget) {
    SocketStream stream(fd);
    return flush(stream, budget);
  }

  bool empty() const { return control_.empty() && bulk_.empty(); }
  std::size_t frames() const { return control_.size() + bulk_.size(); }
  /// Bytes of heads and payload that wait.
  std::size_t queued_bytes() const { return head_bytes_ + payload_bytes_; }

  /// Tags of frames whose last byte was handed to the kernel since the last call.
  std::vector<std::uint64_t> take_sent() { return std::exchange(sent_, {}); }

  /// Forgets the frames of `tag`. One that is partly sent is finished with zeros: the caller's
  /// memory is not read again. Nothing is reported for them.
  void drop(std::uint64_t tag);

 private:
  struct Entry {
    OutFrame frame;
    std::size_t done = 0;  ///< bytes sent of head + payload
    std::size_t total = 0;
  };

  std::deque<Entry>& queue_to_send();
  std::size_t gather(std::size_t budget, absl::InlinedVector<iovec, 64>& pieces,
                     std::span<const int>& fds);
  bool gather_entry(const Entry& entry, std::size_t& room, absl::InlinedVector<iovec, 64>& pieces);
  void advance(std::size_t bytes);

  std::deque<Entry> control_;
  std::deque<Entry> bulk_;
  std::size_t head_bytes_ = 0;
  std::size_t payload_bytes_ = 0;
  std::vector<std::uint64_t> sent_;
};

}  // namespace larder
