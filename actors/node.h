#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "actors/config.h"
#include "actors/memory_room.h"

namespace larder {

/// A whole larderd in one object: store, actors, io threads, HTTP. What main and the tests start.
///
/// Starts in start(), serves until stop() or destruction; both join every thread. Not thread-safe.
class Node {
 public:
  using Log = std::function<void(const std::string&)>;

  /// Locks the runtime directory, re-adopts what stands there, listens. Errors name what is in the
  /// way: FAILED_PRECONDITION (a second daemon on the directory, a foreign format),
  /// PERMISSION_DENIED (directory not writable), UNAVAILABLE (port in use). `probe` tells what
  /// memory is left, to one thread; null: of this process.
  static absl::StatusOr<std::unique_ptr<Node>> start(const Config& config, Log log,
                                                     MemoryProbe probe = {});
  ~Node();

  void stop();
  /// Takes over `next` (resolved), the token file and the tenant file: keys that are live change at
  /// once, others are logged as needing a restart. Nothing changes on an error: one of the files is
  /// not right, or host_bytes has no room. From one thread.
  absl::Status reload(const Config& next);
  /// The audit file, after it was moved away.
  void reopen_files();
  /// Ports really used (0 was asked for).
  std::uint16_t tcp_port() const;
  std::uint16_t http_port() const;
  /// For tests: ends a shard's actor as a fault would; its supervisor starts another.
  void kill_shard(std::uint32_t shard);

 private:
  struct Impl;
  explicit Node(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace larder
