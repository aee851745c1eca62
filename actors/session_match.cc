#include "actors/session_match.h"

#include <algorithm>

#include "store/chain.h"

namespace larder {

namespace {

using wire::MatchRecord;
using wire::MatchState;

/// Folds one rank's state into the block's: absent beats claimed beats pending beats present.
MatchState worse(MatchState a, MatchState b) {
  constexpr int kBadness[] = {3, 0, 1, 2};  // absent, present, pending, claimed
  return kBadness[static_cast<int>(a)] >= kBadness[static_cast<int>(b)] ? a : b;
}

/// A block that is here, on its way, or remembered. A claim alone says nothing of the past.
bool is_known(const Entry& entry) {
  switch (word_of(entry).state) {
    case EntryState::kFilling:
    case EntryState::kCommitted:
    case EntryState::kGhost:
      return true;
    case EntryState::kClaimed:
      return uses_of(entry) > 0;
    case EntryState::kFree:
    case EntryState::kRemoved:
      return false;
  }
  return false;
}

}  // namespace

MatchState state_of(NodeStore& store, const LocatedKey& at, EntryId entry) {
  if (entry == kNoEntry) return MatchState::kAbsent;
  const Entry& e = store.indexes[at.shard.value()]->entry(entry);
  switch (EntryWord::unpack(e.word.load(std::memory_order_acquire)).state) {
    case EntryState::kCommitted:
      return is_there(store, at, entry) ? MatchState::kPresent : MatchState::kAbsent;
    case EntryState::kFilling:
      return MatchState::kPending;
    case EntryState::kClaimed:
      return MatchState::kClaimed;
    case EntryState::kFree:
    case EntryState::kRemoved:
    case EntryState::kGhost:
      return MatchState::kAbsent;
  }
  return MatchState::kAbsent;
}

ChainLookup::ChainLookup(NodeStore& store, const NamespaceInfo& ns,
                         std::span<const BlockHash> chain)
    : store_(store), ns_(ns), chain_(chain) {
  const auto units = static_cast<std::uint32_t>(chain.size());
  for (const GroupSpec& group : ns.spec.groups) {
    group_blocks_.push_back(blocks_in_chain(group, ns.spec.unit_tokens, units));
    found_.groups.emplace_back().reserve(group_blocks_.back());
    found_.present.emplace_back().reserve(group_blocks_.back());
    found_.coming.emplace_back().reserve(group_blocks_.back());
  }
  while (!done() && group_blocks_[group_] == 0)
    group_ += 1;
}

ChainLookup::Block ChainLookup::next() {
  const Block block{group_,
                    last_unit_of_block(ns_.spec.groups[group_], ns_.spec.unit_tokens, block_)};
  block_ += 1;
  while (!done() && block_ == group_blocks_[group_]) {
    group_ += 1;
    block_ = 0;
  }
  return block;
}

void ChainLookup::add_keys(const Block& block, std::vector<LocatedKey>& keys) const {
  const ShardId shard =
      shard_of(anchor_of(chain_, block.last_unit, ns_.segment_units), store_.shards());
  const GroupId group(static_cast<std::uint16_t>(block.group));
  for (std::uint32_t rank = 0; rank < ns_.spec.ranks; ++rank) {
    const BlockKey key{ns_.id, chain_[block.last_unit], group,
                       Rank(static_cast<std::uint16_t>(rank))};
    keys.push_back({key, shard});
  }
}

/// A block of group 0 by its ranks: while all are known, how many children the deepest has and when
/// it was last used. Of an evicted unit one rank's entry is left, whichever it is.
void ChainLookup::note_known(std::span<const LocatedKey> keys, std::span<const EntryId> entries) {
  const Index& index = *store_.indexes[keys[0].shard.value()];
  bool known = false;
  std::uint32_t children = 0;
  UseTick used;
  for (const EntryId id : entries) {
    if (id == kNoEntry || !is_known(index.entry(id))) continue;
    children = std::max(children, children_of(index.entry(id)));
    if (!known || gap(index.last_use(id), used) > Duration{0}) used = index.last_use(id);
    known = true;
  }
  known_ = known;
  if (!known) return;
  found_.known_blocks += 1;
  found_.deepest_children = children;
  found_.deepest_used = used;
}

MatchState ChainLookup::look_at(const LocatedKey& at, EntryId entry, const Options& options,
                                Part& part) {
  MatchState state = state_of(store_, at, entry);
  if (options.hold && state == MatchState::kPresent) {
    // Present is what can be leased: it cannot be evicted between this answer and the get.
    if (auto leased = hold(store_, at, entry)) {
      part.held.push_back(*leased);
    } else {
      state = MatchState::kAbsent;
    }
  }
  if (options.absent && state == MatchState::kAbsent) part.absent.push_back(at);
  return state;
}

void ChainLookup::note_state(std::size_t group, MatchState state) {
  const bool present = state == MatchState::kPresent;
  const auto tier = present ? Tier::kHost : Tier::kNone;
  found_.groups[group].push_back(
      {static_cast<std::uint8_t>(state), static_cast<std::uint8_t>(tier), 0});
  found_.present[group].push_back(present ? 1 : 0);
  found_.coming[group].push_back(state == MatchState::kAbsent ? 0 : 1);
}

ChainLookup::Part ChainLookup::step(std::size_t& keys_left, const Options& options) {
  Part part;
  std::vector<LocatedKey> keys;
  std::vector<Block> blocks;
  while (!done() && keys.size() < keys_left) {
    blocks.push_back(next());
    add_keys(blocks.back(), keys);
  }
  keys_left -= std::min(keys_left, keys.size());
  const std::vector<EntryId> entries = find_all(store_, keys);
  const std::size_t ranks = ns_.spec.ranks;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto ats = std::span(keys).subspan(i * ranks, ranks);
    const auto ids = std::span(entries).subspan(i * ranks, ranks);
    if (known_ && blocks[i].group == 0) note_known(ats, ids);
    part.chain.push_back(ats[0]);
    part.chain_units.push_back(blocks[i].last_unit);
    MatchState state = MatchState::kPresent;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      state = worse(state, look_at(ats[rank], ids[rank], options, part));
    note_state(blocks[i].group, state);
  }
  return part;
}

}  // namespace larder
