#include "actors/session_match.h"

#include <algorithm>

#include "store/chain.h"
#include "store/usable_tokens.h"

namespace larder {

namespace {

using wire::MatchRecord;
using wire::MatchState;

/// The blocks of one chain by group, then block, then rank.
struct Blocks {
  std::vector<LocatedKey> keys;
  std::vector<std::uint32_t> group_blocks;
};

Blocks blocks_of(const NamespaceInfo& ns, std::span<const BlockHash> chain, std::uint32_t shards) {
  Blocks blocks;
  const auto units = static_cast<std::uint32_t>(chain.size());
  for (std::uint16_t group = 0; group < ns.spec.groups.size(); ++group) {
    const GroupSpec& spec = ns.spec.groups[group];
    const std::uint32_t count = blocks_in_chain(spec, ns.spec.unit_tokens, units);
    blocks.group_blocks.push_back(count);
    for (std::uint32_t block = 0; block < count; ++block) {
      const std::uint32_t last = last_unit_of_block(spec, ns.spec.unit_tokens, block);
      const ShardId shard = shard_of(anchor_of(chain, last, ns.segment_units), shards);
      for (std::uint32_t rank = 0; rank < ns.spec.ranks; ++rank) {
        blocks.keys.push_back(
            {{ns.id, chain[last], GroupId(group), Rank(static_cast<std::uint16_t>(rank))}, shard});
      }
    }
  }
  return blocks;
}

/// Folds one rank's state into the block's: absent beats claimed beats pending beats present.
MatchState worse(MatchState a, MatchState b) {
  constexpr int kBadness[] = {3, 0, 1, 2};  // absent, present, pending, claimed
  return kBadness[static_cast<int>(a)] >= kBadness[static_cast<int>(b)] ? a : b;
}

std::vector<GroupPresence> presence(const std::vector<std::vector<MatchRecord>>& groups,
                                    bool count_pending) {
  std::vector<GroupPresence> present;
  for (const auto& group : groups) {
    GroupPresence& out = present.emplace_back(group.size(), 0);
    for (std::size_t i = 0; i < group.size(); ++i) {
      const auto state = static_cast<MatchState>(group[i].state);
      out[i] = state == MatchState::kPresent || (count_pending && state != MatchState::kAbsent);
    }
  }
  return present;
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

/// Leading known blocks of group 0, and of the deepest: how many children it has and when it was
/// last used. Of an evicted unit one rank's entry is left, whichever it is.
void measure_known(const NodeStore& store, const Blocks& blocks, std::uint32_t ranks,
                   const std::vector<EntryId>& found, ChainLookup& result) {
  if (blocks.group_blocks.empty()) return;
  for (std::uint32_t block = 0; block < blocks.group_blocks[0]; ++block) {
    const std::size_t at = std::size_t{block} * ranks;
    const Index& index = *store.indexes[blocks.keys[at].shard.value()];
    bool known = false;
    std::uint32_t children = 0;
    UseTick used;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const EntryId id = found[at + rank];
      if (id == kNoEntry || !is_known(index.entry(id))) continue;
      children = std::max(children, children_of(index.entry(id)));
      if (!known || gap(index.last_use(id), used) > Duration{0}) used = index.last_use(id);
      known = true;
    }
    if (!known) return;
    result.known_blocks += 1;
    result.deepest_children = children;
    result.deepest_used = used;
  }
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

ChainLookup look_up_chain(NodeStore& store, const NamespaceInfo& ns,
                          std::span<const BlockHash> chain, const ChainLookupOptions& options) {
  ChainLookup result;
  const Blocks blocks = blocks_of(ns, chain, store.shards());
  const std::vector<EntryId> found = find_all(store, blocks.keys);
  measure_known(store, blocks, ns.spec.ranks, found, result);

  std::size_t at = 0;
  for (std::size_t group = 0; group < blocks.group_blocks.size(); ++group) {
    auto& records = result.groups.emplace_back();
    const GroupSpec& spec = ns.spec.groups[group];
    for (std::uint32_t block = 0; block < blocks.group_blocks[group]; ++block) {
      MatchState state = MatchState::kPresent;
      result.chain.push_back(blocks.keys[at]);
      result.chain_units.push_back(last_unit_of_block(spec, ns.spec.unit_tokens, block));
      for (std::uint32_t rank = 0; rank < ns.spec.ranks; ++rank, ++at) {
        MatchState one = state_of(store, blocks.keys[at], found[at]);
        if (options.hold && one == MatchState::kPresent) {
          // Present is what can be leased: it cannot be evicted between this answer and the get.
          if (auto leased = hold(store, blocks.keys[at], found[at])) {
            result.held.push_back(*leased);
          } else {
            one = MatchState::kAbsent;
          }
        }
        if (options.absent && one == MatchState::kAbsent) result.absent.push_back(blocks.keys[at]);
        state = worse(state, one);
      }
      const auto tier = state == MatchState::kPresent ? Tier::kHost : Tier::kNone;
      records.push_back({static_cast<std::uint8_t>(state), static_cast<std::uint8_t>(tier), 0});
    }
  }
  result.usable_tokens = usable_tokens(ns.spec, presence(result.groups, false));
  result.pending_tokens = usable_tokens(ns.spec, presence(result.groups, true));
  return result;
}

}  // namespace larder
