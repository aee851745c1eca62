#pragma once

#include <memory>

#include "store/slab_store.h"
#include "store/slot_pool.h"

namespace larder {

/// A slot between its pool and an entry: its generation is raised, nothing is charged for it and no
/// entry names it. Taken by the shard that makes the entry, or by the io thread that asks for one
/// and fills the slot meanwhile: the answer takes as long as copying half a megabyte. The shard
/// keeps it for the entry; if none does, the slot is its pool's again when the last of the two who
/// know it (who fills it, who decides) lets go.
///
/// Held by shared_ptr on both sides; the pools outlive it.
class LentSlot {
 public:
  /// Null when the pool has no free slot. Any thread.
  static std::shared_ptr<LentSlot> lend(SlotPools& pools, const SlabStore& slabs, TenantId tenant,
                                        Bytes slot_bytes) {
    SlotRef slot;
    if (!pools.take(tenant, slot_bytes, &slot)) return nullptr;
    slabs.begin_reuse(slot);
    return std::make_shared<LentSlot>(pools, slot);
  }

  LentSlot(SlotPools& pools, const SlotRef& slot) : pools_(pools), slot_(slot) {}
  LentSlot(const LentSlot&) = delete;
  LentSlot& operator=(const LentSlot&) = delete;
  ~LentSlot() {
    if (!kept_) pools_.give(slot_);
  }

  const SlotRef& slot() const { return slot_; }
  /// The shard alone, once: the slot belongs to an entry now.
  void keep() { kept_ = true; }

 private:
  SlotPools& pools_;
  const SlotRef slot_;
  bool kept_ = false;
};

}  // namespace larder
