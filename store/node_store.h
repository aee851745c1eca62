#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/index.h"
#include "store/ledger.h"
#include "store/quiescence.h"
#include "store/slab_store.h"
#include "store/slot_pool.h"
#include "store/types.h"

namespace larder {

/// All that a node's shards and io threads share: slabs, free slots, the capacity ledger, the
/// shards' indexes and the values of their cheapest victims. Outlives every actor.
struct NodeStore {
  struct Options {
    std::string runtime_dir;  ///< exists, ours, locked by the caller
    Bytes capacity;
    std::uint32_t shards = 1;
  };

  explicit NodeStore(const Options& options);

  std::uint32_t shards() const { return static_cast<std::uint32_t>(indexes.size()); }

  QuiescenceDomain domain;
  Ledger ledger;
  SlabStore slabs;
  SlotPools pools;
  std::vector<std::unique_ptr<Index>> indexes;
  /// Value of each shard's cheapest victim; infinity when it has none.
  std::vector<std::atomic<double>> cheapest;
  /// Request end sequence: the high part of every Stamp.
  std::atomic<std::uint64_t> sequence{1};
};

}  // namespace larder
