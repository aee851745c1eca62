// Two shards that reserve, evict, erase and empty slabs; io threads that get, and one copy that
// holds no lease and trusts the generation alone, as a client over shared memory does.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/store/store_fixture.h"

namespace larder::shard_stress_test {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using test::key_of;
using test::kNow;
using test::Node;

constexpr Bytes kSlot = 256_B;
constexpr std::uint64_t kKeys = 2'000;
constexpr std::uint32_t kShards = 2;

std::uint32_t shard_of_key(std::uint64_t n) {
  return static_cast<std::uint32_t>(n % kShards);
}

using Words = std::array<std::uint64_t, 32>;

/// Payload as clients see it: another process writes it, so word by word, atomically.
void write_payload(std::byte* data, std::uint64_t n) {
  for (std::size_t i = 0; i < std::tuple_size_v<Words>; ++i) {
    std::atomic_ref(reinterpret_cast<std::uint64_t*>(data)[i]).store(n, std::memory_order_relaxed);
  }
}
Words read_payload(std::byte* data) {
  Words words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] =
        std::atomic_ref(reinterpret_cast<std::uint64_t*>(data)[i]).load(std::memory_order_acquire);
  }
  return words;
}
bool all_equal(const Words& words, std::uint64_t n) {
  return std::all_of(words.begin(), words.end(), [n](std::uint64_t word) { return word == n; });
}

struct Counts {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> hits{0}, unleased_hits{0}, wrong{0};
};

void run_shard(Node& node, std::uint32_t shard, std::atomic<std::uint32_t>& running) {
  std::mt19937_64 rng(shard);
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t n = rng() % (kKeys / kShards) * kShards + shard;
    ReserveItem item = node.item(key_of(n), kSlot);
    node.shards[shard]->reserve({&item, 1}, std::nullopt, kNow);
    if (item.outcome == ReserveOutcome::kReserved) {
      write_payload(node.store.slabs.data(item.slot), n);
      node.fill(item, shard);
    }
    if (step % 16 == 0) node.shards[shard]->erase(key_of(rng() % kKeys), EraseCause::kRemoved);
    if (step % 64 == 0) node.shards[shard]->tick(kNow, 0);
    if (step % 1'000 == 0) {
      std::uint32_t cursor = 0;
      const auto slabs = node.store.slabs.slab_ids();
      node.shards[shard]->evict_slab(slabs[rng() % slabs.size()], &cursor, 1'000);
    }
    if (step % 32 == 0) node.store.sequence += 1;
  }
  running -= 1;
}

void get_all_the_time(Node& node, std::uint64_t seed, Counts& counts) {
  auto reader = node.store.domain.register_reader();
  std::mt19937_64 rng(seed);
  while (!counts.stop.load(std::memory_order_relaxed)) {
    const std::uint64_t n = rng() % kKeys;
    Index& index = node.index(shard_of_key(n));
    const EntryId id = index.find(key_of(n));
    if (id != kNoEntry) {
      if (const auto hold = index.lease(id, key_of(n))) {
        const SlotHeader& header = *node.store.slabs.header(hold->slot);
        const std::uint64_t generation = header.generation.load(std::memory_order_acquire);
        const std::uint64_t named = header.hash_low;
        if (!all_equal(read_payload(node.store.slabs.data(hold->slot)), n) || named != ~n ||
            header.generation.load(std::memory_order_relaxed) != generation) {
          counts.wrong += 1;
        }
        index.release(id);
        counts.hits += 1;
        const Words words = read_payload(node.store.slabs.data(hold->slot));
        if (header.generation.load(std::memory_order_acquire) == generation) {
          counts.unleased_hits += 1;
          if (!all_equal(words, n)) counts.wrong += 1;
        }
      }
    }
    reader->quiescent();
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shard_stress)

BOOST_AUTO_TEST_CASE(no_get_ever_sees_a_wrong_byte) {
  Node node(kSlot * 1'000, kShards);
  for (int i = 0; i < 64; ++i)
    node.grow(test::kTenant, kSlot);
  Counts counts;
  std::atomic<std::uint32_t> running{kShards};
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] { get_all_the_time(node, i, counts); });
  for (std::uint32_t i = 0; i < kShards; ++i)
    threads.emplace_back([&, i] { run_shard(node, i, running); });

  while (running > 0 || counts.hits < 100)
    std::this_thread::yield();
  counts.stop = true;
  for (std::thread& thread : threads)
    thread.join();

  BOOST_TEST(counts.wrong.load() == 0U);
  BOOST_TEST(node.shards[0]->counters().evictions > 0U);
  node.store.set_capacity(Bytes{0});
  // A shard stops where another has the cheaper victim: as many turns as their blocks alternate.
  for (std::uint64_t turn = 0; turn < kKeys && node.store.budget.ledger.used().count != 0; ++turn) {
    for (auto& shard : node.shards) {
      shard->tick(kNow, 0);
      shard->evict_over(kNow);
    }
  }
  BOOST_TEST(node.store.budget.ledger.used().count == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::shard_stress_test
