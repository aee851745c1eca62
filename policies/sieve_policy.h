#pragma once

#include <vector>

#include "policies/leaf_policy.h"

namespace larder {

/// SIEVE (Zhang et al., NSDI 2024), leaves first: a hand goes from the oldest block to the newest;
/// one used since the hand came by last is spared, the first that was not leaves. Its stamp is its
/// value, so that the hands of all shards are at about the same age.
///
/// Owns a bit an id. Not thread-safe. victim() clears the bits of those it spares.
class SievePolicy final : public LeafPolicy {
 public:
  void on_insert(const PolicyInsert& insert, const RequestContext* context) override;
  void on_hit(PolicyId id, Stamp stamp, const RequestContext* context) override;
  void on_erase(PolicyId id, EraseCause cause) override;
  std::optional<Victim> victim(Time now, absl::FunctionRef<bool(PolicyId)> skip) override;

 private:
  enum class Use : std::uint8_t { kNew, kNone, kUsed };  ///< kNew: its own request goes on

  std::vector<Use> uses_;  // by id
  LeafOrder::Rank hand_ = LeafOrder::kFirst;
};

}  // namespace larder
