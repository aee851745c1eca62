#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"

#include "store/types.h"
#include "transport/byte_stream.h"
#include "transport/frame.h"
#include "transport/guarded_copy.h"
#include "transport/socket.h"

namespace larder {

/// Cuts one stream into frames, incrementally; used by both ends.
///
/// Header, body and array are gathered in a buffer of the reader, which grows only as bytes arrive.
/// A payload is not buffered: when a frame with one arrives, the owner sees its head first and
/// names where the payload goes; bytes are received straight into that memory. Not thread-safe.
/// Memory: at most twice the largest frame head; shrinks when idle.
///
///     for (;;) {
///       const ReadResult got = reader.read(stream, budget);
///       if (got.event == ReadEvent::kFrame) {
///         handle(reader.frame());                    // valid until the next read()
///         if (reader.frame().header.payload > 0) reader.receive_payload(pieces);
///       } else if (got.event == ReadEvent::kPayloadDone) {
///         handle_payload_of(reader.frame().header);  // body and array are gone
///       } else break;                                // kBlocked, kBudget; kClosed, kFailed: over
///     }
class FrameReader {
 public:
  enum class Event : std::uint8_t {
    kFrame,        ///< a head is complete: frame()
    kPayloadDone,  ///< the last byte of frame().header's payload is in its place
    kBlocked,      ///< nothing more to read now
    kBudget,       ///< `budget` is used up; more may be there
    kClosed,       ///< end of stream at a frame's boundary
    kFailed,       ///< malformed or torn: `status` says what; the stream is lost
  };
  struct Result {
    Event event = Event::kBlocked;
    absl::Status status;  ///< kFailed only
  };
  struct Frame {
    FrameHeader header;
    std::span<const std::byte> body;
    std::span<const std::byte> array;
    Fds fds;                 ///< the owner may move them out
    bool discarded = false;  ///< discard_head() was called: body and array are empty
  };

  FrameReader();

  /// Reads until something happened. Subtracts received bytes from `budget`; stops when it is 0.
  /// A payload for which receive_payload() was not called goes to scratch memory.
  Result read(ByteStream& stream, std::size_t& budget);
  /// Of a socket as it is.
  Result read(int fd, std::size_t& budget) {
    SocketStream stream(fd);
    return read(stream, budget);
  }
  Frame& frame() { return frame_; }

  /// Where the payload of frame() goes, in order; together at most its length, the rest is
  /// discarded. The memory must stay until kPayloadDone or discard_payload(), and so must `sum`:
  /// unless null, it is added what goes to `pieces`. kStreaming, which takes a `sum`: large
  /// payloads go there past the caches.
  void receive_payload(std::span<const iovec> pieces, Checksum* sum = nullptr,
                       CopyWay way = CopyWay::kBySize);
  /// From now on the payload under way goes to scratch memory; the owner's is not touched again.
  void discard_payload();
  /// A header is here, its body and array are not.
  bool in_head() const { return state_ == State::kHead; }
  /// They are not kept, neither what is here of them nor what comes: in_head() is true.
  void discard_head();
  /// Payload bytes of frame() that have not arrived.
  std::size_t payload_left() const { return payload_left_; }
  /// Gives memory back that a large frame took, if nothing stands in it. frame() is over.
  void trim();
  /// Bytes of memory held now.
  std::size_t memory() const { return capacity_; }
  /// True when whole or partial frames stand in the buffer, so that read() may make progress
  /// without the descriptor being readable.
  bool buffered() const { return begin_ != end_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  enum class State : std::uint8_t { kHeader, kHead, kSkippedHead, kPayload, kFailed };

  Result fail(absl::Status status);
  bool parse(Result& result);
  bool parse_header(Result& result);
  bool parse_head(Result& result);
  bool skip_head(Result& result);
  void skip_buffered();
  bool finish_head(Result& result);
  void take_buffered_payload();
  bool fill(ByteStream& stream, std::size_t& budget, Result& result);
  bool bounces() const;
  std::size_t gather(absl::InlinedVector<iovec, 8>& pieces);
  void gather_payload(absl::InlinedVector<iovec, 8>& pieces, std::size_t& direct);
  void add_to_sum(std::size_t bytes);
  void take_payload(const std::byte* from, std::size_t bytes);
  void place(std::size_t bytes);
  void make_room();
  /// What stands in the buffer keeps its place.
  void resize(std::size_t bytes);
  std::size_t buffered_bytes() const { return end_ - begin_; }

  State state_ = State::kHeader;
  Frame frame_;
  Fds pending_fds_;
  std::unique_ptr<std::byte, Free> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  ///< first byte not yet consumed
  std::size_t end_ = 0;
  std::size_t skip_left_ = 0;  ///< of a head that is discarded
  std::size_t payload_left_ = 0;
  absl::InlinedVector<iovec, 4> sink_;  ///< rest of the owner's pieces
  std::size_t sink_next_ = 0;
  Checksum* sum_ = nullptr;  ///< the owner's, of what goes to its pieces
  CopyWay way_ = CopyWay::kBySize;
  absl::Status failure_;
};

using ReadEvent = FrameReader::Event;
using ReadResult = FrameReader::Result;

}  // namespace larder
