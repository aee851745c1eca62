#include "policies/reuse_board.h"

#include <algorithm>

namespace larder {

ReuseBoard::Member ReuseBoard::join() {
  MutexLock lock(&mutex_);
  parts_.emplace_back();
  return static_cast<Member>(parts_.size() - 1);
}

void ReuseBoard::publish(Member member, std::uint32_t kind, const ReuseRisk& seen) {
  MutexLock lock(&mutex_);
  Part& part = parts_[member];
  if (part.size() <= kind) part.resize(kind + 1);
  if (part[kind] == nullptr) part[kind] = std::make_unique<ReuseRisk>();
  *part[kind] = seen;
  if (met_.size() <= kind) met_.resize(kind + 1);
  if (met_[kind]) return;
  met_[kind] = true;
  order_.push_back(kind);
}

void ReuseBoard::add_others(Member member, std::uint32_t kind, ReuseRisk& sum) const {
  MutexLock lock(&mutex_);
  for (std::size_t n = 0; n < parts_.size(); ++n) {
    if (n == member || parts_[n].size() <= kind || parts_[n][kind] == nullptr) continue;
    sum.add(*parts_[n][kind]);
  }
}

std::vector<std::uint32_t> ReuseBoard::kinds(std::size_t first, std::size_t most) const {
  MutexLock lock(&mutex_);
  const std::size_t begin = std::min(first, order_.size());
  const std::size_t end = std::min(order_.size(), begin + most);
  return {order_.begin() + static_cast<std::ptrdiff_t>(begin),
          order_.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace larder
