#pragma once

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

#include "actors/session_lookup.h"
#include "store/mutex.h"

namespace larder {

/// Blocks pinned by name until a time, whatever becomes of the session that asked: administrators'
/// pins. Each is one lease on its entry, charged to the node's pin quota.
///
/// Any thread; one mutex, taken by pin, unpin and when a pin is due.
class PinTable {
 public:
  /// Takes over the lease of `held`. False (and the lease is the caller's still) when it would
  /// exceed `quota` bytes together with what `pinned_bytes` counts. A pinned block's time is
  /// prolonged, and the lease given back.
  bool pin(NodeStore& store, const HeldBlock& held, Time until, std::uint64_t quota,
           std::atomic<std::uint64_t>& pinned_bytes);
  /// False when the key is not pinned.
  bool unpin(NodeStore& store, const BlockKey& key, std::atomic<std::uint64_t>& pinned_bytes);
  void expire(NodeStore& store, Time now, std::atomic<std::uint64_t>& pinned_bytes);
  std::size_t size() const;

 private:
  struct Pin {
    HeldBlock held;
    Time until;
  };
  /// No pin ends before; may be early. Read without the lock.
  std::atomic<Time> earliest_{Time::max()};
  mutable Mutex mutex_;
  absl::flat_hash_map<BlockKey, Pin> pins_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace larder
