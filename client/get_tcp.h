#pragma once

#include <vector>

#include "client/get.h"
#include "transport/guarded_copy.h"

namespace larder {

/// A get over a stream: the reply says which keys follow; their chunks are received straight into
/// the caller's buffers and their checksums made as they come. Given up, what still comes goes to
/// scratch memory.
class TcpGet final : public Get {
 public:
  TcpGet(Request request, Duration deadline) : Get(std::move(request), deadline, Mode::kStream) {}

  void on_reply(Link& link, FrameReader::Frame& frame) override;
  void on_data(Link& link, FrameReader::Frame& frame) override;
  void on_payload(Link& link) override;
  void give_up(Link* link, absl::StatusCode code, std::string message) override;

 private:
  /// Bytes of a key that have come; `open` until its last chunk.
  struct Progress {
    std::uint64_t received = 0;
    std::uint64_t length = 0;
    std::uint64_t checksum = 0;
    bool open = false;
  };

  void take(std::size_t key, std::uint64_t length);
  void close_key(std::size_t key, KeyStatus status);
  void end_if_complete(Link& link);
  void fail_stream(Link& link);

  std::vector<Progress> progress_;
  wire::ChunkRecord chunk_;
  std::uint64_t chunk_bytes_ = 0;
  std::size_t open_ = 0;
  /// Keys come one after the other: one checksum is under way.
  std::size_t current_ = 0;
  Checksum sum_;
};

}  // namespace larder
