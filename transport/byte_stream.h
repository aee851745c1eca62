#pragma once

#include <span>
#include <string>

#include <sys/uio.h>

#include "transport/socket.h"

namespace larder {

/// The stream under frames: a socket as it is, or one that is encrypted. Not thread-safe; borrows
/// the descriptor.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// As receive_message(): what is there now, into `pieces` in order.
  virtual IoResult receive(std::span<const iovec> pieces, Fds& fds) = 0;
  /// As send_message(): takes what it can now; `bytes` of `pieces` are not read again.
  virtual IoResult send(std::span<const iovec> pieces, std::span<const int> fds) = 0;
  /// Hands the kernel what send() took and kept; kDone when nothing is left.
  virtual IoResult flush() { return {}; }
  /// flush() has something to do when the descriptor is writable.
  virtual bool unsent() const { return false; }
  /// receive() may have something although the descriptor is not readable.
  virtual bool pending() const { return false; }
  /// Why it failed, beyond errno; may be empty.
  virtual std::string trouble() const { return {}; }
};

/// A socket as it is.
class SocketStream : public ByteStream {
 public:
  explicit SocketStream(int fd) : fd_(fd) {}
  IoResult receive(std::span<const iovec> pieces, Fds& fds) override {
    return receive_message(fd_, pieces, fds);
  }
  IoResult send(std::span<const iovec> pieces, std::span<const int> fds) override {
    return send_message(fd_, pieces, fds);
  }

 private:
  int fd_;
};

}  // namespace larder
