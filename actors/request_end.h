#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "actors/node_context.h"
#include "actors/session_lookup.h"
#include "actors/shard_calls.h"

namespace larder {

/// One prompt being served, as its session knows it.
struct SessionRequest {
  RequestContext context;
  NamespaceRef ns;
  Time deadline;
  bool announced = false;  ///< the shards know it
  bool matched = false;    ///< its chain is known: gets add nothing to it
  // Deques: a long prompt's grow without being moved.
  std::deque<HeldBlock> pinned;
  /// The chain of the request, root first, one key a block (rank 0 of each group).
  std::deque<LocatedKey> chain;
  std::deque<std::uint32_t> chain_units;  ///< last unit of each
  std::deque<std::size_t> run_begins;     ///< where in the chain units do not rise
};

/// The end of a request, a bounded number of blocks at a time: its chain is touched suffix-first,
/// then its pins end, then the shards forget it.
///
/// One io thread.
class RequestEnd {
 public:
  /// `node` and `tenant` outlive it and the notes that it sends.
  RequestEnd(NodeContext& node, TenantUse& tenant, SessionRequest request,
             std::uint32_t output_tokens);

  /// Sends up to `blocks` more, which are subtracted; true when all is sent.
  bool step(std::size_t& blocks);
  /// Of its chain, however many have been sent.
  std::size_t blocks() const { return blocks_; }

 private:
  /// A part of the chain in which units rise, or stay, walked from its end; what is left of it.
  struct Run {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::uint32_t last_unit_of(const Run& run) const { return request_.chain_units[run.end - 1]; }
  void push(const Run& run);
  void touch_last();
  void unpin_one();
  void send_part(ShardId shard);
  void send_ends();

  NodeContext& node_;
  TenantUse& tenant_;
  SessionRequest request_;
  const std::size_t blocks_;
  const std::uint32_t output_tokens_;
  const std::uint64_t sequence_;
  std::vector<Run> runs_;      ///< a heap by last unit
  std::size_t pushed_ = 0;     ///< runs of the chain that are, or were, in it
  std::uint64_t touched_ = 0;  ///< blocks, from the suffix
  std::uint32_t last_unit_ = 0;
  std::vector<std::vector<TouchItem>> touches_;    ///< by shard, not sent yet
  std::vector<std::unique_ptr<NoteHolds>> holds_;  ///< by shard, not sent yet
};

}  // namespace larder
