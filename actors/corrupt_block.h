#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "absl/base/thread_annotations.h"

#include "actors/session_lookup.h"
#include "store/mutex.h"

namespace larder {

struct NodeContext;

/// Puts a committed block whose bytes are not what was committed out of service: counted, logged
/// with how it was found, told to its shard. A guarded namespace is off from then on. Any thread.
void condemn(NodeContext& node, const LocatedKey& at, const char* found_by);

/// Blocks that somebody had reason to doubt and could not look at any more; the scrubber does.
/// Bounded: beyond kMax the doubt is forgotten, and the scrub's round finds what is bad.
///
/// Any thread; a mutex for a few moves, taken only when there was a doubt.
class Suspects {
 public:
  static constexpr std::size_t kMax = 4'096;

  void add(const LocatedKey& at);
  std::optional<LocatedKey> take();

 private:
  Mutex mutex_;
  std::deque<LocatedKey> blocks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace larder
