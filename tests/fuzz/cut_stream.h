// A fuzzer's bytes as a stream: cut into pieces, with descriptors between them, and ended in one of
// the ways in which a socket ends. Without system calls, so that an input costs microseconds.

#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "store/assert.h"
#include "transport/byte_stream.h"

namespace larder::fuzz {

/// As on a unix socket, a receive ends before the next byte that a descriptor came with; so which
/// descriptors are here when a frame is whole does not depend on the pieces.
class CutStream : public ByteStream {
 public:
  enum class End : std::uint8_t { kBlocked, kClosed, kFailed, kTroubled };
  struct Cut {
    std::size_t piece = 1 << 20;  ///< bytes a receive, at most
    bool pauses = false;          ///< nothing is there at every other receive
    std::size_t fd_every = 0;     ///< bytes between descriptors; 0: none come
    std::size_t zeros = 0;        ///< that many more follow
    End end = End::kBlocked;
  };

  CutStream(std::span<const std::byte> bytes, const Cut& cut) : bytes_(bytes), cut_(cut) {}

  std::size_t left() const { return bytes_.size() + cut_.zeros - at_; }

  IoResult receive(std::span<const iovec> pieces, Fds& fds) override {
    std::size_t most = std::min(cut_.piece, left());
    if (most == 0) return ended();
    if (cut_.pauses && (paused_ = !paused_)) return {.state = IoState::kBlocked};
    if (cut_.fd_every > 0) {
      if (at_ % cut_.fd_every == 0) fds.emplace_back(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
      most = std::min(most, cut_.fd_every - at_ % cut_.fd_every);
    }
    IoResult got{.state = IoState::kDone};
    for (const iovec& piece : pieces) {
      const std::size_t n = std::min(piece.iov_len, most - got.bytes);
      take(static_cast<std::byte*>(piece.iov_base), n);
      got.bytes += n;
    }
    return got;
  }
  IoResult send(std::span<const iovec> /*pieces*/, std::span<const int> /*fds*/) override {
    LARDER_ASSERT(false);
    return {};
  }
  std::string trouble() const override { return cut_.end == End::kTroubled ? "bad record" : ""; }

 private:
  IoResult ended() const {
    if (cut_.end == End::kBlocked) return {.state = IoState::kBlocked};
    if (cut_.end == End::kClosed) return {.state = IoState::kClosed};
    return {.state = IoState::kFailed, .error = ECONNRESET};
  }

  void take(std::byte* to, std::size_t n) {
    const std::size_t real = at_ < bytes_.size() ? std::min(n, bytes_.size() - at_) : 0;
    if (real > 0) std::memcpy(to, bytes_.data() + at_, real);
    std::fill_n(to + real, n - real, std::byte{0});
    at_ += n;
  }

  const std::span<const std::byte> bytes_;
  const Cut cut_;
  std::size_t at_ = 0;
  bool paused_ = false;
};

}  // namespace larder::fuzz
