#pragma once

#include <vector>

#include "client/buffers.h"
#include "client/operation.h"
#include "transport/wire.pb.h"

namespace larder {

/// What a batch that is got does the same over every transport: its frame, the reply's results, and
/// how it ends. How the bytes come is the derived classes'.
class Get : public Operation {
 public:
  struct Request {
    NamespaceId ns;
    std::uint64_t request = 0;
    bool verify = false;  ///< shm: check the checksums; a stream's are always checked
    bool copy = true;     ///< false: a view; `buffers` is empty and the lease is kept
    std::vector<Key> keys;
    BufferTable buffers;
  };

 protected:
  Get(Request request, Duration deadline, Mode transport)
      : Operation(request.keys.size(), deadline), request_(std::move(request)) {
    mode = transport;
  }

  absl::Status start(Link& link) override;
  /// The reply's results, one a key; nothing, and the operation finished, when it has none.
  std::vector<wire::GetResult> read_results(const FrameReader::Frame& frame);
  /// Any thread that works on it. The key whose bytes differ from their checksum is a miss.
  KeyStatus corrupt(std::size_t key);
  /// Counts and finishes. The daemon is asked to look at its own copies of what was corrupt.
  void end(Link* link);

  Request request_;
  std::vector<Key> corrupt_;
  Shared* shared_ = nullptr;
  std::uint64_t frame_ = 0;
};

}  // namespace larder
