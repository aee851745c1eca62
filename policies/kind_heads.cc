#include "policies/kind_heads.h"

#include <algorithm>
#include <bit>

namespace larder {

void KindHeads::touch(std::uint32_t kind) {
  if (kinds_.size() <= kind) {
    kinds_.resize(kind + 1);
    values_.resize(kind + 1, kEmpty);
    until_.resize(kind + 1, ~Clock{0});
  }
  if (until_[kind] == 0) return;  // dirty already
  until_[kind] = 0;
  dirty_.push_back(kind);
}

void KindHeads::insert(std::uint32_t kind, std::uint64_t stamp, PolicyId id) {
  if (kinds_.size() <= kind) touch(kind);
  Kind& of = kinds_[kind];
  const Leaf leaf{stamp, id.value()};
  of.leaves.insert(leaf);
  if (of.passed && leaf < *of.passed) of.passed.reset();  // it was not looked at
  if (values_[kind] == kEmpty || leaf < of.head) touch(kind);
}

void KindHeads::erase(std::uint32_t kind, std::uint64_t stamp, PolicyId id) {
  Kind& of = kinds_[kind];
  const Leaf leaf{stamp, id.value()};
  of.leaves.erase(leaf);
  if (leaf == of.head) touch(kind);
}

void KindHeads::reprice_one(std::uint32_t kind, Price price) {
  Kind& of = kinds_[kind];
  const auto head = of.passed ? of.leaves.upper_bound(*of.passed) : of.leaves.begin();
  if (head == of.leaves.end()) {
    values_[kind] = kEmpty;
    until_[kind] = ~Clock{0};
    return;
  }
  of.head = *head;
  const HeadValue value = price(kind, PolicyId(head->second));
  values_[kind] = std::bit_cast<std::uint32_t>(value.value);
  until_[kind] = std::max<Clock>(value.until, 1);
}

/// True when a head may have changed.
bool KindHeads::refresh(Clock now, Price price) {
  const auto kinds = static_cast<std::uint32_t>(kinds_.size());
  bool changed = !dirty_.empty();
  if (repriced_ || now != refreshed_) {
    for (std::uint32_t kind = 0; kind < kinds; ++kind) {
      if (!repriced_ && until_[kind] > now) continue;
      reprice_one(kind, price);
      changed = true;
    }
  } else {
    for (const std::uint32_t kind : dirty_)
      reprice_one(kind, price);
  }
  dirty_.clear();
  repriced_ = false;
  refreshed_ = now;
  return changed;
}

std::optional<KindHeads::Head> KindHeads::cheapest(Clock now, Price price) {
  if (refresh(now, price)) cheapest_ = find_cheapest();
  return cheapest_;
}

std::optional<KindHeads::Head> KindHeads::find_cheapest() const {
  std::uint32_t least = kEmpty;
  for (const std::uint32_t value : values_)
    least = std::min(least, value);
  if (least == kEmpty) return std::nullopt;
  std::uint32_t best = 0;
  bool found = false;
  for (std::uint32_t kind = 0; kind < values_.size(); ++kind) {
    if (values_[kind] != least) continue;
    if (!found || kinds_[kind].head < kinds_[best].head) best = kind;
    found = true;
  }
  return Head{best, PolicyId(kinds_[best].head.second), std::bit_cast<float>(least)};
}

void KindHeads::pass(const Head& head) {
  Kind& of = kinds_[head.kind];
  if (!of.passed) passed_.push_back(head.kind);
  of.passed = of.head;
  touch(head.kind);
}

void KindHeads::restore() {
  for (const std::uint32_t kind : passed_) {
    kinds_[kind].passed.reset();
    touch(kind);
  }
  passed_.clear();
}

}  // namespace larder
