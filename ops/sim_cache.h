#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "ops/sim_trace.h"
#include "policies/min_policy.h"
#include "store/eviction_policy.h"
#include "store/use_tick.h"

namespace larder {

struct SimOptions {
  Bytes capacity;
  Bytes block_bytes{1};
  /// Blocks leave when more than this part of the capacity is taken …
  double watermark = 1;
  /// … and then until this part of it is free below the watermark.
  double batch = 0;
};

struct SimCounts {
  std::uint64_t references = 0;
  std::uint64_t hits = 0;  ///< inside the longest resident prefix, judged when the request arrives
  std::uint64_t inserts = 0;
  std::uint64_t evictions = 0;
  std::uint64_t refused = 0;  ///< by admission, or because all that was there was pinned
};

/// A cache without bytes: what a shard does around its policy, done for a trace.
///
/// A request's blocks are judged when it arrives, pinned while it is served, missing ones inserted
/// root-first, all touched suffix-first at its end. Evicted and refused blocks are remembered as
/// ghosts, as many as there are blocks, limits::kGhostsMin at least. Each tenant has a policy of
/// its own; the cheapest of their victims leaves.
///
/// Owns its policies and about 40 bytes a block of the trace. `trace` outlives it. Not thread-safe.
class SimCache {
 public:
  SimCache(const SimTrace& trace, const SimOptions& options,
           std::vector<std::unique_ptr<EvictionPolicy>> policies);
  /// The optimum: `min` hears of every block's next use, and its pins end before anything leaves.
  SimCache(const SimTrace& trace, const SimOptions& options, std::unique_ptr<MinPolicy> min,
           const std::vector<std::uint32_t>& next_requests);

  /// The next request of the trace, with `hint` leading positions said to be used again.
  void serve(std::uint32_t request, std::optional<std::uint32_t> hint);

  const SimCounts& counts() const { return totals_; }
  const std::vector<SimCounts>& tenants() const { return tenants_; }
  std::uint64_t resident() const { return resident_; }
  bool contains(std::uint32_t block) const { return blocks_[block].state == State::kResident; }

 private:
  enum class State : std::uint8_t { kUnknown, kGhost, kResident };
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Block {
    std::uint32_t id = kNone;  ///< PolicyId, while resident or a ghost
    std::uint32_t children = 0;
    std::uint32_t served_by = kNone;   ///< the request that pins it
    std::uint32_t touched_by = kNone;  ///< the last request that was told of
    std::uint32_t ghost = 0;           ///< which of `ghosts_` it is, while it is one
    UseTick last_use{};
    std::uint8_t uses = 0;
    State state = State::kUnknown;
  };

  RequestContext arrive(std::uint32_t request, std::optional<std::uint32_t> hint);
  void insert_missing(const RequestContext& context);
  bool enter(std::uint32_t block, const PolicyInsert& insert, const RequestContext& context);
  void end(const RequestContext& context);
  bool make_room(const PolicyInsert& insert, const RequestContext& context);
  std::optional<Victim> cheapest(std::uint32_t& tenant);
  void evict(const Victim& victim, std::uint32_t tenant);
  void evict_over();
  void take_id(std::uint32_t block);
  void remember(std::uint32_t block);
  EvictionPolicy& policy();
  void count(std::uint64_t SimCounts::*field, std::uint64_t by = 1);

  const SimTrace& trace_;
  SimOptions options_;
  std::vector<std::unique_ptr<EvictionPolicy>> policies_;
  MinPolicy* min_ = nullptr;
  const std::vector<std::uint32_t>* next_requests_ = nullptr;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> block_of_;  // by PolicyId
  std::vector<std::uint32_t> free_ids_;
  std::deque<std::pair<std::uint32_t, std::uint32_t>> ghosts_;  // block, which; oldest first
  std::uint32_t ghosts_made_ = 0;
  std::uint64_t resident_ = 0;
  const SimTrace::Request* current_ = nullptr;
  std::uint32_t number_ = 0;
  Time now_{};
  SimCounts totals_;
  std::vector<SimCounts> tenants_;
};

}  // namespace larder
