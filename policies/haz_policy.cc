#include "policies/haz_policy.h"

#include <algorithm>
#include <cmath>

#include "store/assert.h"
#include "store/limits.h"

namespace larder {

namespace {

constexpr std::int64_t kTickNs = 10'000'000;
constexpr float kTickSeconds = 0.01F;
constexpr std::int64_t kUseNs = 1'000'000;   ///< what a use counts while time stands still
constexpr std::uint32_t kStillUses = 4'096;  ///< uses at one time before it does
constexpr std::uint32_t kUsesMax = 1'023;
constexpr std::uint32_t kPositionMax = (1U << 20) - 1;
/// Inserting a block costs as much as keeping one for this part of the age at which blocks leave.
constexpr float kInsertCost = 0.15F;
constexpr float kVictimAgeStep = 0.01F;
constexpr float kPriceSteps = 16;  ///< in which a value goes from one age bin's to the next's
/// Requests come in about the order in which they began; who is earlier by more has another clock.
constexpr Duration kDisorder = std::chrono::minutes(1);
/// Above the kinds: blocks that nothing can be expected of.
constexpr std::uint32_t kBrokenList = 0;

std::uint32_t ticks_of(Duration idle) {
  constexpr std::int64_t kMost = 1 << 27;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(idle.count() / kTickNs, 0, kMost));
}

std::uint32_t list_of(KindId kind, bool broken) {
  return broken ? kBrokenList : kind + 1U;
}

}  // namespace

void HazPolicy::advance(Time now) {
  const Duration step = last_time_ ? now - *last_time_ : Duration{0};
  if (step <= Duration{0} && step > -kDisorder && last_time_) return;
  last_time_ = now;
  if (step <= Duration{0}) return;
  still_ = 0;
  clock_rest_ns_ += step.count();
  clock_ += static_cast<Tick>(clock_rest_ns_ / kTickNs);
  clock_rest_ns_ %= kTickNs;
}

void HazPolicy::use_clock() {
  round_uses_ += 1;
  if (++still_ <= kStillUses) return;
  clock_rest_ns_ += kUseNs;
  if (clock_rest_ns_ < kTickNs) return;
  clock_ += 1;
  clock_rest_ns_ -= kTickNs;
}

float HazPolicy::age_of(const Block& block) const {
  return static_cast<float>(clock_ - block.used) * kTickSeconds;
}

HazPolicy::Block& HazPolicy::block(PolicyId id) {
  ids_ = std::max<std::size_t>(ids_, id.value() + 1);
  if (blocks_.size() <= id.value()) {
    blocks_.resize(std::max<std::size_t>(id.value() + 1, blocks_.size() * 3 / 2));
  }
  return blocks_[id.value()];
}

void HazPolicy::on_request(const RequestContext& context) {
  advance(context.now);
  work();
}

void HazPolicy::on_request_end(const RequestContext& context, std::uint32_t output_tokens) {
  request_ended_ = true;
  ended_ = context.request;
  ended_output_ = ReuseKind::output_bucket(output_tokens);
  work();
}

/// The block is used by a prompt now: what it is, is known anew.
void HazPolicy::begin_kind(Block& block, const RequestContext* context, std::uint32_t output) {
  ReuseKind kind = ReuseKind::of(context, block.position, block.uses);
  kind.output = output;
  block.kind = model_.kind_of(kind);
  block.used = clock_;
  const std::uint32_t prompt = context == nullptr ? 1 : context->prompt_blocks;
  block.prompt = static_cast<std::uint16_t>(std::clamp(prompt, 1U, 0xffffU));
}

/// Not used again: the block is gone, or forgotten and its id another's. To drop those would leave
/// only the ones that came back to learn from.
void HazPolicy::end_kind(Block& block, bool reused) {
  if (block.kind == kNoKind) return;
  model_.end(block.kind, age_of(block), 1 / static_cast<float>(block.prompt), reused);
  block.kind = kNoKind;
}

bool HazPolicy::admit(const PolicyInsert& candidate, const RequestContext* context,
                      double cheapest) {
  if (cheapest == kRoom) return true;
  const std::uint32_t uses = candidate.uses + 1;
  const ReuseKind kind = ReuseKind::of(context, candidate.position, uses);
  const auto size = static_cast<double>(std::max<std::uint64_t>(candidate.size.count, 1));
  return model_.value_of_new(kind) / size >= cheapest;
}

void HazPolicy::on_refused(const PolicyInsert& refused, const RequestContext* context) {
  Block& ghost = block(refused.id);
  end_kind(ghost, refused.uses > 0);
  ghost.uses = std::min(refused.uses + 1, kUsesMax) & kUsesMax;
  ghost.position = std::min(refused.position, kPositionMax) & kPositionMax;
  begin_kind(ghost, context, ReuseKind::kUnknownOutput);
}

void HazPolicy::on_insert(const PolicyInsert& insert, const RequestContext* context) {
  work();
  Block& added = block(insert.id);
  end_kind(added, insert.uses > 0);
  added.stamp = insert.stamp.value();
  added.size = static_cast<float>(std::max<std::uint64_t>(insert.size.count, 1));
  added.position = std::min(insert.position, kPositionMax) & kPositionMax;
  const std::uint32_t uses = insert.resident ? std::max(insert.uses, 1U) : insert.uses + 1;
  added.uses = std::min(uses, kUsesMax) & kUsesMax;
  added.fresh = context != nullptr ? 1 : 0;
  added.broken = insert.stamp == Stamp(0) ? 1 : 0;
  begin_kind(added, context, ReuseKind::kUnknownOutput);
  if (insert.resident) added.used -= ticks_of(insert.idle);
  if (const auto parent = tree_.insert(insert.id, insert.parent)) unlist(*parent);
  list(insert.id);
}

void HazPolicy::on_hit(PolicyId id, Stamp stamp, const RequestContext* context) {
  if (!tree_.tracked(id)) return;
  use_clock();
  work();
  Block& hit = block(id);
  const bool leaf = tree_.leaf(id);
  if (leaf) unlist(id);
  if (hit.fresh != 0) {
    hit.kind = kNoKind;  // of no age: nothing is learned from it
    hit.fresh = 0;
  } else {
    end_kind(hit, true);
    hit.uses = std::min(hit.uses + 1U, kUsesMax) & kUsesMax;
  }
  const bool ended = context != nullptr && context->request == ended_;
  begin_kind(hit, context, ended ? ended_output_ : ReuseKind::kUnknownOutput);
  hit.stamp = std::max(hit.stamp, stamp.value());
  hit.broken = 0;
  if (leaf) list(id);
}

void HazPolicy::on_erase(PolicyId id, EraseCause cause) {
  if (!tree_.tracked(id)) return;
  if (tree_.leaf(id)) unlist(id);
  Block& gone = block(id);
  if (cause == EraseCause::kEvicted) {
    const float step = victim_age_ == 0 ? 1 : kVictimAgeStep;
    victim_age_ += step * (age_of(gone) - victim_age_);
  } else if (gone.fresh != 0) {
    gone.kind = kNoKind;
  } else {
    end_kind(gone, false);
  }
  if (const auto parent = tree_.erase(id)) list(*parent);
}

void HazPolicy::list(PolicyId id) {
  const Block& leaf = blocks_[id.value()];
  heads_.insert(list_of(leaf.kind, leaf.broken != 0), leaf.stamp, id);
}

void HazPolicy::unlist(PolicyId id) {
  const Block& leaf = blocks_[id.value()];
  heads_.erase(list_of(leaf.kind, leaf.broken != 0), leaf.stamp, id);
}

KindHeads::HeadValue HazPolicy::price(std::uint32_t list, PolicyId id) const {
  if (list == kBrokenList) return {.value = 0, .until = ~Tick{0}};
  const Block& head = blocks_[id.value()];
  const KindId known = head.kind;
  const float age = age_of(head);
  const int bin = age_bin(age);
  if (bin + 1 == kAgeBins) return {model_.value(known, bin) / head.size, ~Tick{0}};
  // Between two bins in steps: a straight line in all but name.
  const float start = age_edge(bin);
  const float width = age_edge(bin + 1) - start;
  const float step = std::floor(std::max(age - start, 0.0F) / width * kPriceSteps) / kPriceSteps;
  const float value = model_.value(known, bin) * (1 - step) + model_.value(known, bin + 1) * step;
  const float until = start + width * (step + 1 / kPriceSteps);
  return {value / head.size, head.used + static_cast<Tick>(std::ceil(until / kTickSeconds))};
}

std::optional<Victim> HazPolicy::victim(Time /*now*/, absl::FunctionRef<bool(PolicyId)> skip) {
  calls_ += 1;
  // What one call skipped another may have: a few are looked at again at once, many in rounds.
  if (heads_.passed() > 0 && (!more_ || request_ended_ || calls_ >= kRescanCalls)) {
    heads_.restore();
    calls_ = 0;
    request_ended_ = false;
  }
  const auto price_now = [this](std::uint32_t kind, PolicyId id) { return price(kind, id); };
  std::uint32_t looks = 0;
  for (; looks < limits::kVictimScanMax; ++looks) {
    const auto head = heads_.cheapest(clock_, price_now);
    if (!head) {
      more_ = false;
      return std::nullopt;
    }
    if (!skip(head->id)) {
      more_ = looks > kRecheck || (more_ && heads_.passed() > 0);
      return Victim{head->id, head->value};
    }
    heads_.pass(*head);
  }
  more_ = true;
  return std::nullopt;
}

/// A slice of making values anew.
void HazPolicy::work() {
  if (round_ == Round::kIdle) {
    constexpr Tick kRoundTicks = kRound.count() / kTickNs;
    if (clock_ - round_began_ < kRoundTicks && round_uses_ < kRoundUses) return;
    round_began_ = clock_;
    round_uses_ = 0;
    shown_ = 0;
    model_.begin();
    round_ = Round::kShow;
    return;
  }
  if (round_ == Round::kShow) {
    if (show_waiting()) round_ = Round::kMake;
    return;
  }
  for (int step = 0; step < kSliceSteps; ++step) {
    if (!model_.step(victim_age_ * kInsertCost)) continue;
    heads_.reprice();
    round_ = Round::kIdle;
    return;
  }
}

bool HazPolicy::show_waiting() {
  const std::size_t end = std::min(shown_ + kSliceBlocks, ids_);
  for (; shown_ < end; ++shown_) {
    const Block& block = blocks_[shown_];
    if (block.kind == kNoKind) continue;
    model_.waits(block.kind, age_of(block), 1 / static_cast<float>(block.prompt));
  }
  return shown_ >= ids_;
}

}  // namespace larder
