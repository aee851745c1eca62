#include "ops/replay_worker.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ops/clock.h"
#include "ops/replay_block.h"
#include "store/status_macros.h"

namespace larder {
namespace {

constexpr std::uint32_t kFailuresInARowMax = 20;

NamespaceSpec spec_of(const ReplayOptions& options) {
  NamespaceSpec spec;
  spec.fingerprint = {.model = "replay", .revision = options.seed};
  spec.unit_tokens = options.tokens_per_block;
  spec.groups = {{.block_tokens = options.tokens_per_block, .block_bytes = options.block_bytes}};
  return spec;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReplayWorker>> ReplayWorker::start(const ReplayOptions& options,
                                                                  ReplayCounts& counts,
                                                                  ReplayLatencies latencies) {
  std::unique_ptr<ReplayWorker> worker(new ReplayWorker(options, counts, latencies));
  LARDER_RETURN_IF_ERROR(worker->open());
  return worker;
}

absl::Status ReplayWorker::open() {
  spec_ = spec_of(options_);
  LARDER_RETURN_IF_ERROR(spec_.validate());
  LARDER_ASSIGN_OR_RETURN(client_, connect(options_.connection));
  LARDER_ASSIGN_OR_RETURN(ns_, client_->open_namespace(spec_));
  // All workers' batches together stay well below the capacity: what is being put cannot leave.
  LARDER_ASSIGN_OR_RETURN(const std::uint64_t capacity, capacity_of(*client_));
  const std::uint64_t share = capacity / 8 / std::max(1U, options_.workers);
  const std::uint64_t fitting =
      std::max<std::uint64_t>(1, std::min(kBatchBytes, share) / options_.block_bytes.count);
  batch_keys_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(kBatchKeys, fitting));
  const std::size_t bytes = batch_keys_ * options_.block_bytes.count;
  if (client_->stats().transport == "shm") {
    LARDER_ASSIGN_OR_RETURN(memory_, client_->allocate_region(bytes));
  } else {
    heap_.resize(bytes);
    memory_ = heap_;
  }
  return absl::OkStatus();
}

void ReplayWorker::serve(std::size_t number, const TraceRequest& request) {
  chain_.clear();
  for (const std::uint64_t id : request.hash_ids)
    chain_.push_back(replay_hash(id));
  // 0 would mean the daemon's clock.
  const RequestOptions begin{
      .now_ns = options_.trace_time ? (request.timestamp_ms + 1'000) * 1'000'000 : 0};
  const std::uint64_t open = client_->begin_request(ns_, begin);
  if (!chain_.empty()) {
    const std::uint32_t hits = match(number, open);
    const std::uint64_t tokens = std::uint64_t{hits} * options_.tokens_per_block;
    counts_.references += chain_.size();
    counts_.hit_references += hits;
    counts_.tokens_saved += std::min<std::uint64_t>(tokens, request.input_length);
    const Time start = clock_now();
    get_all(open, hits);
    if (hits > 0) latencies_.get_us[number] = us_between(start, clock_now());
    put_all(open, hits);
  }
  const absl::Status ended = client_->end_request(open, request.output_length);
  if (!ended.ok()) failed(ended);
  counts_.done.fetch_add(1, std::memory_order_relaxed);
}

absl::Status ReplayWorker::health() const {
  if (failures_in_a_row_ < kFailuresInARowMax) return absl::OkStatus();
  return absl::UnavailableError(fmt::format("{} calls in a row failed; the first error was: {}",
                                            failures_in_a_row_,
                                            static_cast<const char*>(counts_.error)));
}

std::uint32_t ReplayWorker::match(std::size_t number, std::uint64_t request) {
  const std::span<const BlockHash> chain(chain_);
  const Time start = clock_now();
  const auto found = client_->match(ns_, std::span(&chain, 1), {.request = request});
  latencies_.match_us[number] = us_between(start, clock_now());
  if (!found.ok()) {
    failed(found.status());
    return 0;
  }
  failures_in_a_row_ = 0;
  return std::min(found->at(0).usable_units, static_cast<std::uint32_t>(chain_.size()));
}

void ReplayWorker::get_all(std::uint64_t request, std::uint32_t hits) {
  for (std::uint32_t first = 0; first < hits; first += batch_keys_) {
    get(request, first, std::min(batch_keys_, hits - first));
  }
}

void ReplayWorker::put_all(std::uint64_t request, std::uint32_t first) {
  const auto blocks = static_cast<std::uint32_t>(chain_.size());
  for (; first < blocks; first += batch_keys_) {
    put(request, first, std::min(batch_keys_, blocks - first));
  }
}

void ReplayWorker::get(std::uint64_t request, std::uint32_t first, std::uint32_t count) {
  const std::vector<Key> keys = chain_keys(spec_, chain_, GroupId(0), Rank(0), first, count);
  std::vector<MutableBuffer> buffers;
  for (std::size_t n = 0; n < count; ++n)
    buffers.push_back({block(n).data(), block(n).size()});
  const Time start = clock_now();
  const Completion done = client_->get(ns_, keys, buffers, {.request = request});
  counts_.get_seconds += seconds_between(start, clock_now());
  if (done.code != absl::StatusCode::kOk) return failed(status_of(done));
  for (std::uint32_t n = 0; n < count; ++n) {
    if (done.keys[n] != KeyStatus::kOk) {  // the match pinned it: it must be there
      failed(absl::DataLossError(fmt::format("get of a matched block: {}", word_of(done.keys[n]))));
      continue;
    }
    counts_.get_bytes += options_.block_bytes.count;
    counts_.wrong_bytes += count_wrong_bytes(chain_[first + n], block(n));
  }
}

void ReplayWorker::put(std::uint64_t request, std::uint32_t first, std::uint32_t count) {
  const std::vector<Key> keys = chain_keys(spec_, chain_, GroupId(0), Rank(0), first, count);
  std::vector<ConstBuffer> buffers;
  for (std::uint32_t n = 0; n < count; ++n) {
    fill_block(chain_[first + n], block(n));
    buffers.push_back({block(n).data(), block(n).size()});
  }
  const Time start = clock_now();
  const Completion done = client_->put(ns_, keys, buffers, {.request = request});
  counts_.put_seconds += seconds_between(start, clock_now());
  if (done.code != absl::StatusCode::kOk) return failed(status_of(done));
  for (const KeyStatus status : done.keys) {
    if (status == KeyStatus::kOk) counts_.put_bytes += options_.block_bytes.count;
    if (status == KeyStatus::kNoSpace) {
      counts_.puts_without_room += 1;
      continue;
    }
    const bool answered = status == KeyStatus::kOk || status == KeyStatus::kPresent ||
                          status == KeyStatus::kPending || status == KeyStatus::kRefused;
    if (!answered) failed(absl::UnknownError(fmt::format("put: {}", word_of(status))));
  }
}

void ReplayWorker::failed(const absl::Status& status) {
  counts_.errors += 1;
  failures_in_a_row_ += 1;
  if (counts_.error[0] != '\0') return;
  const std::string message(status.message());
  std::strncpy(counts_.error, message.c_str(), ReplayCounts::kErrorBytes - 1);
}

std::span<std::byte> ReplayWorker::block(std::size_t n) const {
  return memory_.subspan(n * options_.block_bytes.count, options_.block_bytes.count);
}

}  // namespace larder
