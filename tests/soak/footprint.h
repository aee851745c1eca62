#pragma once

#include <cstdint>
#include <string>

#include "tests/e2e/daemon.h"

#include "nlohmann/json.hpp"

namespace larder::soak {

/// What a larderd without clients has and holds.
struct Footprint {
  std::uint64_t anon_kib = 0;     ///< resident memory of its own: without slabs
  std::uint64_t index_kib = 0;    ///< of the indexes, touched or not
  std::uint64_t ghosts = 0;       ///< evicted blocks that they remember
  std::uint64_t descriptors = 0;  ///< with the one client that asks; without slabs
  std::uint64_t slab_descriptors = 0, slab_files = 0;
  std::uint64_t retired_slabs = 0;
  std::uint64_t threads = 0;
  std::uint64_t client_maps = 0;  ///< mappings of memory shared with clients, without slabs
  std::uint64_t slab_kib = 0;
  std::uint64_t used_kib = 0;
  std::uint64_t capacity_kib = 0;
  std::uint64_t blocks = 0;    ///< committed or being written
  std::uint64_t listed = 0;    ///< committed
  std::uint64_t leased = 0;    ///< of them
  std::uint64_t sessions = 0;  ///< with the one that asks
  std::uint64_t pinned_bytes = 0;
  std::uint64_t pins = 0;

  nlohmann::json json() const;
};

Footprint footprint(const sim::Daemon& daemon);

/// Looks until everything that clients held is given back and no more is open than a larderd had
/// when it was new; asserts that this comes about. `what` names the moment.
void await_rest(const sim::Daemon& daemon, const Footprint& fresh, const std::string& what);

/// Asserts that a larderd has at rest, with the same blocks, what it had before.
void check_flat(const Footprint& before, const Footprint& after);

}  // namespace larder::soak
