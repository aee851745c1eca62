#include "actors/scrubber.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/clock.h"
#include "store/status_macros.h"
#include "transport/guarded_copy.h"

namespace larder {

namespace {

constexpr std::uint32_t kEntriesStep = 4'096;
/// Longest sleep in one go: a stop, and a new rate, are seen this soon.
constexpr Duration kNapMax = std::chrono::milliseconds(50);

BlockKey key_of(const Entry& entry) {
  const std::uint32_t group_rank = entry.group_rank.load(std::memory_order_relaxed);
  return {.ns = NamespaceId(entry.ns.load(std::memory_order_relaxed)),
          .hash = {entry.hash_high.load(std::memory_order_relaxed),
                   entry.hash_low.load(std::memory_order_relaxed)},
          .group = GroupId(static_cast<std::uint16_t>(group_rank >> 16)),
          .rank = Rank(static_cast<std::uint16_t>(group_rank))};
}

}  // namespace

absl::Status Scrubber::start() {
  LARDER_ASSIGN_OR_RETURN(auto reader, options_.store->domain.register_reader());
  thread_ = std::thread([this, mine = std::move(reader)]() mutable { run(std::move(mine)); });
  return absl::OkStatus();
}

void Scrubber::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void Scrubber::run(QuiescenceDomain::Reader reader) {
  Duration owed{0};  // sleep for what was read: few long naps cost less than many short ones
  while (!stopping_.load(std::memory_order_relaxed)) {
    const std::uint32_t mib_s = options_.mib_s();
    const std::uint64_t bytes = mib_s > 0 ? step() : 0;
    if (mib_s > 0) {
      owed += std::chrono::nanoseconds(bytes * 1'000'000'000 / (std::uint64_t{mib_s} << 20));
    }
    reader.quiescent();
    if (bytes > 0 && owed < kNapMax) continue;
    reader.offline();
    nap(std::max(owed, kNapMax));
    reader.online();
    owed = Duration{0};
  }
}

void Scrubber::nap(Duration time) {
  const Time end = now() + time;
  while (!stopping_.load(std::memory_order_relaxed)) {
    const Duration left = end - now();
    if (left <= Duration{0}) return;
    std::this_thread::sleep_for(std::min(left, kNapMax));
  }
}

std::uint64_t Scrubber::step() {
  for (std::uint32_t looked = 0; looked < kEntriesStep; ++looked) {
    Index& index = *options_.store->indexes[shard_];
    if (entry_ >= index.entry_limit()) {
      entry_ = 0;
      shard_ = (shard_ + 1) % options_.store->shards();
      return 0;  // an empty store costs a look each nap
    }
    if (const std::uint64_t bytes = check(index, ShardId(shard_), EntryId(entry_++)); bytes > 0) {
      return bytes;
    }
  }
  return 0;
}

std::uint64_t Scrubber::check(Index& index, ShardId shard, EntryId id) {
  const Entry& entry = index.entry(id);
  const EntryWord word = EntryWord::unpack(entry.word.load(std::memory_order_acquire));
  if (word.state != EntryState::kCommitted) return 0;
  const BlockKey key = key_of(entry);
  const auto held = index.lease(id, key);
  if (!held) return 0;
  const Slab* slab = options_.store->slabs.find(held->slot.slab);
  bool good = true;
  if (slab != nullptr) {
    Checksum sum;
    good = checksum_guarded(slab->data(held->slot.slot), held->length.count, sum) &&
           sum.value() == slab->header(held->slot.slot)->checksum;
  }
  index.release(id);
  if (!good) condemn(shard, key);
  count(options_.metrics->scrubbed_blocks);
  count(options_.metrics->scrubbed_bytes, held->length.count);
  return held->length.count;
}

void Scrubber::condemn(ShardId shard, const BlockKey& key) {
  auto note = std::make_shared<QuarantineNote>();
  note->key = key;
  options_.shards->send(shard, std::shared_ptr<const QuarantineNote>(note));
  count(options_.metrics->blocks_quarantined);
  options_.log(fmt::format(
      "block_corrupt found_by=scrub ns={:016x} hash={:016x}{:016x} group={} "
      "rank={}",
      key.ns.value(), key.hash.high, key.hash.low, key.group.value(), key.rank.value()));
}

}  // namespace larder
