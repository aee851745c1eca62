#include "ops/bench_set.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "ops/clock.h"
#include "ops/replay_block.h"
#include "store/status_macros.h"

namespace larder {
namespace {

constexpr std::uint64_t kCallBytes = 4 << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<BenchSet>> BenchSet::make(const BenchOptions& options,
                                                         Client& client,
                                                         std::uint64_t block_bytes) {
  std::unique_ptr<BenchSet> set(new BenchSet(client, block_bytes));
  LARDER_RETURN_IF_ERROR(set->prepare(options));
  return set;
}

absl::Status BenchSet::prepare(const BenchOptions& options) {
  shm_ = client_.stats().transport == "shm";
  depth_ = options.depth != 0 ? options.depth : (shm_ ? 1 : 2);
  batch_ = options.batch;
  if (batch_ == 0) {
    batch_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, kCallBytes / block_bytes_));
  }
  LARDER_RETURN_IF_ERROR(open_namespace());
  LARDER_ASSIGN_OR_RETURN(const std::uint64_t capacity, capacity_of(client_));
  const std::uint64_t calls = std::min(options.cold_bytes, capacity / 2) / call_bytes();
  if (calls < 2) {
    return absl::InvalidArgumentError(fmt::format(
        "two calls of {} bytes do not fit half of the capacity of {}", call_bytes(), capacity));
  }
  blocks_ = calls * batch_;
  const std::size_t bytes = blocks_ * block_bytes_;
  if (shm_ && !options.heap) {
    LARDER_ASSIGN_OR_RETURN(near_, client_.allocate_region(bytes));
  } else {
    LARDER_ASSIGN_OR_RETURN(area_, BenchArea::make(bytes, BenchArea::Pages::kPrivate));
    near_ = area_.bytes();
  }
  for (std::uint64_t n = 0; n < blocks_; ++n)
    fill_block(replay_hash(n), near(n));
  return absl::OkStatus();
}

absl::Status BenchSet::open_namespace() {
  NamespaceSpec spec;
  spec.fingerprint = {.model = "bench",
                      .revision = fmt::format("{}-{}-{}", block_bytes_, getpid(),
                                              clock_now().time_since_epoch().count()),
                      .flat = true};
  spec.groups = {{.block_bytes = {block_bytes_}}};
  LARDER_ASSIGN_OR_RETURN(ns_, client_.open_namespace(spec));
  return absl::OkStatus();
}

BenchSet::Call BenchSet::next_call() {
  Call call{.keys = keys(next_), .into = {}, .from = {}, .first = next_};
  for (std::uint32_t n = 0; n < batch_; ++n) {
    const auto block = near(next_ + n);
    call.into.push_back({{block.data(), block.size()}});
    call.from.push_back({{block.data(), block.size()}});
  }
  next_ = (next_ + batch_) % blocks_;
  return call;
}

absl::Status BenchSet::store_all() {
  next_ = 0;
  do {
    const Call call = next_call();
    LARDER_RETURN_IF_ERROR(check(client_.put(ns_, call.keys, call.from, {})));
  } while (!at_start());
  return absl::OkStatus();
}

absl::Status BenchSet::remove_all() {
  const std::uint64_t newest = generation_;
  for (generation_ = oldest_; generation_ < newest + 1; ++generation_) {
    for (std::uint64_t first = 0; first < blocks_; first += batch_) {
      LARDER_RETURN_IF_ERROR(status_of(client_.remove(ns_, keys(first))));
    }
  }
  generation_ = newest;
  oldest_ = newest;
  return absl::OkStatus();
}

absl::Status BenchSet::check(const Completion& done) const {
  LARDER_RETURN_IF_ERROR(status_of(done));
  for (const KeyStatus status : done.keys) {
    if (status == KeyStatus::kOk) continue;
    return absl::UnavailableError(fmt::format(
        "a block of the benchmark was answered {}: is larderd in other use?", word_of(status)));
  }
  return absl::OkStatus();
}

std::vector<Key> BenchSet::keys(std::uint64_t first) const {
  std::vector<Key> out(batch_);
  for (std::uint32_t n = 0; n < batch_; ++n) {
    out[n].hash = replay_hash(generation_ << 32 | (first + n));
    out[n].anchor = out[n].hash;
    out[n].length = static_cast<std::uint32_t>(block_bytes_);
    out[n].flags = wire::kKeyFlat;
  }
  return out;
}

}  // namespace larder
