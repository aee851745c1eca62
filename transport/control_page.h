#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"

#include "store/types.h"
#include "transport/mapping.h"
#include "transport/socket.h"

namespace larder {

/// The words by which a client and the daemon agree whether a put through shared memory happened:
/// `id << 2 | state`, limits::kControlWords of them in a sealed memfd mapped writable by both.
///
///   0 idle --client: activate--> 1 active --server: commit--> 2 committed
///                                   |------client: cancel---> 3 cancelled
///
/// Each end trusts only what its own compare-and-swap returned. Move-only; words may be used from
/// any thread. Wait-free.
class ControlPage {
 public:
  enum class State : std::uint8_t { kIdle = 0, kActive = 1, kCommitted = 2, kCancelled = 3 };

  /// Server: a new page, all idle, sealed against every change of size.
  static absl::StatusOr<ControlPage> create();
  /// Client: maps what the server sent. FAILED_PRECONDITION when it is not a sealed page of the
  /// right size.
  static absl::StatusOr<ControlPage> map(Fd fd);

  int fd() const { return fd_.get(); }

  /// Client: before the put is sent. The word must be free. `id` below 2^62.
  void activate(std::uint32_t word, std::uint64_t id);
  /// Client: true when the put of `id` will not happen; false when it was committed.
  bool cancel(std::uint32_t word, std::uint64_t id);
  /// Client: when the reply came.
  void clear(std::uint32_t word);

  /// Server: after the copy, before publication. True: publish. False: cancelled (or never active).
  bool commit(std::uint32_t word, std::uint64_t id);

  /// Either: whether the word still says that `id` is active (a hint while copying).
  bool is_active(std::uint32_t word, std::uint64_t id) const;

 private:
  ControlPage(Fd fd, Mapping memory) : fd_(std::move(fd)), memory_(std::move(memory)) {}
  std::atomic<std::uint64_t>& at(std::uint32_t word) const;

  Fd fd_;
  Mapping memory_;
};

/// A new memfd of `bytes`, close-on-exec and sealed against shrinking and growing.
absl::StatusOr<Fd> make_sealed_memfd(const char* name, Bytes bytes);

}  // namespace larder
