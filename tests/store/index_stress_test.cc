// One shard that inserts, commits, evicts and reuses; readers that find, lease and verify.

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/store/store_fixture.h"

namespace larder::index_stress_test {
namespace {

using test::key_of;

constexpr std::uint64_t kKeys = 6'000;  // the table grows, and tombstones gather
constexpr int kReaders = 3;

struct Shared {
  QuiescenceDomain domain;
  Index index{domain};
  /// What stands in a "slot": written before the commit, as a payload is.
  std::vector<std::uint64_t> payloads = std::vector<std::uint64_t>(kKeys);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> verified{0};
  std::atomic<std::uint64_t> wrong{0};
};

void read_all_the_time(Shared& shared, std::uint64_t seed) {
  auto reader = shared.domain.register_reader();
  std::mt19937_64 rng(seed);
  std::vector<BlockKey> keys(64);
  std::vector<std::uint64_t> numbers(64);
  std::vector<EntryId> found(64);
  while (!shared.stop.load(std::memory_order_relaxed)) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      numbers[i] = rng() % kKeys;
      keys[i] = key_of(numbers[i]);
    }
    shared.index.find_many(keys, found);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (found[i] == kNoEntry) continue;
      const auto hold = shared.index.lease(found[i], keys[i]);
      if (!hold) continue;
      // Under the lease nobody writes the slot: a race here is one that TSan sees.
      const std::uint64_t value = shared.payloads[hold->slot.slot];
      if (value != numbers[i] || hold->length.count != numbers[i] + 1) shared.wrong += 1;
      shared.verified += 1;
      shared.index.release(found[i]);
    }
    if (rng() % 8 == 0) {
      reader->offline();
      std::this_thread::yield();
      reader->online();
    } else {
      reader->quiescent();
    }
  }
}

class Writer {
 public:
  explicit Writer(Shared& shared) : shared_(shared) {
    for (std::uint32_t i = 0; i < kKeys; ++i)
      free_slots_.push_back(i);
    ids_.assign(kKeys, kNoEntry);
  }

  void step(std::uint64_t n) {
    if (ids_[n] == kNoEntry) {
      insert(n);
    } else {
      evict(n);
    }
  }

 private:
  void insert(std::uint64_t n) {
    const EntryId id = shared_.index.insert(key_of(n), EntryState::kFilling).value();
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    shared_.payloads[slot] = n;
    Entry& entry = shared_.index.mutable_entry(id);
    entry.slot.store(slot, std::memory_order_relaxed);
    entry.length.store(static_cast<std::uint32_t>(n + 1), std::memory_order_relaxed);
    const std::uint64_t generation = EntryWord::unpack(entry.word.load()).generation;
    if (!shared_.index.commit(id, generation)) shared_.wrong += 1;
    ids_[n] = id;
  }

  void evict(std::uint64_t n) {
    Entry& entry = shared_.index.mutable_entry(ids_[n]);
    std::uint64_t word = entry.word.load(std::memory_order_relaxed);
    EntryWord next = EntryWord::unpack(word);
    if (next.leases != 0) return;
    next.state = EntryState::kFree;
    if (!entry.word.compare_exchange_strong(word, next.pack(), std::memory_order_acq_rel)) return;
    const auto slot = static_cast<std::uint32_t>(entry.slot.load(std::memory_order_relaxed));
    shared_.payloads[slot] = ~0ULL;
    free_slots_.push_back(slot);
    shared_.index.unlink(ids_[n]);
    shared_.index.free_entry(ids_[n]);
    ids_[n] = kNoEntry;
  }

  Shared& shared_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<EntryId> ids_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(index_stress)

BOOST_AUTO_TEST_CASE(readers_never_see_a_slot_of_another_key) {
  Shared shared;
  std::vector<std::thread> readers;
  for (std::uint64_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&shared, i] { read_all_the_time(shared, i); });
  }

  Writer writer(shared);
  std::mt19937_64 rng(1);
  for (int step = 0; step < 300'000; ++step) {
    writer.step(rng() % kKeys);
    if (step % 64 == 0) shared.index.maintain();
  }
  while (shared.verified < 1'000)
    std::this_thread::yield();
  shared.stop = true;
  for (std::thread& reader : readers)
    reader.join();

  BOOST_TEST(shared.wrong.load() == 0U);
  // Recycling kept up: entries were reused, not only made.
  BOOST_TEST(shared.index.entry_limit() < 100'000U);
}

BOOST_AUTO_TEST_CASE(a_key_that_stays_is_always_found_while_the_table_grows) {
  Shared shared;
  constexpr std::uint64_t kStaying = 500;
  for (std::uint64_t n = 0; n < kStaying; ++n) {
    BOOST_REQUIRE(shared.index.insert(key_of(n), EntryState::kFilling).ok());
  }
  std::vector<std::thread> readers;
  for (std::uint64_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&shared, i] {
      auto reader = shared.domain.register_reader();
      std::mt19937_64 rng(i);
      while (!shared.stop.load(std::memory_order_relaxed)) {
        if (shared.index.find(key_of(rng() % kStaying)) == kNoEntry) shared.wrong += 1;
        shared.verified += 1;
        reader->quiescent();
      }
    });
  }

  for (std::uint64_t n = kStaying; n < 150'000; ++n) {
    BOOST_REQUIRE(shared.index.insert(key_of(n), EntryState::kFilling).ok());
    if (n % 32 == 0) shared.index.maintain();
  }
  while (shared.verified < 1'000)
    std::this_thread::yield();
  shared.stop = true;
  for (std::thread& reader : readers)
    reader.join();

  BOOST_TEST(shared.wrong.load() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::index_stress_test
