#include "store/found_blocks.h"

#include <algorithm>
#include <utility>

#include "store/assert.h"

namespace larder {

void FoundBlocks::add(const FoundBlock& found) {
  open_run_.push_back(found);
  if (open_run_.size() == kRun) finish_run();
}

void FoundBlocks::finish_run() {
  if (open_run_.empty()) return;
  std::sort(open_run_.begin(), open_run_.end());
  heap_.push_back({std::exchange(open_run_, {}), 0});
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
