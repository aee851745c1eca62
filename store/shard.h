#pragma once

#include <bitset>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"

#include "store/eviction_policy.h"
#include "store/found_blocks.h"
#include "store/index.h"
#include "store/lent_slot.h"
#include "store/node_store.h"
#include "store/policy_change.h"
#include "store/types.h"

namespace larder {

enum class ReserveOutcome : std::uint8_t {
  kReserved,      ///< the slot is the caller's to fill, then Index::commit or Shard::abort
  kPresent,       ///< committed already
  kInFlight,      ///< another writer fills it
  kSizeMismatch,  ///< there with another length
  kRefused,       ///< by admission
  /// No slot free now and none to evict here. May be asked again: when another pool gives up a
  /// slab, or, while free slots are left, when what takes up all of capacity (leased, being filled,
  /// or another shard's and cheaper) is gone.
  kNoSlot,
  kFull,      ///< the index has no entry left
  kTooLarge,  ///< larger than the node's capacity or its tenant's quota: nothing makes room
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
  /// A slot of that pool which the asker is filling already, or null: then the shard takes one.
  std::shared_ptr<LentSlot> lent;

  ReserveOutcome outcome = ReserveOutcome::kNoSlot;
  EntryId entry = kNoEntry;
  std::uint64_t entry_generation = 0;
  SlotRef slot;
};

struct TouchItem {
  BlockKey key;
  Stamp stamp;
};

/// A slab that holds a cheap victim.
struct SlabVictim {
  SlabId slab;
  double value = 0;
};

/// Shards of a node, by number.
using ShardSet = std::bitset<limits::kShardsMax>;

enum class ClaimOutcome : std::uint8_t { kClaimed, kPresent, kPending };

/// What one shard's actor runs: the only writer of its index and the only caller of its policy.
///
/// Tells the policy of units: one position of one group over all ranks, named by the EntryId of the
/// unit's leader; window and state blocks of one boundary share a unit. A unit is evicted whole;
/// what erase() leaves of one is tracked anew under another leader, first to go. Of an evicted unit
/// the leader's entry stays as a ghost. There is one policy a
/// tenant; the shard's cheapest victim is the cheapest of them. A tenant over its quota gives up
/// its own cheapest, before the node's is looked for.
///
/// Free of CAF, threads and clocks. Not thread-safe. The Index outlives it: a new Shard on an old
/// index (rebuild()) has lost nothing committed.
class Shard {
 public:
  /// `store` outlives the shard; `id` names the index in it.
  Shard(ShardId id, NodeStore& store, PolicyFactory make_policy);
  ~Shard();

  // -- requests -----------------------------------------------------------------------------------
  void on_request(const RequestContext& context);
  /// Forgets the request after it. `touches` are suffix-first.
  void on_request_end(RequestId request, std::uint32_t output_tokens,
                      std::span<const TouchItem> touches);
  /// A hit for each unit, once a sequence (the stamps' high part): one call of a client.
  void touch(std::span<const TouchItem> touches, std::optional<RequestId> request);

  // -- writes -------------------------------------------------------------------------------------
  /// Charges the budgets of the tenant and of the node, evicts from this shard while it has the
  /// cheapest victim of one that is over, and inserts entries in kFilling, headers prepared: who
  /// fills the slot calls SlabStore::seal, then Index::commit. Takes over a claim, whoever has it.
  /// Items answered already (outcome != kNoSlot) are left alone.
  void reserve(std::span<ReserveItem> items, std::optional<RequestId> request, Time now);
  /// Whether reserve() is likely to be done in some microseconds: not while many blocks that cannot
  /// leave stand before those that can, and are looked at.
  bool reserves_quickly(Time now) const { return now >= slow_until_; }
  /// Takes a reservation back (error, cancel, dead session). Ignores one that is gone.
  void abort(EntryId entry, std::uint64_t entry_generation);
  /// Marks an absent key as being computed; renews a claim of the same session. A full index is
  /// answered kClaimed too: nobody is to wait for it.
  ClaimOutcome claim(const BlockKey& key, SessionId session, Time deadline);
  /// Ends claims of the session, `limit` of them at most; true when none is left.
  bool drop_claims(SessionId session, std::uint32_t limit);
  /// Unlinks at once, frees at zero leases. False when absent (or not committed).
  bool erase(const BlockKey& key, EraseCause cause);
  /// Puts a block found corrupt out of service: a miss from now on, its slot never reused.
  void quarantine(const BlockKey& key);

  // -- capacity -----------------------------------------------------------------------------------
  /// Evicts while a tenant is over its quota, or the node over its capacity, and this shard has the
  /// cheapest victim of it. Returns the shards that have a cheaper one: the caller tells them.
  ShardSet evict_over(Time now);
  /// Evicts up to `count` blocks whose slots belong to (tenant, slot_bytes). Returns how many.
  std::uint32_t evict_from_pool(TenantId tenant, Bytes slot_bytes, std::uint32_t count, Time now);
  /// The slab of the cheapest victim whose slot is not of (tenant, slot_bytes), and its value.
  std::optional<SlabVictim> cheapest_slab(TenantId tenant, Bytes slot_bytes, Time now);
  /// Evicts what of this shard stands in `slab`, `limit` slots from `*cursor` on; true when the
  /// whole slab was looked at. Leased blocks stay (the caller looks again or picks another slab).
  bool evict_slab(SlabId slab, std::uint32_t* cursor, std::uint32_t limit);

  // -- upkeep -------------------------------------------------------------------------------------
  /// Expires claims and TTLs, frees removed blocks whose leases ended, grows the table; bounded.
  void tick(Time now, std::int64_t wall_ns);
  /// What only ticks see to: claims and blocks that expire, removed blocks that are still leased,
  /// room that is looked for.
  bool upkeep_due() const;
  /// Re-creates policy state, units, claims and child counts from index and slot headers, after the
  /// actor died. Call on a new Shard, before anything else.
  void rebuild();
  /// The same in steps, each of the work of `limit` entries: true when there is more. Until it says
  /// false, nothing else is called; readers and writers of the index's entries may go on.
  bool rebuild_some(std::uint32_t limit);
  /// Lets policies of another kind decide from now on: content, claims and requests stay. The new
  /// ones are told of the blocks by the order of their last uses, in steps of rebuild_some(), until
  /// which is false nothing else is called. Returns the old ones: to free them takes long.
  std::vector<std::unique_ptr<EvictionPolicy>> change_policy(PolicyChange change);
  /// Re-adopts a committed block that NodeStore::open() found, in that order. The slot is charged.
  /// False: the key is there already, or the table is full (the slot is freed).
  bool adopt(const SlotRef& slot, TenantId tenant);
  /// Calls `fn` for the committed blocks among `limit` entries from `cursor` on. Returns where to
  /// go on, 0 at the end.
  std::uint32_t scan(std::uint32_t cursor, std::uint32_t limit,
                     absl::FunctionRef<void(EntryId, const Entry&, const SlotHeader&)> fn);

  struct Counters {
    std::uint64_t inserts = 0, hits = 0, evictions = 0, removals = 0, expirations = 0, aborts = 0;
    std::uint64_t refused = 0, quarantined = 0;
    std::uint64_t orphans = 0;  ///< inserted without their parent in this shard
    std::uint64_t adopted = 0;
    // Of `evictions`; the others left because the node was full.
    std::uint64_t evictions_for_slot = 0;  ///< no slot of a size was free
    std::uint64_t evictions_for_slab = 0;  ///< their slab was emptied, to serve another size
    friend bool operator==(const Counters&, const Counters&) = default;
  };
  const Counters& counters() const { return counters_; }
  std::uint64_t claims() const { return claims_.size(); }
  std::uint64_t ghosts() const { return index_.ghosts(); }

 private:
  struct OfTenant {
    std::unique_ptr<EvictionPolicy> policy;
    Budget* budget = nullptr;  ///< of the store
  };
  /// What is over, and whose blocks may leave for it.
  struct Scope {
    Budget& budget;
    EvictionPolicy* only;  ///< null: those of every tenant
  };
  /// Where room for a block was found.
  enum class Room : std::uint8_t { kHere, kElsewhere, kNowhere };
  using Skip = absl::FunctionRef<bool(PolicyId)>;

  // shard.cc
  OfTenant& of_tenant(TenantId tenant);
  EvictionPolicy& policy_of(TenantId tenant) { return *of_tenant(tenant).policy; }
  const RequestContext* context_of(std::optional<RequestId> request) const;
  Stamp stamp_now(std::uint32_t position) const;
  void touch_all(std::span<const TouchItem> touches, const RequestContext* context);

  // shard_units.cc
  SlotHeader& header_of(const Entry& entry) const;
  EntryId find_parent(const SlotHeader& header) const;
  EntryId find_in_unit(const BlockKey& key, std::uint32_t ranks,
                       absl::FunctionRef<bool(EntryId)> wanted) const;
  EntryId find_sibling(const BlockKey& key, std::uint32_t ranks) const;
  Bytes unit_bytes(const BlockKey& key, Bytes slot_bytes, std::uint32_t ranks) const;
  void track(EntryId id, Bytes slot_bytes, Stamp stamp, const RequestContext* context, Time now);
  void lead_unit(EntryId id, Bytes size, Stamp stamp, const RequestContext* context, Time now);
  PolicyInsert described(EntryId id, Bytes size, Stamp stamp) const;
  void tell_again(EntryId leader, Bytes slot_bytes, Stamp stamp, Time now);
  void untrack(EntryId id, EraseCause cause);
  void count_child(const SlotHeader& header, bool returning);
  EntryId find_known_parent(BlockKey key, const BlockHash& parent) const;
  void add_child(const BlockKey& key, const BlockHash& parent);
  void forget_child(const SlotHeader& header);
  template <class Fn>
  bool all_of_unit(EntryId first, Fn&& fn) const;

  // shard_ghosts.cc
  /// What is remembered of a block, or of its unit's ghost.
  struct Memory {
    std::uint32_t uses = 0;
    UseTick last_use;
  };
  Memory remembered(const BlockKey& key, std::uint32_t ranks, EntryId own) const;
  void recall(const Memory& memory, Time now, PolicyInsert& insert) const;
  void inherit(EntryId id, const Memory& memory, Time now);
  void note_use(EntryId id, const RequestContext* context);
  void remember_ghost(EntryId id);
  void keep_ghost(EntryId id);
  void remember_refused(const ReserveItem& item, EntryId known, PolicyInsert& refused,
                        const RequestContext* context, Time now);
  void trim_ghosts(std::size_t limit);
  std::size_t ghosts_max() const;

  // shard_reserve.cc
  EntryId find_unexpired(const BlockKey& key);
  ReserveOutcome reserve_one(ReserveItem& item, const RequestContext* context, Time now);
  bool answer_present(ReserveItem& item, EntryId found) const;
  bool admitted(const ReserveItem& item, EntryId found, const RequestContext* context, Time now);
  double cheapest_for(const ReserveItem& item, Time now);
  bool charge(const ReserveItem& item, Time now);
  bool has_room(const Scope& scope, Bytes slot_bytes, Time now);
  bool take_slot(ReserveItem& item, Time now);
  EntryId enter(const ReserveItem& item, EntryId known);
  void end_claim(EntryId id);
  void forget_claim(EntryId id);

  // shard_evict.cc
  /// Units evicted in one call: a step stays short, the next batch or tick goes on.
  static constexpr std::uint32_t kEvictionsStep = 1'024;
  std::optional<Victim> best_victim(Time now, Skip skip);
  bool has_more(const EvictionPolicy* only) const;
  Room make_room(const Scope& scope, Time now, std::uint32_t& steps, ShardSet& cheaper);
  bool evictable(PolicyId unit) const;
  bool evict_unit(PolicyId unit);
  void publish_cheapest(Time now);
  Budget& budget_of(const Entry& entry) const;
  void free_slot(EntryId id);
  void free_block(EntryId id);
  bool hide(EntryId id, EraseCause cause, SlotRef* slot);

  // shard_rebuild.cc
  void remember_entries(std::uint32_t limit);
  bool leads_unit(EntryId id) const;
  Bytes slot_bytes_of(EntryId id) const;
  std::uint32_t age_of(EntryId id) const;
  bool remember_entry(EntryId id);

  // shard_upkeep.cc
  void expire_claims(Time now);
  void expire_blocks(std::int64_t wall_ns);
  static constexpr std::size_t kRemovedStep = 1'024;
  void free_removed(std::size_t limit);

  ShardId id_;
  NodeStore& store_;
  Index& index_;
  PolicyFactory make_policy_;
  absl::flat_hash_map<TenantId, OfTenant> tenants_;
  absl::flat_hash_map<RequestId, RequestContext> requests_;
  absl::btree_set<std::pair<Time, EntryId>> claims_;
  absl::btree_set<std::pair<SessionId, EntryId>> claims_of_;  ///< the same, by session
  /// In order of eviction; one revived since is skipped (its generation differs).
  std::deque<std::pair<EntryId, std::uint32_t>> ghosts_;
  std::size_t removed_cursor_ = 0;
  std::vector<EntryId> removed_;  ///< unlinked, waiting for their last lease
  absl::flat_hash_set<std::uint32_t> touched_;
  std::uint64_t expiring_ = 0;  ///< blocks that have an expiry
  std::int64_t wall_ns_ = 0;    ///< of the last tick
  std::uint32_t expiry_cursor_ = 0;
  mutable std::uint32_t looks_ = 0;     ///< at blocks that may leave, in this reserve()
  Time slow_until_{};                   ///< for a while after many
  std::uint32_t steps_ = 0;             ///< evictions that this reserve() may still take
  std::vector<const Budget*> held_;     ///< quotas in which this reserve() found nothing to evict
  std::uint32_t rebuilt_to_ = 0;        ///< entries that rebuild_some() has looked at
  FoundBlocks found_;                   ///< by it, and not tracked yet
  std::optional<PolicyChange> change_;  ///< under way
  Counters counters_;
};

}  // namespace larder
