#pragma once

#include <random>
#include <vector>

#include "ops/bench.h"

namespace larder {

/// Chains of equal length whose every block larderd holds, drawn at random: an index so large that
/// a match finds little of it in the caches.
///
/// Borrows the client. One thread.
class BenchChains {
 public:
  /// Stores `blocks` of them, rounded down to whole chains, and at least one chain.
  /// INVALID_ARGUMENT when they do not fit half of larderd's capacity.
  static absl::StatusOr<BenchChains> store(const BenchOptions& options, Client& client);

  NamespaceId ns() const { return ns_; }
  std::uint64_t chains() const { return chains_; }
  std::uint64_t blocks() const { return chains_ * positions_; }
  /// The hashes of one of them. `rng` decides which.
  std::vector<BlockHash> draw(std::mt19937_64& rng) const;

  /// Keeps every block from eviction. RESOURCE_EXHAUSTED beyond larderd's pin quota.
  absl::Status pin_all(Client& client) const;
  absl::Status remove_all(Client& client) const;

 private:
  std::vector<BlockHash> chain(std::uint64_t n) const;
  std::vector<Key> keys(std::uint64_t n) const;

  NamespaceSpec spec_;
  NamespaceId ns_;
  std::uint64_t chains_ = 1;
  std::uint32_t positions_ = 1;
};

}  // namespace larder
