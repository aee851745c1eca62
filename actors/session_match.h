#pragma once

#include <span>
#include <vector>

#include "actors/session_lookup.h"
#include "transport/records.h"

namespace larder {

/// What one chain's lookup found. Everything is answered from the indexes, without a mailbox.
struct ChainLookup {
  std::uint32_t usable_tokens = 0;
  std::uint32_t pending_tokens = 0;
  std::uint32_t known_blocks = 0;      ///< leading blocks of group 0 present, filling or remembered
  std::uint32_t deepest_children = 0;  ///< of the deepest known block of group 0, ghosts included
  UseTick deepest_used;                ///< when a request last referenced it
  std::vector<std::vector<wire::MatchRecord>> groups;
  std::vector<HeldBlock> held;             ///< committed blocks, also behind a gap
  std::vector<LocatedKey> chain;           ///< rank 0 of every block, by group, root first
  std::vector<std::uint32_t> chain_units;  ///< last unit of each
  std::vector<LocatedKey> absent;          ///< keys of absent blocks, all ranks; for claims
};

struct ChainLookupOptions {
  bool hold = false;    ///< lease what is committed
  bool absent = false;  ///< list what is absent
};

/// All groups and ranks of a chain. Runs in a registered reader thread. O(blocks × ranks).
ChainLookup look_up_chain(NodeStore& store, const NamespaceInfo& ns,
                          std::span<const BlockHash> chain, const ChainLookupOptions& options);

/// State of a key's entry as a match answers it.
wire::MatchState state_of(NodeStore& store, const LocatedKey& at, EntryId entry);

}  // namespace larder
