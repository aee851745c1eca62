// What is remembered of blocks that are gone: the request context and the policies ask for it.

#include <algorithm>

#include "store/assert.h"
#include "store/shard.h"

namespace larder {

namespace {

constexpr std::size_t kTrimStep = 8;

std::uint32_t tag_of(const EntryWord& word) {
  return static_cast<std::uint32_t>(word.generation);
}

}  // namespace

/// Of `own` (kNoEntry: none yet), or of a ghost among its unit's other ranks and groups.
Shard::Memory Shard::remembered(const BlockKey& key, std::uint32_t ranks, EntryId own) const {
  EntryId known = own;
  if (known == kNoEntry || uses_of(index_.entry(known)) == 0) {
    const EntryId ghost = find_in_unit(key, ranks, [this](EntryId id) {
      return word_of(index_.entry(id)).state == EntryState::kGhost;
    });
    if (ghost != kNoEntry) known = ghost;
  }
  if (known == kNoEntry) return {};
  return {uses_of(index_.entry(known)), index_.last_use(known)};
}

void Shard::recall(const Memory& memory, Time now, PolicyInsert& insert) const {
  insert.uses = memory.uses;
  if (memory.uses > 0) insert.idle = gap(use_tick(now), memory.last_use);
}

/// A new unit's leader goes on from what its ghost knew.
void Shard::inherit(EntryId id, const Memory& memory, Time now) {
  Entry& entry = index_.mutable_entry(id);
  set_lineage(entry, memory.uses, children_of(entry));
  index_.set_last_use(id, memory.uses > 0 ? memory.last_use : use_tick(now));
}

void Shard::note_use(EntryId id, const RequestContext* context) {
  Entry& entry = index_.mutable_entry(id);
  set_lineage(entry, uses_of(entry) + 1, children_of(entry));
  if (context != nullptr) index_.set_last_use(id, use_tick(context->now));
}

std::size_t Shard::ghosts_max() const {
  // A table that is nearly full is for blocks.
  if (index_.size() > std::uint64_t{limits::kEntriesPerShardMax} / 4 * 3) return 0;
  const std::uint64_t blocks = index_.size() - index_.ghosts();
  return static_cast<std::size_t>(
      std::max<std::uint64_t>(blocks, limits::kGhostsMin / store_.shards()));
}

void Shard::remember_ghost(EntryId id) {
  ghosts_.emplace_back(id, tag_of(word_of(index_.entry(id))));
}

void Shard::keep_ghost(EntryId id) {
  index_.make_ghost(id);
  remember_ghost(id);
  trim_ghosts(kTrimStep);
}

/// A kind of block that is always refused shows when it comes back, as one that has left does. Of a
/// unit its first rank is remembered, as in what a request's end touches.
void Shard::remember_refused(const ReserveItem& item, EntryId known, PolicyInsert& refused,
                             const RequestContext* context, Time now) {
  const bool is_ghost =
      known != kNoEntry && word_of(index_.entry(known)).state == EntryState::kGhost;
  if (!is_ghost && item.key.rank != Rank(0)) return;
  if (known == kNoEntry) {
    const auto made = index_.insert(item.key, EntryState::kGhost);
    if (!made.ok()) return;
    known = *made;
    index_.set_last_use(known, use_tick(now));
    add_child(item.key, item.parent);
    remember_ghost(known);
  } else if (!is_ghost) {
    forget_claim(known);
    index_.make_ghost(known);
    remember_ghost(known);
  }
  refused.id = PolicyId(known.value());
  policy_of(item.tenant).on_refused(refused, context);
  trim_ghosts(kTrimStep);  // may forget this one again
}

void Shard::trim_ghosts(std::size_t limit) {
  const std::size_t most = ghosts_max();
  for (std::size_t step = 0; step < limit && ghosts_.size() > most; ++step) {
    const auto [id, tag] = ghosts_.front();
    ghosts_.pop_front();
    const EntryWord word = word_of(index_.entry(id));
    if (word.state != EntryState::kGhost || tag_of(word) != tag) continue;  // revived since
    index_.unlink(id);
    index_.free_entry(id);
  }
}

}  // namespace larder
