#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "actors/node_context.h"
#include "actors/session_lookup.h"
#include "actors/shard_calls.h"

namespace larder {

/// What a request holds and touches. Deques: a long prompt's grow without being moved.
struct RequestBlocks {
  struct Link {
    LocatedKey at;
    std::uint32_t last_unit = 0;
  };
  std::deque<HeldBlock> pinned;
  std::deque<Link> chain;  ///< root first, one key a block (rank 0 of each group)
};

/// One prompt being served, as its session knows it.
struct SessionRequest {
  RequestContext context;
  NamespaceRef ns;
  Time deadline;
  bool announced = false;              ///< the shards know it
  bool matched = false;                ///< its chain is known: gets add nothing to it
  std::unique_ptr<RequestBlocks> has;  ///< null: nothing yet

  RequestBlocks& blocks() {
    if (!has) has = std::make_unique<RequestBlocks>();
    return *has;
  }
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
  std::size_t blocks() const { return length_; }

 private:
  /// A part of the chain in which units rise, or stay, walked from its end; what is left of it.
  struct Run {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::uint32_t unit_at(std::size_t link) const { return blocks_->chain[link].last_unit; }
  bool find_runs(std::size_t& blocks);
  void push(const Run& run);
  void touch_last();
  void unpin_one();
  void send_part(ShardId shard);
  void send_ends();

  NodeContext& node_;
  TenantUse& tenant_;
  const RequestId request_;
  const std::unique_ptr<RequestBlocks> blocks_;
  const std::size_t length_;  ///< of the chain
  const std::uint32_t output_tokens_;
  const std::uint64_t sequence_;
  std::vector<Run> runs_;      ///< a heap by last unit
  std::size_t scanned_ = 0;    ///< links of the chain, for runs
  std::size_t run_begin_ = 0;  ///< of the run that is being scanned
  std::uint64_t touched_ = 0;  ///< blocks, from the suffix
  std::uint32_t last_unit_ = 0;
  std::vector<std::vector<TouchItem>> touches_;    ///< by shard, not sent yet
  std::vector<std::unique_ptr<NoteHolds>> holds_;  ///< by shard, not sent yet
};

}  // namespace larder
