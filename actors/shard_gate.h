#pragma once

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"

#include "actors/shard_desk.h"
#include "store/mutex.h"

namespace larder {

/// Who is at a shard's desk: its actor, or an io thread that found nobody there.
///
/// What an io thread asks of a shard is mostly a few microseconds of work, and waking another
/// thread for it takes a hundred (see ARCHITECTURE.md, "Actors"): a small message is worked off
/// where it comes from, when the desk is free and nothing waits for the actor. So what one thread
/// sends still arrives in order, and one thread at a time writes the index.
///
///   closed --open()--> free --handle(), try_here()--> taken --> free --close()--> closed
///
/// One gate an actor: what a dead one had in its mailbox never comes, and the next has a new gate.
/// Thread-safe. try_here() never waits; handle() and close() wait for the one who is at the desk.
class ShardGate {
 public:
  ShardGate() = default;
  ShardGate(const ShardGate&) = delete;
  ShardGate& operator=(const ShardGate&) = delete;

  /// The desk may be used from now on, until close(). It outlives that.
  void open(ShardDesk* desk) ABSL_LOCKS_EXCLUDED(mutex_);
  void close() ABSL_LOCKS_EXCLUDED(mutex_);

  /// Before a message goes to the actor's mailbox; handled() once the actor is done with it.
  void sent() { waiting_.fetch_add(1, std::memory_order_relaxed); }
  void handled() { waiting_.fetch_sub(1, std::memory_order_release); }

  /// Runs `work` here and now, unless somebody is at the desk, a message waits, or it is closed.
  bool try_here(absl::FunctionRef<void(ShardDesk&)> work) ABSL_LOCKS_EXCLUDED(mutex_);
  /// The actor: runs `work` at its desk.
  void at_desk(absl::FunctionRef<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  ShardDesk* desk_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::atomic<std::uint64_t> waiting_{0};  ///< messages in the mailbox, or being handled
};

}  // namespace larder
