#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "ops/sim_trace.h"
#include "store/types.h"

namespace larder {

/// Hints as an engine might give them: `oracle:ERR[:SEED]`. The true count c of a request's n
/// leading positions that are used again; with probability ERR it is wrong: min(c, 1) where
/// 2 c ≥ n, else n.
struct SimHints {
  double wrong = 0;
  std::uint64_t seed = 1;
};
/// INVALID_ARGUMENT with what is allowed.
absl::StatusOr<SimHints> parse_hints(const std::string& text);
/// One a request. Equal seeds give equal hints.
std::vector<std::uint32_t> make_hints(const SimTrace& trace, const SimHints& hints);

/// Capacities in blocks, of a list by commas: `10000`, `64GiB` (of blocks of `block_bytes`), or
/// `curve:N`: N of them, evenly by their logarithm, up to `unique`. INVALID_ARGUMENT.
absl::StatusOr<std::vector<std::uint64_t>> parse_capacities(const std::string& text,
                                                            Bytes block_bytes,
                                                            std::uint64_t unique);

/// SHARDS (Waldspurger et al., FAST 2015): the blocks whose hash falls below `rate`, with the
/// requests that refer to them. A cache of capacity × rate sees what one of capacity sees of all.
SimTrace sample(const SimTrace& trace, double rate);

}  // namespace larder
