#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "policies/reuse_curve.h"
#include "store/mutex.h"

namespace larder {

/// What the models of several shards have seen of each kind of block, added up: a shard sees a part
/// of the blocks, and by that alone would learn as much slower, and value equal blocks differently
/// from its neighbours.
///
/// A model publishes its part, kind by kind, once a round, and asks for what the others have seen.
/// What a model that is gone has seen stays. Owns 288 bytes a kind and member. Thread-safe, one
/// lock, held for a microsecond. Cannot fail.
class ReuseBoard {
 public:
  using Member = std::uint32_t;

  Member join() ABSL_LOCKS_EXCLUDED(mutex_);
  /// `kind` is a number below ReuseKind::kFine.
  void publish(Member member, std::uint32_t kind, const ReuseRisk& seen)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void add_others(Member member, std::uint32_t kind, ReuseRisk& sum) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  /// Kinds in the order in which somebody met them first, from the `first` on, `most` at most.
  std::vector<std::uint32_t> kinds(std::size_t first, std::size_t most) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Part = std::vector<std::unique_ptr<ReuseRisk>>;  // by kind; null: not met

  mutable Mutex mutex_;
  std::vector<Part> parts_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> met_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> order_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace larder
