#pragma once

#include <vector>

#include "client/buffers.h"
#include "client/operation.h"
#include "transport/guarded_copy.h"

namespace larder {

/// A put over a stream: small batches travel inside the request; of larger ones the daemon first
/// says which keys it wants, and their chunks are sent from the caller's memory within its credits,
/// each one's checksum made right before it is sent, while it is in the cache.
/// Given up, the chunk under way is finished with zeros and the rest is not read.
class TcpPut final : public Operation {
 public:
  struct Request {
    NamespaceId ns;
    std::uint64_t request = 0;
    std::vector<Key> keys;  ///< `length` set
    BufferTable buffers;
  };

  TcpPut(Request request, Duration deadline)
      : Operation(request.keys.size(), deadline), request_(std::move(request)) {
    mode = Mode::kStream;
  }

  absl::Status start(Link& link) override;
  void on_reply(Link& link, FrameReader::Frame& frame) override;
  void on_data(Link& link, FrameReader::Frame& frame) override;
  bool send_more(Link& link) override;
  void give_up(Link* link, absl::StatusCode code, std::string message) override;

 private:
  absl::Status send_inline(Link& link, std::vector<std::byte> head);
  bool send_chunk(Link& link, std::uint64_t chunk_max);

  Request request_;
  Shared* shared_ = nullptr;
  std::uint64_t frame_ = 0;
  bool streaming_ = false;
  std::vector<std::uint32_t> wanted_;
  std::size_t next_ = 0;      ///< into wanted_
  std::uint64_t offset_ = 0;  ///< in that key
  Checksum sum_;
  std::uint64_t sent_ = 0;
  std::uint64_t taken_ = 0;
};

/// Parts of a layer-by-layer put over a stream: frames of at most one chunk of payload, each piece
/// with its checksum, a few frames at a time.
class TcpPart final : public Operation {
 public:
  struct Piece {
    std::uint32_t key = 0;
    std::uint64_t offset = 0;
    iovec memory{};
  };

  /// `pieces` sorted by key, then offset.
  TcpPart(std::uint64_t put, std::vector<Piece> pieces, Duration deadline)
      : Operation(0, deadline), put_(put), pieces_(std::move(pieces)) {
    mode = Mode::kStream;
  }

  absl::Status start(Link& link) override;
  void on_reply(Link& link, FrameReader::Frame& frame) override;
  void give_up(Link* link, absl::StatusCode code, std::string message) override;

 private:
  absl::Status send_next(Link& link);

  std::uint64_t put_ = 0;
  std::vector<Piece> pieces_;
  std::size_t next_ = 0;
  std::uint64_t offset_ = 0;  ///< in that piece
  std::size_t outstanding_ = 0;
};

}  // namespace larder
