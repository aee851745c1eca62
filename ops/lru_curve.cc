#include "ops/lru_curve.h"

#include <utility>

namespace larder {
namespace {

/// Counts marks up to a place. Places are numbered from 1.
class Fenwick {
 public:
  explicit Fenwick(std::size_t places) : sums_(places + 1) {}

  void add(std::size_t place, std::uint32_t by) {
    for (; place < sums_.size(); place += place & (~place + 1))
      sums_[place] += by;  // wraps around: to take one away is to add its complement
  }
  std::uint32_t up_to(std::size_t place) const {
    std::uint32_t sum = 0;
    for (; place > 0; place &= place - 1)
      sum += sums_[place];
    return sum;
  }

 private:
  std::vector<std::uint32_t> sums_;
};

}  // namespace

LruCurve::LruCurve(const SimTrace& trace)
    : references_(trace.references()),
      unique_(trace.unique),
      hits_(trace.unique + 1),
      resident_(trace.unique + 1) {
  constexpr std::uint32_t kOne = 1;
  Fenwick marks(trace.blocks.size());
  std::vector<std::size_t> last(trace.unique);  // place of a block's last touch; 0: none
  std::size_t touched = 0;
  std::uint32_t marked = 0;
  std::uint32_t number = 0;
  std::vector<std::uint32_t> named_by(trace.unique);  // request, from 1
  for (const SimTrace::Request& request : trace.requests) {
    const auto blocks = trace.blocks_of(request);
    std::uint32_t deepest = 0;  // what the prefix up to here needs
    bool whole = true;
    number += 1;
    for (const std::uint32_t block : blocks) {
      // The second time that a prompt names a block, it is there.
      const bool again = std::exchange(named_by[block], number) == number;
      if (again) resident_[1] += 1;
      if (last[block] == 0) {
        whole = false;
        continue;
      }
      const std::uint32_t needs = marked - marks.up_to(last[block] - 1);
      if (!again) resident_[needs] += 1;
      deepest = std::max(deepest, needs);
      if (whole) hits_[deepest] += 1;
    }
    const std::size_t before = touched;
    for (std::size_t n = blocks.size(); n-- > 0;) {  // suffix-first
      std::size_t& place = last[blocks[n]];
      if (place > before) continue;  // named twice
      if (place != 0) marks.add(place, 0U - kOne);
      if (place == 0) marked += 1;
      place = ++touched;
      marks.add(place, kOne);
    }
  }
  for (std::size_t n = 1; n < hits_.size(); ++n) {
    hits_[n] += hits_[n - 1];
    resident_[n] += resident_[n - 1];
  }
}

}  // namespace larder
