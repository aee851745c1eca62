#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "ops/bench.h"
#include "ops/bench_area.h"
#include "ops/clock.h"
#include "ops/replay_block.h"
#include "store/limits.h"
#include "store/status_macros.h"
#include "tests/bench/limits/memcpy_limit.h"
#include "tests/bench/limits/socket_limit.h"

namespace larder {
namespace {

constexpr std::uint64_t kColdBytes = 512 << 20;  // larger than any cache that we know of
constexpr std::uint64_t kCallBytes = 4 << 20;
constexpr double kMib = 0x1p20;

/// The calls on one size: a working set of blocks, gone through in order.
class Bench {
 public:
  Bench(const BenchOptions& options, Client& client, std::uint64_t block_bytes)
      : options_(options), client_(client), block_bytes_(block_bytes) {}

  absl::StatusOr<BenchRow> run();

 private:
  bool put() const { return options_.operation == BenchOptions::Operation::kPut; }
  absl::Status prepare();
  absl::Status prepare_memory();
  absl::Status prepare_limit();
  absl::Status store_all();
  absl::Status remove_all();
  double limit_round(Duration duration, BenchRow& row);
  absl::Status larder_round(Duration duration, BenchRow& row);
  absl::Status one_call(std::vector<float>& us);
  absl::Status windowed_round(Duration duration, std::vector<float>& us, std::uint64_t* calls);
  std::uint64_t submit();
  absl::Status check(const Completion& done) const;
  /// Buffers and keys of the next call; a put that has used all its names takes new ones first.
  absl::Status next_call();
  std::vector<Key> keys(std::uint64_t first, std::uint32_t count) const;
  std::span<std::byte> near(std::uint64_t block) const;

  const BenchOptions& options_;
  Client& client_;
  std::uint64_t block_bytes_;
  std::uint32_t batch_ = 1;
  std::uint32_t depth_ = 1;
  bool shm_ = true;
  NamespaceId ns_;
  std::uint64_t blocks_ = 0;      // of the working set
  std::uint64_t next_ = 0;        // block of the next call
  std::uint64_t generation_ = 0;  // puts: names of this pass
  BenchArea near_area_, far_area_;
  std::span<std::byte> near_;
  std::optional<MemcpyLimit> memcpy_;
  std::unique_ptr<SocketLimit> socket_;
  std::vector<Key> call_keys_;
  std::vector<std::vector<MutableBuffer>> get_buffers_;
  std::vector<std::vector<ConstBuffer>> put_buffers_;
};

absl::StatusOr<BenchRow> Bench::run() {
  LARDER_RETURN_IF_ERROR(prepare());
  const auto slice = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(options_.seconds / options_.rounds / 2));
  BenchRow row{.bytes = block_bytes_,
               .batch = batch_,
               .depth = depth_,
               .mib_s = {},
               .limit_mib_s = {},
               .us = {},
               .limit_us = {}};
  BenchRow warm_up = row;
  LARDER_RETURN_IF_ERROR(larder_round(slice, warm_up));
  for (std::uint32_t n = 0; n < options_.rounds; ++n) {
    row.limit_mib_s.push_back(limit_round(slice, row) / kMib);
    LARDER_RETURN_IF_ERROR(larder_round(slice, row));
  }
  LARDER_RETURN_IF_ERROR(remove_all());
  return row;
}

absl::Status Bench::prepare() {
  shm_ = client_.stats().transport == "shm";
  depth_ = options_.depth != 0 ? options_.depth : (shm_ ? 1 : 2);
  batch_ = options_.batch;
  if (batch_ == 0) {
    batch_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, kCallBytes / block_bytes_));
  }
  NamespaceSpec spec;
  spec.fingerprint = {.model = "bench",
                      .revision = fmt::format("{}-{}-{}", block_bytes_, getpid(),
                                              clock_now().time_since_epoch().count()),
                      .flat = true};
  spec.groups = {{.block_bytes = {block_bytes_}}};
  LARDER_ASSIGN_OR_RETURN(ns_, client_.open_namespace(spec));
  LARDER_ASSIGN_OR_RETURN(const std::uint64_t capacity, capacity_of(client_));
  const std::uint64_t call = batch_ * block_bytes_;
  const std::uint64_t calls = std::min(kColdBytes, capacity / 2) / call;
  if (calls < 2) {
    return absl::InvalidArgumentError(
        fmt::format("two calls of {} bytes do not fit half of the capacity of {}", call, capacity));
  }
  blocks_ = calls * batch_;
  LARDER_RETURN_IF_ERROR(prepare_memory());
  LARDER_RETURN_IF_ERROR(prepare_limit());
  return store_all();
}

absl::Status Bench::prepare_memory() {
  const std::size_t bytes = blocks_ * block_bytes_;
  LARDER_ASSIGN_OR_RETURN(far_area_, BenchArea::make(bytes, BenchArea::Pages::kShared));
  if (shm_ && !options_.heap) {
    LARDER_ASSIGN_OR_RETURN(near_, client_.allocate_region(bytes));
    std::fill(near_.begin(), near_.end(), std::byte{0x5a});
    return absl::OkStatus();
  }
  LARDER_ASSIGN_OR_RETURN(near_area_, BenchArea::make(bytes, BenchArea::Pages::kPrivate));
  near_ = near_area_.bytes();
  return absl::OkStatus();
}

absl::Status Bench::prepare_limit() {
  const std::size_t call = batch_ * block_bytes_;
  if (shm_) {
    const auto from = put() ? near_ : far_area_.bytes();
    const auto to = put() ? far_area_.bytes() : near_;
    memcpy_.emplace(from, to, block_bytes_, call, &clock_now);
    return absl::OkStatus();
  }
  SocketLimit::Options limit{.load = put() ? SocketLimit::Load::kPut : SocketLimit::Load::kGet,
                             .tcp = true,
                             .block_bytes = block_bytes_,
                             .call_bytes = call,
                             .depth = depth_,
                             .near = near_,
                             .far = far_area_.bytes(),
                             .clock = &clock_now};
  LARDER_ASSIGN_OR_RETURN(socket_, SocketLimit::start(limit));
  return absl::OkStatus();
}

absl::Status Bench::store_all() {
  for (std::uint64_t n = 0; n < blocks_; ++n)
    fill_block(replay_hash(n), near(n));
  for (std::uint64_t first = 0; first < blocks_; first += batch_) {
    std::vector<ConstBuffer> buffers;
    for (std::uint32_t n = 0; n < batch_; ++n) {
      buffers.push_back({near(first + n).data(), block_bytes_});
    }
    LARDER_RETURN_IF_ERROR(check(client_.put(ns_, keys(first, batch_), buffers, {})));
  }
  return absl::OkStatus();
}

absl::Status Bench::remove_all() {
  for (std::uint64_t first = 0; first < blocks_; first += batch_) {
    LARDER_RETURN_IF_ERROR(status_of(client_.remove(ns_, keys(first, batch_))));
  }
  return absl::OkStatus();
}

double Bench::limit_round(Duration duration, BenchRow& row) {
  return shm_ ? memcpy_->round(duration) : socket_->round(duration, row.limit_us);
}

absl::Status Bench::larder_round(Duration duration, BenchRow& row) {
  Duration spent{0};
  std::uint64_t calls = 0;
  while (calls == 0 || (options_.count != 0 ? calls < options_.count : spent < duration)) {
    LARDER_RETURN_IF_ERROR(next_call());  // not measured: a put may have to take new names
    const Time start = clock_now();
    if (depth_ == 1) {
      LARDER_RETURN_IF_ERROR(one_call(row.us));
      calls += 1;
    } else {
      LARDER_RETURN_IF_ERROR(windowed_round(duration - spent, row.us, &calls));
    }
    spent += clock_now() - start;
  }
  const double seconds = std::chrono::duration<double>(spent).count();
  row.mib_s.push_back(static_cast<double>(calls * batch_ * block_bytes_) / seconds / kMib);
  return absl::OkStatus();
}

absl::Status Bench::one_call(std::vector<float>& us) {
  const Time start = clock_now();
  const Completion done = put() ? client_.put(ns_, call_keys_, put_buffers_, {})
                                : client_.get(ns_, call_keys_, get_buffers_, {});
  us.push_back(us_between(start, clock_now()));
  return check(done);
}

/// Keeps `depth_` calls outstanding, until the time is up or a put has used all its names.
absl::Status Bench::windowed_round(Duration duration, std::vector<float>& us,
                                   std::uint64_t* calls) {
  std::map<std::uint64_t, Time> open;
  const Time start = clock_now();
  bool more = true;
  while (more || !open.empty()) {
    while (more && open.size() < depth_) {
      const Time submitted = clock_now();
      open.emplace(submit(), submitted);
      const bool enough = options_.count != 0 ? *calls + open.size() >= options_.count
                                              : submitted - start >= duration;
      more = !enough && !(put() && next_ == 0);
      if (more) LARDER_RETURN_IF_ERROR(next_call());
    }
    pollfd ready{.fd = client_.event_fd(), .events = POLLIN, .revents = 0};
    poll(&ready, 1, -1);
    for (const Completion& done : client_.drain_completions()) {
      LARDER_RETURN_IF_ERROR(check(done));
      const auto call = open.find(done.id);
      if (call == open.end()) continue;
      us.push_back(us_between(call->second, clock_now()));
      open.erase(call);
      *calls += 1;
    }
  }
  return absl::OkStatus();
}

std::uint64_t Bench::submit() {
  return put() ? client_.submit_put(ns_, call_keys_, put_buffers_, {})
               : client_.submit_get(ns_, call_keys_, get_buffers_, {});
}

absl::Status Bench::check(const Completion& done) const {
  LARDER_RETURN_IF_ERROR(status_of(done));
  for (const KeyStatus status : done.keys) {
    if (status == KeyStatus::kOk) continue;
    return absl::UnavailableError(fmt::format(
        "a block of the benchmark was answered {}: is larderd in other use?", word_of(status)));
  }
  return absl::OkStatus();
}

absl::Status Bench::next_call() {
  if (put() && next_ == 0) {
    LARDER_RETURN_IF_ERROR(remove_all());
    generation_ += 1;
  }
  call_keys_ = keys(next_, batch_);
  get_buffers_.clear();
  put_buffers_.clear();
  for (std::uint32_t n = 0; n < batch_; ++n) {
    const auto block = near(next_ + n);
    get_buffers_.push_back({{block.data(), block.size()}});
    put_buffers_.push_back({{block.data(), block.size()}});
  }
  next_ = (next_ + batch_) % blocks_;
  return absl::OkStatus();
}

std::vector<Key> Bench::keys(std::uint64_t first, std::uint32_t count) const {
  std::vector<Key> out(count);
  for (std::uint32_t n = 0; n < count; ++n) {
    out[n].hash = replay_hash(generation_ << 32 | (first + n));
    out[n].anchor = out[n].hash;
    out[n].length = static_cast<std::uint32_t>(block_bytes_);
    out[n].flags = wire::kKeyFlat;
  }
  return out;
}

std::span<std::byte> Bench::near(std::uint64_t block) const {
  return near_.subspan(block * block_bytes_, block_bytes_);
}

}  // namespace

absl::StatusOr<BenchRow> bench_bytes(const BenchOptions& options, Client& client,
                                     std::uint64_t block_bytes) {
  return Bench(options, client, block_bytes).run();
}

}  // namespace larder
