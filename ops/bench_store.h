#pragma once

#include "ops/bench_set.h"

namespace larder {

/// Blocks that larderd has evicted since it started.
absl::StatusOr<double> evictions_of(Client& client);

/// Puts whole sets under new names until blocks are evicted, and one set more: from then on every
/// put evicts.
absl::Status fill_store(Client& client, BenchSet& set);

}  // namespace larder
