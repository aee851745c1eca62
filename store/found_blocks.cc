#include "store/found_blocks.h"

#include <algorithm>
#include <utility>

#include "store/assert.h"

namespace larder {

void FoundBlocks::add(std::vector<FoundBlock> found) {
  if (found.empty()) return;
  std::sort(found.begin(), found.end());
  heap_.push_back({std::move(found), 0});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

FoundBlock FoundBlocks::take_first() {
  LARDER_ASSERT(!heap_.empty());
  std::pop_heap(heap_.begin(), heap_.end(), later);
  Run& run = heap_.back();
  const FoundBlock first = run.front();
  if (++run.next < run.blocks.size()) {
    std::push_heap(heap_.begin(), heap_.end(), later);
  } else {
    heap_.pop_back();
  }
  return first;
}

}  // namespace larder
