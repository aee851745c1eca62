#include "store/index.h"

#include <algorithm>
#include <bit>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "store/assert.h"

namespace larder {

namespace {

constexpr std::uint32_t kInitialBits = 12;
/// Slots of the old table looked at for each write: a table of the same size is done when a
/// sixteenth of it is written anew.
constexpr std::uint32_t kMigrateSlots = 16;
constexpr std::uint32_t kMigrateSlotsTick = 1024;
constexpr Bytes kDrainSlice{1ULL << 20};
/// Entries that become free together, and batches of them that one call hands back.
constexpr std::size_t kBatchEntries = 4'096;
constexpr int kBatchesStep = 16;
/// The next table is prepared from 13/16 of the slots on (it is needed at 14/16), so much of it a
/// write: a fault for each of its pages then, instead of for each write that comes after.
constexpr std::uint64_t kPrepareFrom = 13;
constexpr Bytes kPrepareStep{256};

std::uint32_t pack_group_rank(const BlockKey& key) {
  return static_cast<std::uint32_t>(key.group.value()) << 16 | key.rank.value();
}

/// Both halves of a product: each bit of it depends on every bit of both, as wyhash has it.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::array<std::uint64_t, 3> draw_seed() {
  std::random_device drawn;
  const auto word = [&drawn] { return std::uint64_t{drawn()} << 32 | drawn(); };
  return {word(), word(), word() | 1};
}

}  // namespace

Index::Index(QuiescenceDomain& domain)
    : domain_(domain),
      seed_(draw_seed()),
      chunks_(std::make_unique<std::array<std::atomic<Entry*>, kChunksMax>>()),
      use_chunks_(std::make_unique<std::array<std::atomic<UseTicks*>, kChunksMax>>()),
      current_(std::make_unique<SlotTable>(kInitialBits)) {
  memory_.store(current_->memory().count, std::memory_order_relaxed);
  publish(current_.get(), nullptr);
}

/// Where a key stands in the tables. Secrets of this index are in it, so that nobody can choose
/// keys that meet.
std::uint64_t Index::position_of(std::uint64_t ns, std::uint64_t high, std::uint64_t low,
                                 std::uint32_t group_rank) const {
  const std::uint64_t hash = fold(low ^ seed_[0], high ^ seed_[1]);
  return fold(hash ^ ns << 32 ^ group_rank, seed_[2]);
}

std::uint64_t Index::position_of(const BlockKey& key) const {
  return position_of(key.ns.value(), key.hash.high, key.hash.low, pack_group_rank(key));
}

// -- readers -------------------------------------------------------------------------------------

const Entry& Index::entry(EntryId id) const {
  const Entry* chunk = (*chunks_)[id.value() >> kChunkBits].load(std::memory_order_acquire);
  return chunk[id.value() & (kChunkEntries - 1)];
}

UseTick Index::last_use(EntryId id) const {
  const UseTicks* chunk = (*use_chunks_)[id.value() >> kChunkBits].load(std::memory_order_acquire);
  return UseTick((*chunk)[id.value() & (kChunkEntries - 1)].load(std::memory_order_relaxed));
}

bool Index::has_key(EntryId id, const BlockKey& key) const {
  const Entry& e = entry(id);
  const std::uint64_t differs =
      (e.hash_low.load(std::memory_order_relaxed) ^ key.hash.low) |
      (e.hash_high.load(std::memory_order_relaxed) ^ key.hash.high) |
      (e.ns.load(std::memory_order_relaxed) ^ key.ns.value()) |
      (e.group_rank.load(std::memory_order_relaxed) ^ pack_group_rank(key));
  return differs == 0;  // one branch that is always right, not four
}

EntryId Index::find_in(const SlotTable& table, std::uint64_t hash, const BlockKey& key) const {
  std::uint32_t at = table.home(hash);
  for (std::uint32_t seen = 0; seen < table.capacity(); ++seen) {
    const std::uint32_t slot = table.load(at);
    if (slot == SlotTable::kEmpty) return kNoEntry;
    if (SlotTable::tag_matches(slot, hash) && has_key(SlotTable::entry_of(slot), key)) {
      return SlotTable::entry_of(slot);
    }
    at = table.next(at);
  }
  return kNoEntry;
}

EntryId Index::probe(const Tables& tables, std::uint64_t hash, const BlockKey& key) const {
  const EntryId found = find_in(*tables.current, hash, key);
  if (found != kNoEntry || tables.old == nullptr) return found;
  return find_in(*tables.old, hash, key);
}

EntryId Index::find(const BlockKey& key) const {
  return probe(*tables_.load(std::memory_order_acquire), position_of(key), key);
}

void Index::find_many(std::span<const BlockKey> keys, std::span<EntryId> out) const {
  LARDER_ASSERT(keys.size() == out.size());
  constexpr std::size_t kGroup = 128;  // of two cache lines each: half of a first-level cache
  const Tables& tables = *tables_.load(std::memory_order_acquire);
  const SlotTable& table = *tables.current;
  std::array<std::uint64_t, kGroup> hashes;
  std::array<std::uint32_t, kGroup> slots;
  for (std::size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const std::size_t count = std::min(kGroup, keys.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = position_of(keys[begin + i]);
      table.prefetch(hashes[i]);
      if (tables.old != nullptr) tables.old->prefetch(hashes[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      // The first slot with the right tag nearly always names the entry.
      slots[i] = table.find_tag(hashes[i]);
      if (slots[i] != SlotTable::kEmpty) __builtin_prefetch(&entry(SlotTable::entry_of(slots[i])));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const BlockKey& key = keys[begin + i];
      if (slots[i] != SlotTable::kEmpty && has_key(SlotTable::entry_of(slots[i]), key)) {
        out[begin + i] = SlotTable::entry_of(slots[i]);
      } else if (slots[i] == SlotTable::kEmpty && tables.old == nullptr) {
        out[begin + i] = kNoEntry;
      } else {
        out[begin + i] = probe(tables, hashes[i], key);
      }
    }
  }
}

std::optional<Hold> Index::lease(EntryId id, const BlockKey& key) {
  Entry& e = mutable_entry(id);
  std::uint64_t word = e.word.load(std::memory_order_relaxed);
  do {
    const EntryWord now = EntryWord::unpack(word);
    if (now.state != EntryState::kCommitted || now.leases == EntryWord::kLeasesMax) return {};
  } while (!e.word.compare_exchange_weak(word, word + EntryWord::kLeaseOne,
                                         std::memory_order_acquire, std::memory_order_relaxed));
  if (!has_key(id, key)) {
    release(id);
    return {};
  }
  return Hold{.entry = id,
              .slot = unpack_slot(e.slot.load(std::memory_order_relaxed)),
              .length = {length_of(e)}};
}

void Index::release(EntryId id) {
  // Release: the reads under the lease are done before the slot can be reused.
  const std::uint64_t before =
      mutable_entry(id).word.fetch_sub(EntryWord::kLeaseOne, std::memory_order_release);
  LARDER_ASSERT(EntryWord::unpack(before).leases > 0);
}

bool Index::commit(EntryId id, std::uint64_t generation) {
  const EntryWord filling{.state = EntryState::kFilling, .generation = generation};
  const EntryWord committed{.state = EntryState::kCommitted, .generation = generation};
  std::uint64_t word = filling.pack();
  return mutable_entry(id).word.compare_exchange_strong(
      word, committed.pack(), std::memory_order_acq_rel, std::memory_order_relaxed);
}

// -- the shard -----------------------------------------------------------------------------------

Entry& Index::mutable_entry(EntryId id) {
  return const_cast<Entry&>(entry(id));
}

std::uint64_t Index::position_of(EntryId id) const {
  const Entry& e = entry(id);
  return position_of(
      e.ns.load(std::memory_order_relaxed), e.hash_high.load(std::memory_order_relaxed),
      e.hash_low.load(std::memory_order_relaxed), e.group_rank.load(std::memory_order_relaxed));
}

absl::StatusOr<EntryId> Index::take_entry() {
  if (free_.empty()) recycle();
  if (!free_.empty()) {
    const EntryId id = free_.back();
    free_.pop_back();
    return id;
  }
  const std::uint32_t next = entry_limit_.load(std::memory_order_relaxed);
  if (next == SlotTable::kEntriesMax) {
    return absl::ResourceExhaustedError(
        fmt::format("the shard's index is full: {} entries", SlotTable::kEntriesMax));
  }
  if (next % kChunkEntries == 0) {
    const Bytes bytes{kChunkEntries * sizeof(Entry)};
    if (!chunk_memory_.empty()) chunk_memory_.back()->full();
    chunk_memory_.push_back(std::make_unique<HugeMemory>(bytes));
    use_memory_.push_back(std::make_unique<UseTicks>());
    (*use_chunks_)[next >> kChunkBits].store(use_memory_.back().get(), std::memory_order_release);
    // Zero bytes are a free Entry: constructing each would touch the whole chunk at once.
    (*chunks_)[next >> kChunkBits].store(reinterpret_cast<Entry*>(chunk_memory_.back()->data()),
                                         std::memory_order_release);
    memory_.fetch_add(bytes.count + sizeof(UseTicks), std::memory_order_relaxed);
  }
  entry_limit_.store(next + 1, std::memory_order_release);
  return EntryId(next);
}

absl::StatusOr<EntryId> Index::insert(const BlockKey& key, EntryState state) {
  LARDER_ASSERT(state == EntryState::kFilling || state == EntryState::kClaimed ||
                state == EntryState::kGhost);
  auto id = take_entry();
  if (!id.ok()) return id;
  Entry& e = mutable_entry(*id);
  EntryWord word = EntryWord::unpack(e.word.load(std::memory_order_relaxed));
  LARDER_ASSERT(word.state == EntryState::kFree && word.leases == 0);
  e.ns.store(key.ns.value(), std::memory_order_relaxed);
  e.hash_high.store(key.hash.high, std::memory_order_relaxed);
  e.hash_low.store(key.hash.low, std::memory_order_relaxed);
  e.group_rank.store(pack_group_rank(key), std::memory_order_relaxed);
  e.slot.store(0, std::memory_order_relaxed);
  e.length.store(0, std::memory_order_relaxed);
  e.lineage.store(0, std::memory_order_relaxed);
  word.state = state;
  e.word.store(word.pack(), std::memory_order_release);
  current_->place(position_of(key), *id);
  size_.fetch_add(1, std::memory_order_relaxed);
  if (state == EntryState::kGhost) ghosts_.fetch_add(1, std::memory_order_relaxed);
  migrate(kMigrateSlots);
  grow_if_full();
  prepare_next();
  return id;
}

void Index::set_last_use(EntryId id, UseTick at) {
  UseTicks* chunk = (*use_chunks_)[id.value() >> kChunkBits].load(std::memory_order_relaxed);
  (*chunk)[id.value() & (kChunkEntries - 1)].store(at.value(), std::memory_order_relaxed);
}

void Index::make_ghost(EntryId id) {
  Entry& e = mutable_entry(id);
  EntryWord word = EntryWord::unpack(e.word.load(std::memory_order_relaxed));
  LARDER_ASSERT(word.leases == 0);
  e.slot.store(0, std::memory_order_relaxed);
  e.length.store(0, std::memory_order_relaxed);
  word.state = EntryState::kGhost;
  word.generation += 1;
  e.word.store(word.pack(), std::memory_order_release);
  ghosts_.fetch_add(1, std::memory_order_relaxed);
}

void Index::revive(EntryId id, EntryState state) {
  Entry& e = mutable_entry(id);
  EntryWord word = EntryWord::unpack(e.word.load(std::memory_order_relaxed));
  LARDER_ASSERT(word.state == EntryState::kGhost);
  word.state = state;
  word.generation += 1;
  e.word.store(word.pack(), std::memory_order_release);
  ghosts_.fetch_sub(1, std::memory_order_relaxed);
}

void Index::unlink(EntryId id) {
  const EntryState state = EntryWord::unpack(entry(id).word.load(std::memory_order_relaxed)).state;
  if (state == EntryState::kGhost) ghosts_.fetch_sub(1, std::memory_order_relaxed);
  const std::uint64_t hash = position_of(id);
  const bool in_current = current_->remove(hash, id);
  const bool in_old = old_ != nullptr && old_->remove(hash, id);
  LARDER_ASSERT(in_current || in_old);
  size_.fetch_sub(1, std::memory_order_relaxed);
  migrate(kMigrateSlots);
}

void Index::free_entry(EntryId id) {
  Entry& e = mutable_entry(id);
  EntryWord word = EntryWord::unpack(e.word.load(std::memory_order_acquire));
  LARDER_ASSERT(word.leases == 0);
  word.state = EntryState::kFree;
  word.generation += 1;
  e.word.store(word.pack(), std::memory_order_release);
  open_batch_.entries.push_back(id);
  if (open_batch_.entries.size() >= kBatchEntries) recycle();
}

void Index::publish(SlotTable* current, SlotTable* old) {
  auto tables = std::make_unique<Tables>(Tables{current, old});
  tables_.store(tables.get(), std::memory_order_release);
  open_batch_.tables = std::exchange(published_, std::move(tables));
}

void Index::grow_if_full() {
  const std::uint64_t capacity = current_->capacity();
  if ((current_->live() + current_->tombstones()) * 8ULL <= capacity * 7) return;
  if (old_ != nullptr) migrate(old_->capacity());
  make_next(next_bits());
  old_ = std::exchange(current_, std::move(next_));
  migrated_ = 0;
  recycle();  // an earlier pair and table leave the open batch
  publish(current_.get(), old_.get());
}

std::uint32_t Index::next_bits() const {
  const std::uint64_t capacity = current_->capacity();
  const bool doubled = size() * 8 > capacity * 5;
  return static_cast<std::uint32_t>(std::bit_width(capacity) - 1 + (doubled ? 1 : 0));
}

void Index::make_next(std::uint32_t bits) {
  if (next_ != nullptr && next_->capacity() == 1U << bits) return;
  if (next_ != nullptr) memory_.fetch_sub(next_->memory().count, std::memory_order_relaxed);
  next_ = std::make_unique<SlotTable>(bits);
  memory_.fetch_add(next_->memory().count, std::memory_order_relaxed);
}

void Index::prepare_next() {
  const std::uint64_t used = current_->live() + current_->tombstones();
  if (used * 16 <= current_->capacity() * kPrepareFrom) return;
  make_next(next_bits());
  next_->prepare(kPrepareStep);
}

void Index::migrate(std::uint32_t slots) {
  if (old_ == nullptr) return;
  const std::uint32_t end = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::uint64_t{migrated_} + slots, old_->capacity()));
  for (std::uint32_t at = migrated_; at < end; ++at) {
    const std::uint32_t slot = old_->load(at);
    if (SlotTable::names_entry(slot)) __builtin_prefetch(&entry(SlotTable::entry_of(slot)));
  }
  for (; migrated_ < end; ++migrated_) {
    const std::uint32_t slot = old_->load(migrated_);
    if (!SlotTable::names_entry(slot)) continue;
    const EntryId id = SlotTable::entry_of(slot);
    current_->place(position_of(id), id);
  }
  if (migrated_ < old_->capacity()) return;
  recycle();
  publish(current_.get(), nullptr);
  open_batch_.table = std::move(old_);
  current_->full();
}

void Index::recycle() {
  if (!open_batch_.entries.empty() || open_batch_.table || open_batch_.tables) {
    open_batch_.epoch = domain_.advance();
    waiting_.push_back(std::exchange(open_batch_, {}));
  }
  for (int n = 0; n < kBatchesStep && !waiting_.empty(); ++n) {
    if (!domain_.passed(waiting_.front().epoch)) return;
    Batch& batch = waiting_.front();
    free_.insert(free_.end(), batch.entries.begin(), batch.entries.end());
    if (batch.table) {
      if (draining_) memory_.fetch_sub(draining_->memory().count, std::memory_order_relaxed);
      draining_ = std::move(batch.table);
    }
    waiting_.pop_front();
  }
}

void Index::maintain() {
  migrate(kMigrateSlotsTick);
  recycle();
  if (draining_ == nullptr || !draining_->drain(kDrainSlice)) return;
  memory_.fetch_sub(draining_->memory().count, std::memory_order_relaxed);
  draining_.reset();
}

std::uint32_t Index::entry_limit() const {
  return entry_limit_.load(std::memory_order_acquire);
}
std::uint64_t Index::size() const {
  return size_.load(std::memory_order_relaxed);
}

Bytes Index::memory() const {
  return {memory_.load(std::memory_order_relaxed)};
}

}  // namespace larder
