#pragma once

#include <vector>

#include "policies/leaf_policy.h"

namespace larder {

/// S3-FIFO (Yang et al., SOSP 2023), leaves first: new blocks wait in a small queue, a tenth of
/// all; those used there move to the main queue, in which a use is another round. A block that
/// comes back while it is among the last that left (as many as the main queue has) goes there at
/// once.
///
/// Owns 16 bytes an id. Not thread-safe. victim() moves those that it spares.
class S3FifoPolicy final : public LeafPolicy {
 public:
  void on_insert(const PolicyInsert& insert, const RequestContext* context) override;
  void on_hit(PolicyId id, Stamp stamp, const RequestContext* context) override;
  void on_erase(PolicyId id, EraseCause cause) override;
  std::optional<Victim> victim(Time now, absl::FunctionRef<bool(PolicyId)> skip) override;

 private:
  static constexpr std::uint64_t kMain = 1;  ///< a rank's major; 0: the small queue
  static constexpr std::uint8_t kUsesMax = 3;
  struct Block {
    std::uint64_t left = 0;  ///< when it left, counted in evictions; 0: has not
    std::uint8_t uses = 0;   ///< since it entered its queue
    bool is_new = false;     ///< its own request goes on
  };

  LeafOrder::Rank to_main();
  std::optional<PolicyId> of_small(absl::FunctionRef<bool(PolicyId)> skip);
  std::optional<PolicyId> of_main(absl::FunctionRef<bool(PolicyId)> skip);

  std::vector<Block> blocks_;  // by id, a ghost's too
  std::uint64_t tail_ = 0;     ///< minor of the main queue's newest, in the node's order
  std::uint64_t evictions_ = 0;
  std::uint64_t latest_ = 0;  ///< stamp that it was told
  std::size_t small_ = 0;     ///< blocks in the small queue
};

}  // namespace larder
