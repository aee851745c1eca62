#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "policies/reuse_board.h"
#include "policies/reuse_curve.h"
#include "policies/reuse_kind.h"

namespace larder {

/// Number of a kind of block that was met, dense.
using KindId = std::uint16_t;
inline constexpr KindId kNoKind = 0xffff;

/// What is learned of each kind of block, and what a block of it is worth by its age.
///
/// A kind leans on a broader one (without the output length), that on a broader one still (use
/// count, session, tail and hint alone), that on all blocks, that on an assumption. Values are made
/// anew in rounds: the caller begins one, shows the blocks that still wait, and takes steps of a
/// few microseconds until it ends.
///
/// Owns about 1 KiB a kind that was met (kKindsMax at most). Not thread-safe. Cannot fail.
class ReuseModel {
 public:
  static constexpr std::size_t kKindsMax = 4'096;

  /// `board`: what models of other shards have seen; null: there are none.
  explicit ReuseModel(std::shared_ptr<ReuseBoard> board = nullptr);
  /// Made when first met; once there are too many, the one of unknown output stands for the others.
  KindId kind_of(const ReuseKind& kind);
  std::size_t kinds() const { return kinds_.size(); }

  /// A block of `kind` stops waiting: it is used again, or no longer looked at.
  void end(KindId kind, float age, float weight, bool reused);
  /// Reuses a second kept, at the start of the age bin.
  float value(KindId kind, int bin) const {
    return kinds_[kind].values[valid_][static_cast<std::size_t>(bin)];
  }
  /// Of a block that would have to be inserted; its kind's output is unknown yet.
  float value_of_new(const ReuseKind& kind);

  // -- a round ------------------------------------------------------------------------------------
  void begin();
  /// A block that waits. After begin(), before the first step().
  void waits(KindId kind, float age, float weight) { kinds_[kind].alive.end(age, weight); }
  /// Does a piece of the rest; true when the round has ended: then its values are valid, all at
  /// once, so that decisions do not depend on who asked when. `insert_cost`: seconds of keeping.
  bool step(float insert_cost);

 private:
  struct Kind {
    std::uint32_t fine = 0;
    std::uint32_t middle = 0;  ///< its place in `middles_`
    ReuseCounts counts{};
    ReuseCounts alive{};
    std::array<AgeRow, 2> values{};  ///< the valid ones, and those that the round makes
  };
  struct Broader {
    std::uint32_t up = 0;  ///< place in `coarse_`
    ReuseRisk risk{};
    Hazard hazard{};
    float value_of_new = 0;
  };
  enum class Phase : std::uint8_t { kSum, kCoarse, kMiddle, kKinds };

  KindId make_kind(std::uint32_t fine);
  std::uint32_t place_of_middle(std::uint32_t middle);
  std::uint32_t place_of_coarse(std::uint32_t coarse);
  void meet_others_kinds();
  ReuseRisk seen(const Kind& kind) const;
  void sum(const Kind& kind);
  bool next(std::size_t count, Phase then);

  std::shared_ptr<ReuseBoard> board_;
  ReuseBoard::Member member_ = 0;
  std::size_t met_of_board_ = 0;
  Hazard prior_;
  Broader all_;
  std::vector<Broader> coarse_;
  std::vector<Broader> middles_;
  std::vector<Kind> kinds_;
  std::vector<std::uint16_t> of_fine_;    // KindId, kNoKind: not met
  std::vector<std::uint16_t> of_middle_;  // place + 1, 0: not met
  std::vector<std::uint16_t> of_coarse_;
  std::uint32_t valid_ = 0;
  Phase phase_ = Phase::kSum;
  std::size_t at_ = 0;
  float insert_cost_ = 0;
};

}  // namespace larder
