#pragma once

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

#include "actors/session_lookup.h"
#include "actors/tenant_use.h"
#include "store/mutex.h"

namespace larder {

/// Blocks pinned by name until a time, whatever becomes of the session that asked: administrators'
/// pins. Each is one lease on its entry, charged to the node's pin quota.
///
/// Any thread; one mutex, taken by pin, unpin and when a pin is due.
class PinTable {
 public:
  /// Takes over the lease of `held`, a block of `tenant` (which outlives the table). False (and the
  /// lease is the caller's still) when the pot's bounds do not allow it. A pinned block's time is
  /// prolonged, and the lease given back.
  bool pin(NodeStore& store, TenantUse& tenant, const HeldBlock& held, Time until,
           const SharedPot::Bounds& bounds);
  /// False when the key is not pinned.
  bool unpin(NodeStore& store, const BlockKey& key);
  void expire(NodeStore& store, Time now);
  std::size_t size() const;
  /// Bytes that explicit pins hold; requests take theirs from it too.
  SharedPot& pot() { return pot_; }
  const SharedPot& pot() const { return pot_; }

 private:
  struct Pin {
    HeldBlock held;
    Time until;
    TenantUse* tenant = nullptr;
  };
  void give_back(NodeStore& store, const Pin& pin);

  SharedPot pot_;
  /// No pin ends before; may be early. Read without the lock.
  std::atomic<Time> earliest_{Time::max()};
  mutable Mutex mutex_;
  absl::flat_hash_map<BlockKey, Pin> pins_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace larder
