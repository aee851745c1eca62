#pragma once

#include <memory>
#include <vector>

#include "ops/bench.h"
#include "ops/bench_area.h"

namespace larder {

/// The blocks of one size that a benchmark goes through in order, call by call: larger than the
/// caches, so that every call is cold. Their bytes lie in this process, in a registered region or
/// in plain memory, and (after store_all()) in larderd.
///
/// Owns the memory, which the client of a region frees; borrows options and client. One thread.
class BenchSet {
 public:
  /// INVALID_ARGUMENT when two calls do not fit half of larderd's capacity.
  static absl::StatusOr<std::unique_ptr<BenchSet>> make(const BenchOptions& options, Client& client,
                                                        std::uint64_t block_bytes);

  std::uint64_t block_bytes() const { return block_bytes_; }
  std::uint64_t call_bytes() const { return batch_ * block_bytes_; }
  std::uint32_t batch() const { return batch_; }
  std::uint32_t depth() const { return depth_; }
  bool shm() const { return shm_; }
  NamespaceId ns() const { return ns_; }
  std::span<std::byte> near() const { return near_; }

  /// One call's blocks.
  struct Call {
    std::vector<Key> keys;
    std::vector<std::vector<MutableBuffer>> into;
    std::vector<std::vector<ConstBuffer>> from;
    std::uint64_t first = 0;  ///< block, of the set
  };
  /// Each call goes on where the last ended, round and round.
  Call next_call();
  /// The next call is the first.
  void restart() { next_ = 0; }
  /// next_call() begins the set anew.
  bool at_start() const { return next_ == 0; }
  std::span<std::byte> near(std::uint64_t block) const {
    return near_.subspan(block * block_bytes_, block_bytes_);
  }

  /// Puts every block.
  absl::Status store_all();
  /// Removes every block that was put under any name.
  absl::Status remove_all();
  /// The same bytes under names that larderd has not seen.
  void rename() { generation_ += 1; }

  /// UNAVAILABLE unless every key of a call was served.
  absl::Status check(const Completion& done) const;

 private:
  BenchSet(Client& client, std::uint64_t block_bytes)
      : client_(client), block_bytes_(block_bytes) {}
  absl::Status prepare(const BenchOptions& options);
  absl::Status open_namespace();
  std::vector<Key> keys(std::uint64_t first) const;

  Client& client_;
  std::uint64_t block_bytes_;
  std::uint32_t batch_ = 1;
  std::uint32_t depth_ = 1;
  bool shm_ = true;
  NamespaceId ns_;
  std::uint64_t blocks_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t oldest_ = 0;  ///< generation that may still be stored
  BenchArea area_;
  std::span<std::byte> near_;
};

}  // namespace larder
