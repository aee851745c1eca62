#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "store/eviction_policy.h"
#include "store/index.h"
#include "store/node_store.h"
#include "store/types.h"

namespace larder {

enum class ReserveOutcome : std::uint8_t {
  kReserved,      ///< the slot is the caller's to fill, then Index::commit or Shard::abort
  kPresent,       ///< committed already
  kInFlight,      ///< another writer fills it
  kSizeMismatch,  ///< there with another length
  kRefused,       ///< by admission
  kNoSlot,        ///< no slot free now and none to evict here; may be asked again
  kFull,          ///< the index has no entry left
};

/// One block to reserve: the caller fills the first part, the shard the second.
struct ReserveItem {
  BlockKey key;
  TenantId tenant;
  BlockHash parent;
  BlockHash anchor;
  std::uint64_t engine_hash = 0;
  WriterId writer;
  std::int64_t expiry_wall_ns = 0;
  std::uint32_t position = 0;
  Bytes length;
  Bytes slot_bytes;  ///< of the pool to take from: slot_bytes(group, length)
  std::uint32_t ranks = 1;

  ReserveOutcome outcome = ReserveOutcome::kNoSlot;
  EntryId entry = kNoEntry;
  std::uint64_t entry_generation = 0;
  SlotRef slot;
};

struct TouchItem {
  BlockKey key;
  Stamp stamp;
};

enum class ClaimOutcome : std::uint8_t { kClaimed, kPresent, kPending };

/// What one shard's actor runs: the only writer of its index and the only caller of its policy.
///
/// Free of CAF, threads and clocks. Not thread-safe. The Index outlives it: a new Shard on an old
/// index (rebuild()) has lost nothing committed.
class Shard {
 public:
  using PolicyFactory = std::function<std::unique_ptr<EvictionPolicy>()>;

  /// `store` outlives the shard; `id` names the index in it.
  Shard(ShardId id, NodeStore& store, PolicyFactory make_policy);
  ~Shard();

  // -- requests -----------------------------------------------------------------------------------
  void on_request(const RequestContext& context);
  /// Forgets the request after it. `touches` are suffix-first.
  void on_request_end(RequestId request, std::uint32_t output_tokens,
                      std::span<const TouchItem> touches);
  void touch(std::span<const TouchItem> touches, std::optional<RequestId> request);

  // -- writes -------------------------------------------------------------------------------------
  /// Charges the ledger, evicts from this shard while it is the cheapest and the ledger is over,
  /// and inserts entries in kFilling. Items answered already (outcome != kNoSlot) are left alone.
  void reserve(std::span<ReserveItem> items, std::optional<RequestId> request, Time now);
  /// Takes a reservation back (error, cancel, dead session). Ignores one that is gone.
  void abort(EntryId entry, std::uint64_t entry_generation);
  ClaimOutcome claim(const BlockKey& key, SessionId session, Time deadline);
  void drop_claims(SessionId session);
  /// Unlinks at once, frees at zero leases. False when absent (or not committed).
  bool erase(const BlockKey& key, EraseCause cause);
  /// Puts a block found corrupt out of service: a miss from now on, its slot never reused.
  void quarantine(const BlockKey& key);

  // -- capacity -----------------------------------------------------------------------------------
  /// Evicts while the ledger is over capacity and this shard's victim is the cheapest of the node.
  /// Returns true when it stopped because another shard is cheaper (the caller tells that shard).
  bool evict_over(Time now);
  /// Evicts up to `count` blocks whose slots belong to (tenant, slot_bytes). Returns how many.
  std::uint32_t evict_from_pool(TenantId tenant, Bytes slot_bytes, std::uint32_t count, Time now);
  /// Evicts what of this shard stands in `slab`, `limit` slots from `*cursor` on; true when the
  /// whole slab was looked at. Leased blocks stay (the caller looks again or picks another slab).
  bool evict_slab(SlabId slab, std::uint32_t* cursor, std::uint32_t limit);

  // -- upkeep -------------------------------------------------------------------------------------
  /// Expires claims and TTLs, frees removed blocks whose leases ended, grows the table; bounded.
  void tick(Time now, std::int64_t wall_ns);
  /// Re-creates policy state and child counts from index and slot headers, after the actor died.
  void rebuild();
  /// Re-adopts a committed block that a scan of headers found, in order of `stamp`. The slot is
  /// charged. False: the key is there already, or the table is full (the slot is freed).
  bool adopt(const SlotRef& slot, TenantId tenant, std::uint32_t ranks);

  struct Counters {
    std::uint64_t inserts = 0, hits = 0, evictions = 0, removals = 0, expirations = 0, aborts = 0;
    std::uint64_t refused = 0, quarantined = 0, orphans = 0;
  };
  const Counters& counters() const;
};

}  // namespace larder
