#include "policies/reuse_model.h"

#include <utility>

namespace larder {

namespace {

constexpr std::size_t kMetAtOnce = 64;  ///< of the board's kinds, a round

}  // namespace

ReuseModel::ReuseModel(std::shared_ptr<ReuseBoard> board)
    : board_(std::move(board)),
      member_(board_ ? board_->join() : 0),
      prior_(Hazard::prior()),
      of_fine_(ReuseKind::kFine, kNoKind),
      of_middle_(ReuseKind::kMiddle, 0),
      of_coarse_(ReuseKind::kCoarse, 0) {
  all_.hazard = prior_;
}

std::uint32_t ReuseModel::place_of_coarse(std::uint32_t coarse) {
  std::uint16_t& place = of_coarse_[coarse];
  if (place == 0) {
    coarse_.push_back({.hazard = all_.hazard});
    place = static_cast<std::uint16_t>(coarse_.size());
  }
  return place - 1U;
}

std::uint32_t ReuseModel::place_of_middle(std::uint32_t middle) {
  std::uint16_t& place = of_middle_[middle];
  if (place == 0) {
    const std::uint32_t up = place_of_coarse(ReuseKind::coarse_of(middle));
    Hazard hazard = coarse_[up].hazard;
    const float value = hazard.value_of_new(insert_cost_);
    middles_.push_back({.up = up, .hazard = hazard, .value_of_new = value});
    place = static_cast<std::uint16_t>(middles_.size());
  }
  return place - 1U;
}

KindId ReuseModel::kind_of(const ReuseKind& kind) {
  const KindId known = of_fine_[kind.fine()];
  if (known != kNoKind) return known;
  if (kinds_.size() >= kKindsMax && kind.output != ReuseKind::kUnknownOutput) {
    ReuseKind broader = kind;
    broader.output = ReuseKind::kUnknownOutput;
    return kind_of(broader);  // of these there are fewer than kKindsMax
  }
  return make_kind(kind.fine());
}

KindId ReuseModel::make_kind(std::uint32_t fine) {
  const std::uint32_t middle = place_of_middle(ReuseKind::middle_of(fine));
  kinds_.push_back({.fine = fine, .middle = middle});
  kinds_.back().values.fill(middles_[middle].hazard.values());
  return of_fine_[fine] = static_cast<KindId>(kinds_.size() - 1);
}

/// A new one's blocks are then valued by what others know.
void ReuseModel::meet_others_kinds() {
  if (!board_ || kinds_.size() + kMetAtOnce > kKindsMax) return;
  const std::vector<std::uint32_t> met = board_->kinds(met_of_board_, kMetAtOnce);
  met_of_board_ += met.size();
  for (const std::uint32_t fine : met) {
    if (of_fine_[fine] == kNoKind) make_kind(fine);
  }
}

void ReuseModel::end(KindId kind, float age, float weight, bool reused) {
  ReuseCounts& counts = kinds_[kind].counts;
  counts.end(age, weight);
  if (reused) counts.reuse(age, weight);
}

float ReuseModel::value_of_new(const ReuseKind& kind) {
  return middles_[place_of_middle(kind.middle())].value_of_new;
}

void ReuseModel::begin() {
  phase_ = Phase::kSum;
  at_ = 0;
  meet_others_kinds();
  for (Kind& kind : kinds_)
    kind.alive = {};
  all_.risk = {};
  for (Broader& broader : coarse_)
    broader.risk = {};
  for (Broader& broader : middles_)
    broader.risk = {};
}

/// By this model and the others.
ReuseRisk ReuseModel::seen(const Kind& kind) const {
  ReuseRisk risk = risk_of(kind.counts, kind.alive);
  if (!board_) return risk;
  board_->publish(member_, kind.fine, risk);
  board_->add_others(member_, kind.fine, risk);
  return risk;
}

void ReuseModel::sum(const Kind& kind) {
  const ReuseRisk risk = seen(kind);
  Broader& middle = middles_[kind.middle];
  middle.risk.add(risk);
  coarse_[middle.up].risk.add(risk);
  all_.risk.add(risk);
}

bool ReuseModel::next(std::size_t count, Phase then) {
  if (++at_ < count) return false;
  at_ = 0;
  phase_ = then;
  return true;
}

bool ReuseModel::step(float insert_cost) {
  if (kinds_.empty()) return true;
  switch (phase_) {
    case Phase::kSum:
      sum(kinds_[at_]);
      if (next(kinds_.size(), Phase::kCoarse)) {
        all_.hazard = Hazard::estimate(all_.risk, prior_);
        insert_cost_ = insert_cost;
      }
      return false;
    case Phase::kCoarse: {
      Broader& coarse = coarse_[at_];
      coarse.hazard = Hazard::estimate(coarse.risk, all_.hazard);
      next(coarse_.size(), Phase::kMiddle);
      return false;
    }
    case Phase::kMiddle: {
      Broader& middle = middles_[at_];
      middle.hazard = Hazard::estimate(middle.risk, coarse_[middle.up].hazard);
      middle.value_of_new = middle.hazard.value_of_new(insert_cost_);
      next(middles_.size(), Phase::kKinds);
      return false;
    }
    case Phase::kKinds: {
      Kind& kind = kinds_[at_];
      const ReuseRisk risk = seen(kind);
      kind.values[1 - valid_] = Hazard::estimate(risk, middles_[kind.middle].hazard).values();
      if (!next(kinds_.size(), Phase::kSum)) return false;
      valid_ = 1 - valid_;
      return true;
    }
  }
  return true;
}

}  // namespace larder
