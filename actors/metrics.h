#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "actors/latency_histogram.h"

namespace larder {

/// Counts of one node; each io thread adds, anyone reads. Names as exported: see metric_table.h.
struct NodeMetrics {
  std::atomic<std::uint64_t> gets{0};
  std::atomic<std::uint64_t> get_hits{0};
  std::atomic<std::uint64_t> get_misses{0};
  std::atomic<std::uint64_t> get_bytes{0};
  std::atomic<std::uint64_t> puts{0};
  std::atomic<std::uint64_t> put_stored{0};
  std::atomic<std::uint64_t> put_present{0};
  std::atomic<std::uint64_t> put_no_space{0};
  std::atomic<std::uint64_t> put_bytes{0};
  std::atomic<std::uint64_t> put_region_bytes{0};
  std::atomic<std::uint64_t> put_attach_bytes{0};
  std::atomic<std::uint64_t> put_stream_bytes{0};
  std::atomic<std::uint64_t> put_cancelled{0};
  std::atomic<std::uint64_t> put_corrupt{0};
  std::atomic<std::uint64_t> matches{0};
  std::atomic<std::uint64_t> match_units{0};
  std::atomic<std::uint64_t> match_hit_tokens{0};
  std::atomic<std::uint64_t> shadow_hit_tokens{0};  ///< usable, had the namespace been served
  std::atomic<std::uint64_t> shadow_get_hits{0};    ///< likewise: keys of gets and flat matches
  std::atomic<std::uint64_t> namespaces_turned_off{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> requests_expired{0};
  std::atomic<std::uint64_t> leases_expired{0};
  std::atomic<std::uint64_t> blocks_quarantined{0};
  std::atomic<std::uint64_t> scrubbed_blocks{0};
  std::atomic<std::uint64_t> scrubbed_bytes{0};
  std::atomic<std::uint64_t> sessions_opened{0};
  std::atomic<std::uint64_t> sessions_refused{0};
  std::atomic<std::uint64_t> accepts_failed{0};
  std::atomic<std::uint64_t> sessions_timed_out{0};
  std::atomic<std::uint64_t> frames_refused{0};
  std::atomic<std::uint64_t> audit_lost{0};  ///< lines that could not be written
  std::atomic<std::uint64_t> shard_restarts{0};
  std::atomic<std::uint64_t> slabs_set_aside{0};      ///< at the start
  std::atomic<std::uint64_t> slots_damaged{0};        ///< likewise
  std::atomic<std::uint64_t> shm_refused{0};          ///< wanted, but no memory or descriptor
  std::atomic<std::uint64_t> attach_refused_off{0};   ///< by the configuration
  std::atomic<std::uint64_t> attach_refused_uid{0};   ///< the client's is not the daemon's
  std::atomic<std::uint64_t> attach_refused_host{0};  ///< by the kernel
  std::atomic<std::uint64_t> capacity_changes_for_pressure{0};
  std::atomic<std::uint64_t> capacity_changes_for_room{0};
  std::atomic<std::uint64_t> capacity_changes_for_reload{0};
  /// No counter: bytes that may still be taken, as last seen; kRoomUnknown: nothing limits.
  static constexpr std::uint64_t kRoomUnknown = ~0ULL;
  std::atomic<std::uint64_t> memory_room{kRoomUnknown};
  OperationTimes times;

  using Counter = std::atomic<std::uint64_t>;
  /// Every counter by name.
  std::vector<std::pair<std::string, std::uint64_t>> snapshot() const;
};

/// Adds one (or n), relaxed: counters order nothing.
inline void count(NodeMetrics::Counter& counter, std::uint64_t n = 1) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

}  // namespace larder
