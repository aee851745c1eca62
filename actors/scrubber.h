#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/status/status.h"

#include "actors/metrics.h"
#include "actors/shard_calls.h"
#include "store/node_store.h"

namespace larder {

/// Reads every committed block again, slowly and for ever, and puts those out of service whose
/// bytes are not what was committed: rot is found before somebody asks.
///
/// A thread of its own, a reader of the indexes like an io thread. A block is leased while it is
/// read, at full speed; the pause follows.
class Scrubber {
 public:
  struct Options {
    NodeStore* store = nullptr;  ///< these three outlive it
    ShardPort* shards = nullptr;
    NodeMetrics* metrics = nullptr;
    std::function<std::uint32_t()> mib_s;  ///< asked again and again; 0: pauses
    std::function<void(const std::string&)> log;
  };

  explicit Scrubber(Options options) : options_(std::move(options)) {}
  ~Scrubber() { stop(); }
  Scrubber(const Scrubber&) = delete;
  Scrubber& operator=(const Scrubber&) = delete;

  /// RESOURCE_EXHAUSTED when no more readers of the indexes can be registered.
  absl::Status start();
  void stop();

  /// One step of the thread: looks at entries behind the last one, until one was a block or enough
  /// were none. Returns the bytes that it read. For the thread, or a test without one, in a
  /// registered reader.
  std::uint64_t step();

 private:
  void run(QuiescenceDomain::Reader reader);
  void nap(Duration time);
  std::uint64_t check(Index& index, ShardId shard, EntryId id);
  void condemn(ShardId shard, const BlockKey& key);

  Options options_;
  std::uint32_t shard_ = 0;
  std::uint32_t entry_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace larder
