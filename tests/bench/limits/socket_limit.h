#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"

#include "store/types.h"

namespace larder {

/// What the fastest simple program depends on: see fastest_socket().
struct SocketTuning {
  std::size_t chunk_bytes = 256 << 10;  ///< of one send or receive, and of a checksum's step
  /// Most under way to the receiver, and a quarter of it kept behind that by the sender: small ones
  /// stay in the cache. 0: the kernel's choice.
  int window_bytes = 0;
  /// Turns of an empty loop between polls: a poll locks the socket, and what arrives meanwhile is
  /// left to the poller to deliver.
  unsigned gap = 0;
};

/// The machine's own limit for moving blocks over a stream: two ends of one connection that poll
/// without sleeping, move the same bytes, compute the same checksums (XXH3-64 a block, chunk by
/// chunk while it is in the cache: the receiver of a get; both ends of a put) and keep as many
/// calls outstanding.
///
/// A peer thread plays the server. Borrows both areas, owns the connection and the thread. One
/// caller thread.
class SocketLimit {
 public:
  enum class Load : std::uint8_t {
    kGet,   ///< the peer sends a call's bytes for 16 bytes of request
    kPut,   ///< the caller sends a call's bytes, the peer answers 8 bytes
    kEcho,  ///< the caller sends `call_bytes`, the peer answers `reply_bytes`, no checksums
  };
  struct Options {
    Load load = Load::kGet;
    bool tcp = true;  ///< loopback TCP; else a unix stream
    std::size_t block_bytes = 0;
    std::size_t call_bytes = 0;   ///< a multiple of block_bytes
    std::size_t reply_bytes = 8;  ///< kEcho
    unsigned depth = 1;           ///< calls outstanding
    SocketTuning tuning = {};     ///< of TCP
    std::span<std::byte> near;    ///< the caller's area, at least call_bytes
    std::span<std::byte> far;     ///< the peer's
    Time (*clock)() = nullptr;
  };

  /// UNAVAILABLE when the connection cannot be made.
  static absl::StatusOr<std::unique_ptr<SocketLimit>> start(const Options& options);
  ~SocketLimit();
  SocketLimit(const SocketLimit&) = delete;
  SocketLimit& operator=(const SocketLimit&) = delete;

  /// The peer polls from now on, or sleeps: it would take a core from what is measured against it.
  void let_peer(bool poll);
  /// With a peer that polls: makes calls for `duration`, at least one and at most `calls_max`; each
  /// call's time from its request to its end is added to `us`. Answers the number of calls.
  std::uint64_t run(Duration duration, std::uint64_t calls_max, std::vector<float>& us);
  std::string name() const;

 private:
  SocketLimit(const Options& options, int near_fd, int far_fd);
  void serve();
  bool serve_one(std::size_t* at);
  void begin_call();
  void end_call();
  enum class Sums : bool { kNone, kMake };
  bool send_call(int fd, std::span<const std::byte> bytes, Sums sums) const;
  bool receive_call(int fd, std::span<std::byte> bytes, Sums sums,
                    const std::atomic<bool>* busy = nullptr) const;
  bool send_all(int fd, std::span<const std::byte> bytes) const;
  bool receive_all(int fd, std::span<std::byte> bytes,
                   const std::atomic<bool>* busy = nullptr) const;

  Options options_;
  int near_fd_;
  int far_fd_;
  std::size_t sent_at_ = 0;
  std::size_t received_at_ = 0;
  std::atomic<bool> busy_{false};
  std::thread peer_;
};

}  // namespace larder
