#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "policies/kind_heads.h"
#include "policies/leaf_tree.h"
#include "policies/reuse_model.h"
#include "store/eviction_policy.h"

namespace larder {

/// Keeps what is likeliest to be used again soon, as it has learned.
///
/// A block's kind (ReuseKind) is what was known at its last use: how many requests used it, whether
/// the prompt went on with a session, the prompt's length or the gap before it, how much of it was
/// new, the output's length, the hint. Of each kind it learns how likely a block is used again, by
/// the time since its last use (ReuseModel; ghosts go on waiting, so that what has left too early
/// is seen). A block is worth the most reuses a second and a byte that keeping it for some time
/// gives (Gittins' index); the oldest leaf of each kind is a candidate, the cheapest leaves. A new
/// block worth less than the one that must leave for it is refused. Knows a prompt when it is
/// matched, its output when it has ended, and of the future nothing.
///
/// Its clock is the time of requests (not of calls: a replay has another); while that stands still
/// or goes backwards, a millisecond a use. Owns 40 bytes an id, 16 a leaf, and the model. Not
/// thread-safe: one shard owns it. Each call is O(log n) plus a look at every kind for a victim,
/// and does a slice of making values anew (every kRound), of some tens of microseconds. Cannot
/// fail.
class HazPolicy final : public EvictionPolicy {
 public:
  /// `board`: shared by the policies of one tenant in all shards; null: this one is alone.
  explicit HazPolicy(std::shared_ptr<ReuseBoard> board = nullptr) : model_(std::move(board)) {}

  static constexpr Duration kRound = std::chrono::seconds(10);
  static constexpr std::uint32_t kRoundUses = 16'384;  ///< or after so many uses

  void on_request(const RequestContext& context) override;
  void on_request_end(const RequestContext& context, std::uint32_t output_tokens) override;
  bool admit(const PolicyInsert& candidate, const RequestContext* context,
             double cheapest) override;
  bool prices_admission() const override { return true; }
  void on_refused(const PolicyInsert& refused, const RequestContext* context) override;
  void on_insert(const PolicyInsert& insert, const RequestContext* context) override;
  void on_hit(PolicyId id, Stamp stamp, const RequestContext* context) override;
  void on_erase(PolicyId id, EraseCause cause) override;
  std::optional<Victim> victim(Time now, absl::FunctionRef<bool(PolicyId)> skip) override;
  bool has_more() const override { return more_; }

 private:
  using Tick = KindHeads::Clock;  ///< 10 ms of its clock
  static constexpr std::uint32_t kRescanCalls = 256;
  static constexpr std::uint32_t kRecheck = 32;
  static constexpr std::uint32_t kSliceBlocks = 512;
  static constexpr int kSliceSteps = 4;
  struct Block {
    std::uint64_t stamp = 0;
    Tick used = 0;
    float size = 1;  ///< bytes
    KindId kind = kNoKind;
    std::uint16_t prompt = 1;  ///< blocks of the prompt that used it last: its weight's inverse
    std::uint32_t position : 20 = 0;
    std::uint32_t uses : 10 = 0;
    std::uint32_t fresh : 1 = 0;   ///< inserted by a request that has not touched it yet
    std::uint32_t broken : 1 = 0;  ///< what is left of a unit: first to go
  };
  static_assert(sizeof(Block) == 24);

  void advance(Time now);
  void use_clock();
  float age_of(const Block& block) const;
  Block& block(PolicyId id);
  void begin_kind(Block& block, const RequestContext* context, std::uint32_t output);
  void end_kind(Block& block, bool reused);
  void list(PolicyId id);
  void unlist(PolicyId id);
  KindHeads::HeadValue price(std::uint32_t list, PolicyId id) const;
  void work();
  bool show_waiting();

  ReuseModel model_;
  KindHeads heads_;
  LeafTree tree_;
  std::vector<Block> blocks_;  // by id; a ghost's kind goes on waiting
  std::size_t ids_ = 0;        // of them that were ever met: how long a round is depends on it

  static constexpr Tick kStart = 1U << 28;  ///< 31 days: ages of what was there before
  Tick clock_ = kStart;
  std::int64_t clock_rest_ns_ = 0;
  std::optional<Time> last_time_;
  std::uint32_t still_ = 0;  ///< uses since time went on
  RequestId ended_{};
  std::uint32_t ended_output_ = ReuseKind::kUnknownOutput;

  enum class Round : std::uint8_t { kIdle, kShow, kMake };
  Round round_ = Round::kIdle;
  Tick round_began_ = kStart - 1;
  std::uint32_t round_uses_ = 0;
  std::size_t shown_ = 0;
  float victim_age_ = 0;  ///< seconds, a running mean

  std::uint32_t calls_ = 0;  ///< of victim(), since passed heads were looked at again
  bool request_ended_ = false;
  bool more_ = false;
};

}  // namespace larder
