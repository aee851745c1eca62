#include "client/regions.h"

#include <random>

#include <boost/test/data/test_case.hpp>
#include <sys/mman.h>

#include "tests/client/fixture.h"
#include "transport/control_page.h"

namespace larder::regions_test {

BOOST_AUTO_TEST_SUITE(regions)

BOOST_AUTO_TEST_CASE(puts_from_a_region_are_read_in_place) {
  sim::Pair pair(sim::Path::kStaged);
  const NamespaceSpec spec = sim::chain_spec("region");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  const auto memory = pair.client->allocate_region(1 << 20);
  BOOST_REQUIRE(memory.ok());
  sim::Batch batch(spec, 1, 4, 100'000);
  for (std::size_t n = 0; n < 4; ++n) {
    std::memcpy(memory->data() + n * 200'000, batch.blocks[n].data(), 100'000);
    batch.sources[n].data = memory->data() + n * 200'000;
  }
  const int before = pair.server.seen(FrameType::kRegisterRegion);

  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 4, KeyStatus::kOk);

  BOOST_TEST(pair.server.seen(FrameType::kRegisterRegion) == before);  // nothing was staged
  sim::check_all(pair.client->get(ns, batch.keys, batch.targets, {}), 4, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());
}

BOOST_AUTO_TEST_CASE(a_region_is_registered_again_after_a_reconnect) {
  sim::Pair pair(sim::Path::kStaged);
  const NamespaceSpec spec = sim::chain_spec("region");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  const auto memory = pair.client->allocate_region(1 << 20);
  BOOST_REQUIRE(memory.ok());
  std::this_thread::sleep_for(sim::milliseconds(20));
  pair.server.stop();
  pair.server.start();
  sim::Batch batch(spec, 1, 1, 100'000);
  std::memcpy(memory->data(), batch.blocks[0].data(), 100'000);
  batch.sources[0].data = memory->data();

  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 1, KeyStatus::kOk);

  BOOST_TEST(pair.server.seen(FrameType::kRegisterRegion) == 2);
}

BOOST_AUTO_TEST_CASE(only_sealed_memory_is_registered_and_none_twice) {
  sim::Pair pair(sim::Path::kStaged);
  Fd loose(memfd_create("larder-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  BOOST_REQUIRE(ftruncate(loose.get(), 4096) == 0);
  const Mapping loose_memory(loose.get(), 4096, PROT_READ | PROT_WRITE);
  absl::StatusOr<Fd> sealed = make_sealed_memfd("larder-test", {8192});
  BOOST_REQUIRE(sealed.ok());
  const Mapping memory(sealed->get(), 8192, PROT_READ | PROT_WRITE);
  const std::span<std::byte> whole(memory.data(), 8192);

  BOOST_TEST(absl::IsInvalidArgument(
      pair.client->register_region(loose.get(), {loose_memory.data(), 4096})));
  BOOST_TEST(
      absl::IsInvalidArgument(pair.client->register_region(sealed->get(), {memory.data(), 8193})));
  BOOST_TEST(pair.client->register_region(sealed->get(), whole).ok());
  BOOST_TEST(absl::IsAlreadyExists(pair.client->register_region(sealed->get(), whole)));
  BOOST_TEST(pair.client->unregister_region(whole).ok());
  BOOST_TEST(absl::IsNotFound(pair.client->unregister_region(whole)));
}

BOOST_AUTO_TEST_CASE(a_batch_larger_than_the_staging_memory_goes_in_turns) {
  sim::Pair pair(sim::Path::kStaged, std::chrono::seconds(10));
  const NamespaceSpec spec = sim::chain_spec("turns");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 10, 16 << 20);

  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 10, KeyStatus::kOk);

  BOOST_TEST(pair.server.seen(FrameType::kPut) == 5);
  sim::check_all(pair.client->get(ns, batch.keys, batch.targets, {}), 10, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());
}

BOOST_AUTO_TEST_CASE(a_block_larger_than_the_staging_memory_has_memory_of_its_own) {
  sim::Pair pair(sim::Path::kStaged, std::chrono::seconds(10));
  const NamespaceSpec spec = sim::chain_spec("large");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 1, (80 << 20) + 5);

  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 1, KeyStatus::kOk);

  sim::check_all(pair.client->get(ns, batch.keys, batch.targets, {}), 1, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());
  BOOST_TEST(sim::eventually([&] { return pair.server.seen(FrameType::kUnregisterRegion) == 1; }));
}

BOOST_AUTO_TEST_CASE(an_address_is_found_in_its_region_alone) {
  RegionTable table;
  Region region = *table.make({8192});
  const std::byte* base = region.base;
  const std::uint32_t number = region.number;
  BOOST_REQUIRE(table.add(std::move(region)).ok());

  BOOST_TEST(table.find(base, 8192)->region == number);
  BOOST_TEST(table.find(base + 100, 10)->offset == 100U);
  BOOST_TEST(!table.find(base + 1, 8192).has_value());
  BOOST_TEST(!table.find(base - 1, 1).has_value());
  BOOST_TEST(!table.find(base + 8193, 1).has_value());
}

BOOST_DATA_TEST_CASE(staging_memory_is_never_handed_out_twice, boost::unit_test::data::xrange(20),
                     seed) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  RegionTable table;
  Staging staging;
  BOOST_REQUIRE(staging.ensure(table).ok());
  std::map<std::uint64_t, std::uint64_t> held;

  for (int n = 0; n < 2000; ++n) {
    if (rng() % 2 == 0 && !held.empty()) {
      const auto at = std::next(held.begin(), static_cast<std::ptrdiff_t>(rng() % held.size()));
      staging.free(at->first, at->second);
      held.erase(at);
      continue;
    }
    const std::uint64_t bytes = 1 + rng() % (6 << 20);
    const auto offset = staging.allocate(bytes);
    if (!offset) continue;
    const auto next = held.lower_bound(*offset);
    BOOST_REQUIRE((next == held.end() || *offset + bytes <= next->first));
    BOOST_REQUIRE(
        (next == held.begin() || std::prev(next)->first + std::prev(next)->second <= *offset));
    held[*offset] = bytes;
  }
  for (const auto& [offset, bytes] : held)
    staging.free(offset, bytes);

  BOOST_TEST((staging.allocate(Staging::kBytesMax) == 0));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::regions_test
