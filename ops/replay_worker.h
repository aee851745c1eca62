#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "ops/replay.h"

namespace larder {

/// What one worker counts; lies in memory shared with the parent. One writer; `done` may be read
/// while it runs, the rest after it has ended.
struct alignas(64) ReplayCounts {
  static constexpr std::size_t kErrorBytes = 256;
  std::atomic<std::uint64_t> done{0};
  std::uint64_t references = 0, hit_references = 0, wrong_bytes = 0, errors = 0, tokens_saved = 0;
  std::uint64_t get_bytes = 0, put_bytes = 0, puts_without_room = 0;
  double get_seconds = 0, put_seconds = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
  char error[kErrorBytes] = {};  ///< the first one
};

/// Latencies by request; below 0: none. Shared with the parent, too.
struct ReplayLatencies {
  std::span<float> match_us;
  std::span<float> get_us;
};

/// One process's share of a replay: serves requests one after the other, as an engine would. Owns
/// its client and one buffer of at most kBatchBytes. Not thread-safe.
class ReplayWorker {
 public:
  static constexpr std::uint32_t kBatchKeys = 256;
  static constexpr std::uint64_t kBatchBytes = 64 << 20;

  static absl::StatusOr<std::unique_ptr<ReplayWorker>> start(const ReplayOptions& options,
                                                             ReplayCounts& counts,
                                                             ReplayLatencies latencies);
  /// Match (hits are judged here, before any touch), get and check the hits, put the rest, end.
  void serve(std::size_t number, const TraceRequest& request);
  /// Calls have failed for too long: UNAVAILABLE.
  absl::Status health() const;

 private:
  ReplayWorker(const ReplayOptions& options, ReplayCounts& counts, ReplayLatencies latencies)
      : options_(options), counts_(counts), latencies_(latencies) {}
  absl::Status open();
  std::uint32_t match(std::size_t number, std::uint64_t request);
  void get_all(std::uint64_t request, std::uint32_t hits);
  void put_all(std::uint64_t request, std::uint32_t first);
  void get(std::uint64_t request, std::uint32_t first, std::uint32_t count);
  void put(std::uint64_t request, std::uint32_t first, std::uint32_t count);
  void failed(const absl::Status& status);
  std::span<std::byte> block(std::size_t n) const;

  const ReplayOptions& options_;
  ReplayCounts& counts_;
  ReplayLatencies latencies_;
  std::unique_ptr<Client> client_;
  NamespaceSpec spec_;
  NamespaceId ns_;
  std::span<std::byte> memory_;
  std::vector<std::byte> heap_;
  std::vector<BlockHash> chain_;  // of the request being served
  std::uint32_t batch_keys_ = 1;
  std::uint32_t failures_in_a_row_ = 0;
};

}  // namespace larder
