#pragma once

#include <memory>

#include "ops/bench_round.h"
#include "tests/bench/limits/process_read.h"
#include "tests/bench/limits/socket_limit.h"

namespace larder {

/// The limits that a benchmark of gets or puts is measured against, as programs that take turns
/// with Larder over the same blocks: copies for shared memory, a raw socket for TCP.
///
/// A get's copy reads the very pages of larderd's slabs, through views that it holds meanwhile. A
/// put's copy reads the pages that Larder reads and writes pages of its own of the kind that slabs
/// have, as only larderd can write those.
///
/// Borrows options, client and set, which holds all blocks already. One thread.
class BenchRivals {
 public:
  /// UNAVAILABLE when a second process or a connection cannot be had.
  static absl::StatusOr<std::unique_ptr<BenchRivals>> make(const BenchOptions& options,
                                                           Client& client, BenchSet& set);

  /// Names and programs, in equal order.
  std::vector<BenchTimes> times() const;
  std::vector<BenchProgram> programs();
  /// Copies without a checksum, for puts too.
  std::vector<BenchTimes> bare_times() const;
  std::vector<BenchProgram> bare_programs();
  /// What a put's copy writes into: "4 KiB" or "2 MiB" pages, as the slabs'.
  const std::string& far_pages() const { return far_pages_; }

 private:
  /// One block's way from the memory of the source to that of the target.
  using CopyBlock = std::function<bool(std::span<const std::byte> from, std::byte* to)>;
  struct Rival {
    std::string name;
    CopyBlock copy;  ///< none: the socket
  };

  BenchRivals(const BenchOptions& options, Client& client, BenchSet& set)
      : options_(options), client_(client), set_(set) {}
  bool put() const { return options_.operation == BenchOptions::Operation::kPut; }
  absl::Status prepare();
  absl::Status prepare_far();
  absl::Status prepare_socket();
  void add_copies();
  std::vector<BenchProgram> programs_of(const std::vector<Rival>& rivals);
  absl::Status copy_turn(const CopyBlock& copy, const BenchTurn& turn, BenchTimes& times);
  absl::Status socket_turn(const BenchTurn& turn, BenchTimes& times);
  absl::Status copy_get(const CopyBlock& copy, BenchTimer& timer, BenchTimes& times);
  absl::Status copy_put(const CopyBlock& copy, BenchTimer& timer, BenchTimes& times);

  const BenchOptions& options_;
  Client& client_;
  BenchSet& set_;
  BenchArea far_;
  std::size_t far_at_ = 0;  ///< call of a put's copy
  std::string far_pages_;
  std::vector<Rival> rivals_, bare_;
  std::unique_ptr<ProcessRead> other_process_;
  std::unique_ptr<SocketLimit> socket_;
};

}  // namespace larder
