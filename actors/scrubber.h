#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "absl/status/status.h"

#include "actors/node_context.h"
#include "store/quiescence.h"

namespace larder {

/// Reads every committed block again, slowly and for ever, and puts those out of service whose
/// bytes are not what was committed: rot is found before somebody asks. Suspects come first, and
/// also when the rate is 0.
///
/// A thread of its own, a reader of the indexes like an io thread. A block is leased while it is
/// read, at full speed; the pause follows.
class Scrubber {
 public:
  /// `node` outlives it; its configuration has the rate.
  explicit Scrubber(NodeContext& node) : node_(node) {}
  ~Scrubber() { stop(); }
  Scrubber(const Scrubber&) = delete;
  Scrubber& operator=(const Scrubber&) = delete;

  /// RESOURCE_EXHAUSTED when no more readers of the indexes can be registered.
  absl::Status start();
  void stop();

  /// One step of the thread: a suspect, or entries behind the last one until one was a block or
  /// enough were none. Returns the bytes that it read. For the thread, or a test without one, in a
  /// registered reader.
  std::uint64_t step();

 private:
  void run(QuiescenceDomain::Reader reader);
  void nap(Duration time);
  std::uint64_t next_of_round();
  std::uint64_t check(const LocatedKey& at, EntryId id, const char* found_by);

  NodeContext& node_;
  std::uint32_t shard_ = 0;
  std::uint32_t entry_ = 0;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::atomic<bool> stopping_{false};  ///< set under mutex_
  std::thread thread_;
};

}  // namespace larder
