#pragma once

#include <span>
#include <vector>

#include "actors/session_lookup.h"
#include "store/usable_tokens.h"
#include "transport/records.h"

namespace larder {

/// What one chain's lookup found.
struct ChainFound {
  std::uint32_t known_blocks = 0;      ///< leading blocks of group 0 present, filling or remembered
  std::uint32_t deepest_children = 0;  ///< of the deepest known block of group 0, ghosts included
  UseTick deepest_used;                ///< when a request last referenced it
  std::vector<std::vector<wire::MatchRecord>> groups;
  std::vector<GroupPresence> present;  ///< by group
  std::vector<GroupPresence> coming;   ///< present, pending or claimed
};

/// All groups and ranks of a chain, a part at a time. Everything is answered from the indexes,
/// without a mailbox. Runs in a registered reader thread; holds nothing of an index between steps.
class ChainLookup {
 public:
  struct Options {
    bool hold = false;    ///< lease what is committed
    bool absent = false;  ///< list what is absent
  };
  /// What one step looked at.
  struct Part {
    std::vector<HeldBlock> held;             ///< committed blocks, also behind a gap; the caller's
    std::vector<LocatedKey> chain;           ///< rank 0 of every block, by group, root first
    std::vector<std::uint32_t> chain_units;  ///< last unit of each
    std::vector<LocatedKey> absent;          ///< keys of absent blocks, all ranks; for claims
  };

  /// The three outlive it.
  ChainLookup(NodeStore& store, const NamespaceInfo& ns, std::span<const BlockHash> chain);

  /// Looks at blocks until about `keys` of them (a rank each) are used up; what it used is
  /// subtracted.
  Part step(std::size_t& keys, const Options& options);
  bool done() const { return group_ == group_blocks_.size(); }
  /// Of the whole chain, once it is done.
  ChainFound& found() { return found_; }

 private:
  struct Block {
    std::size_t group = 0;
    std::uint32_t last_unit = 0;
  };

  Block next();
  void add_keys(const Block& block, std::vector<LocatedKey>& keys) const;
  void note_known(std::span<const LocatedKey> keys, std::span<const EntryId> entries);
  void note_state(std::size_t group, wire::MatchState state);
  wire::MatchState look_at(const LocatedKey& at, EntryId entry, const Options& options, Part& part);

  NodeStore& store_;
  const NamespaceInfo& ns_;
  const std::span<const BlockHash> chain_;
  std::vector<std::uint32_t> group_blocks_;
  std::size_t group_ = 0;    ///< of the next block
  std::uint32_t block_ = 0;  ///< in its group
  bool known_ = true;        ///< all of group 0 so far
  ChainFound found_;
};

/// State of a key's entry as a match answers it.
wire::MatchState state_of(NodeStore& store, const LocatedKey& at, EntryId entry);

}  // namespace larder
