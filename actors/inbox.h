#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "actors/shard_calls.h"
#include "store/mutex.h"
#include "transport/socket.h"

namespace larder {

class IoThread;

/// What other threads hand to an io thread: answers of shards and of the tenant registry, new
/// connections, orders. Many producers, one consumer.
///
/// Bounded by construction: an answer for each call in flight (limits::kSessionBatchesMax a
/// session). A producer pays for a wake-up only when the consumer sleeps.
class Inbox {
 public:
  using Task = std::function<void(IoThread&)>;
  /// An answer, an order, or an abort that died with its shard.
  using Item = std::variant<std::shared_ptr<ShardCall>, Task, std::shared_ptr<const AbortNote>>;

  Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox();

  /// Any thread. Nothing is taken any more while it is destroyed: what is in it may post.
  void post(Item item);
  /// Readable when something was posted while the consumer slept.
  int event_fd() const { return event_.get(); }

  // -- the consumer ------------------------------------------------------------------------------
  std::vector<Item> take();
  bool empty() const { return !pending_.load(std::memory_order_acquire); }
  /// Announces sleep; false when something is here already and sleeping would miss it.
  bool prepare_sleep();
  /// After the sleep: resets the descriptor.
  void awake();

 private:
  Fd event_;
  Mutex mutex_;
  std::vector<Item> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> pending_{false};
  std::atomic<bool> sleeping_{false};
};

}  // namespace larder
