#pragma once

#include <limits>
#include <optional>

#include "absl/functional/function_ref.h"

#include "store/types.h"

namespace larder {

/// A block position of one group over all ranks (the state and window blocks of a boundary share
/// one). Dense and small: policies keep arrays indexed by it.
using PolicyId = Id<struct PolicyIdTag, std::uint32_t>;

/// What is known of a prompt when it is matched; computed once a request, by the session.
struct RequestContext {
  RequestId request;
  Time now;                          ///< the daemon's clock, or the trace's own time in a replay
  std::uint32_t prompt_blocks = 0;   ///< blocks of the prompt
  std::uint32_t known_blocks = 0;    ///< leading blocks present or remembered as ghosts
  bool continuing = false;           ///< the deepest known block has few children: same session
  Duration last_gap{0};              ///< since the session's last request, when continuing
  std::uint64_t session = 0;         ///< the engine's own session, 0 when not given
  std::uint32_t hint_positions = 0;  ///< leading positions expected to be reused
  bool has_hint = false;
  std::uint8_t priority = 0;  ///< 0 decode, 1 prefill, 2 backfill
  TenantId tenant{};          ///< whose policy hears of it
};

struct PolicyInsert {
  PolicyId id;
  std::optional<PolicyId> parent;  ///< when it stands in the same shard
  Bytes size;                      ///< sum over ranks, slot bytes
  Stamp stamp;                     ///< time of insertion in the node's order
  std::uint32_t position = 0;      ///< block's last unit
  std::uint32_t uses = 0;          ///< requests that referenced it before, as a ghost too; ≤ 255
  Duration idle{0};                ///< since the last of them; 0 when uses is
  bool resident = false;           ///< it was there already, with another policy
};

struct Victim {
  PolicyId id;
  double value = 0;  ///< comparable between shards of a node; the cheapest leaves
};

enum class EraseCause : std::uint8_t {
  kEvicted,
  kRemoved,
  kExpired,
  kAborted,
  kQuarantined,
  kMoved
};

/// Decides which block leaves next. The shard is its only caller, so the store owns the contract;
/// implementations live in policies/.
///
/// Pure: no clock, no randomness it was not given, no memory of the blocks themselves. Rebuild work
/// is sliced inside these calls. Not thread-safe: one shard owns it.
class EvictionPolicy {
 public:
  /// For admit(): no block must leave.
  static constexpr double kRoom = -std::numeric_limits<double>::infinity();

  virtual ~EvictionPolicy() = default;

  /// A prompt was matched. Called before its inserts and hits.
  virtual void on_request(const RequestContext& context) = 0;
  /// The prompt was served. Called before its hits.
  virtual void on_request_end(const RequestContext& context, std::uint32_t output_tokens) = 0;
  /// False refuses a new block; its id means nothing yet. `cheapest` is the value of the block that
  /// must leave for it, or kRoom; `context` is null when the put named no request.
  virtual bool admit(const PolicyInsert& candidate, const RequestContext* context,
                     double cheapest) = 0;
  /// Whether admit() looks at `cheapest`, which costs the search of a victim.
  virtual bool prices_admission() const { return false; }
  /// What admit() refused stays a ghost under this id.
  virtual void on_refused(const PolicyInsert& /*refused*/, const RequestContext* /*context*/) {}
  /// `id` must not be tracked. Root-first within a request.
  virtual void on_insert(const PolicyInsert& insert, const RequestContext* context) = 0;
  /// Once a block a request, at its end, suffix-first. Ignores an id that is not tracked.
  virtual void on_hit(PolicyId id, Stamp stamp, const RequestContext* context) = 0;
  /// Stops tracking `id`, if it was tracked.
  virtual void on_erase(PolicyId id, EraseCause cause) = 0;
  /// The cheapest block for which `skip` is false, or nothing; looks at limits::kVictimScanMax
  /// candidates at most. Does not stop tracking it.
  virtual std::optional<Victim> victim(Time now, absl::FunctionRef<bool(PolicyId)> skip) = 0;
  /// After victim() answered nothing: there are blocks that it has not looked at yet. The next call
  /// goes on from there.
  virtual bool has_more() const { return false; }
};

}  // namespace larder
