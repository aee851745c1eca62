#include "actors/scrubber.h"

#include <algorithm>
#include <utility>

#include "actors/clock.h"
#include "actors/corrupt_block.h"
#include "store/status_macros.h"
#include "transport/guarded_copy.h"

namespace larder {

namespace {

constexpr std::uint32_t kEntriesStep = 4'096;
/// Few long naps cost less than many short ones.
constexpr Duration kNapMin = std::chrono::milliseconds(50);
/// When there was nothing to read: a suspect waits for it.
constexpr Duration kIdleNap = std::chrono::milliseconds(250);

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
  LARDER_ASSIGN_OR_RETURN(auto reader, node_.store.domain.register_reader());
  thread_ = std::thread([this, mine = std::move(reader)]() mutable { run(std::move(mine)); });
  return absl::OkStatus();
}

void Scrubber::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Scrubber::run(QuiescenceDomain::Reader reader) {
  Duration owed{0};  // sleep for what was read: few long naps cost less than many short ones
  while (!stopping_) {
    const std::uint64_t bytes = step();
    const std::uint64_t rate = std::uint64_t{node_.config().scrub_mib_s} << 20;
    if (rate > 0) owed += std::chrono::nanoseconds(bytes * 1'000'000'000 / rate);
    reader.quiescent();
    if (bytes > 0 && owed < kNapMin) continue;
    reader.offline();
    nap(std::max<Duration>(owed, bytes > 0 ? kNapMin : kIdleNap));
    reader.online();
    owed = Duration{0};
  }
}

void Scrubber::nap(Duration time) {
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, time, [this] { return stopping_.load(); });
}

std::uint64_t Scrubber::step() {
  while (const auto suspect = node_.suspects.take()) {
    const EntryId id = node_.store.indexes[suspect->shard.value()]->find(suspect->key);
    if (const std::uint64_t bytes = check(*suspect, id, "get"); bytes > 0) return bytes;
  }
  return node_.config().scrub_mib_s > 0 ? next_of_round() : 0;
}

std::uint64_t Scrubber::next_of_round() {
  for (std::uint32_t looked = 0; looked < kEntriesStep; ++looked) {
    const Index& index = *node_.store.indexes[shard_];
    if (entry_ >= index.entry_limit()) {
      entry_ = 0;
      shard_ = (shard_ + 1) % node_.store.shards();
      return 0;  // an empty store costs a look each nap
    }
    const EntryId id(entry_++);
    const Entry& entry = index.entry(id);
    const auto word = word_of(entry);
    if (word.state != EntryState::kCommitted) continue;
    if (const std::uint64_t bytes = check({key_of(entry), ShardId(shard_)}, id, "scrub")) {
      return bytes;
    }
  }
  return 0;
}

std::uint64_t Scrubber::check(const LocatedKey& at, EntryId id, const char* found_by) {
  const auto held = hold(node_.store, at, id);
  if (!held) return 0;
  const SlotRef slot = held->hold.slot;
  const std::uint64_t length = held->hold.length.count;
  const Slab* slab = node_.store.slabs.find(slot.slab);
  Checksum sum;
  const bool good = slab == nullptr || (checksum_guarded(slab->data(slot.slot), length, sum) &&
                                        sum.value() == slab->header(slot.slot)->checksum);
  release(node_.store, *held);
  if (!good) condemn(node_, at, found_by);
  count(node_.metrics.scrubbed_blocks);
  count(node_.metrics.scrubbed_bytes, length);
  return length;
}

}  // namespace larder
