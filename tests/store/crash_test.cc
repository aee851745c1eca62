// Built with LARDER_CRASH_POINTS only: a child dies as by `kill -9` inside a put or an eviction;
// a restart finds whole blocks alone, and generations that only grow.

#include <csignal>
#include <cstring>
#include <map>
#include <string>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/store/store_fixture.h"

namespace larder::crash_test {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using test::key_of;
using test::kNow;
using test::kTenant;

constexpr Bytes kSlot = 4_KiB;
constexpr Bytes kCapacity = 256_KiB;  // 64 blocks
constexpr const char* kPoints[] = {"begin_reuse", "reserve", "seal", "evict"};
constexpr int kPasses[] = {1, 2, 64, 65, 100};

struct Life {
  explicit Life(const std::string& dir)
      : store({.runtime_dir = dir, .capacity = kCapacity, .shards = 1}),
        report(store.open([](const std::string& /*name*/) { return kTenant; }).value()),
        shard(ShardId(0), store, [](TenantId) { return std::make_unique<test::TestPolicy>(); }) {
    for (const AdoptItem& item : report.adopted[0])
      shard.adopt(item.slot, item.tenant);
  }

  void put(std::uint64_t n) {
    ReserveItem item;
    item.key = key_of(n);
    item.tenant = kTenant;
    item.length = item.slot_bytes = kSlot;
    shard.reserve({&item, 1}, std::nullopt, kNow);
    if (item.outcome != ReserveOutcome::kReserved) return;
    std::memset(store.slabs.data(item.slot), static_cast<int>(n), kSlot.count);
    store.slabs.seal(item.slot, n);
    store.indexes[0]->commit(item.entry, item.entry_generation);
  }

  std::map<SlotRef, std::uint64_t> generations() {
    std::map<SlotRef, std::uint64_t> all;
    for (const SlabId id : store.slabs.slab_ids()) {
      const Slab& slab = *store.slabs.find(id);
      for (std::uint32_t slot = 0; slot < slab.slots(); ++slot)
        all[{id, slot}] = slab.header(slot)->generation.load();
    }
    return all;
  }

  NodeStore store;
  NodeStore::OpenReport report;
  Shard shard;
};

/// True when the child was killed at the point (and did not just finish).
bool die_at(const std::string& dir, const std::string& point) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("LARDER_CRASH_AT", point.c_str(), 1);
    Life life(dir);
    for (std::uint64_t n = 0; n < 200; ++n) {
      life.put(n);
      life.store.sequence += 1;
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/// Each block holds what was written under its key.
void check_bytes(Life& life) {
  life.shard.scan(0, 0xffffffff, [&](EntryId /*id*/, const Entry& entry, const SlotHeader& header) {
    const std::byte* data = life.store.slabs.data(unpack_slot(entry.slot.load()));
    const std::uint64_t n = header.checksum;
    BOOST_TEST(header.hash_low == ~n);
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < kSlot.count; ++i)
      wrong += data[i] == static_cast<std::byte>(n) ? 0 : 1;
    BOOST_TEST(wrong == 0U, "block " << n);
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(crash)

BOOST_DATA_TEST_CASE(a_restart_finds_whole_blocks_and_growing_generations,
                     boost::unit_test::data::make(kPoints) * boost::unit_test::data::make(kPasses),
                     point, pass) {
  test::TempDir dir;
  std::map<SlotRef, std::uint64_t> before;
  {
    Life life(dir.path());
    for (std::uint64_t i = 0; i < 65; ++i) {
      auto slab = life.store.slabs.create(kTenant, "default", kSlot);
      BOOST_REQUIRE(slab.ok());
    }
    before = life.generations();
  }

  BOOST_REQUIRE(die_at(dir.path(), std::string(point) + ":" + std::to_string(pass)));

  Life life(dir.path());
  BOOST_TEST(life.report.slots_quarantined == 0U);
  BOOST_TEST(life.report.slabs.slabs_set_aside == 0U);
  BOOST_TEST(life.store.budget.ledger.used() <= kCapacity);
  check_bytes(life);
  for (const auto& [slot, generation] : life.generations())
    BOOST_TEST(generation >= before[slot]);
  const std::size_t adopted = life.report.adopted[0].size();
  BOOST_TEST(life.store.pools.free_count(kTenant, kSlot) + adopted ==
             life.store.pools.total(kTenant, kSlot));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::crash_test
