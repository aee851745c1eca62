// Registered memory: more of it than there may be, and memory that changes under a put.

#include <atomic>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/limits.h"
#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/e2e/raw.h"
#include "tests/faults/process_figures.h"
#include "transport/control_page.h"

namespace larder::regions_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Asks for `count` regions of one memfd; how many there are, and the last error.
struct Registered {
  std::uint32_t done = 0;
  std::string refusal;
};
Registered register_many(sim::Raw& raw, int memfd, std::uint32_t count) {
  constexpr std::uint32_t kAtATime = 100;
  Registered all;
  for (std::uint32_t sent = 0; sent < count;) {
    const std::uint32_t first = sent;
    for (; sent < count && sent < first + kAtATime; ++sent) {
      wire::RegisterRegionRequest body;
      body.set_region(sent);
      body.set_bytes(4096);
      raw.send(FrameType::kRegisterRegion, body, {}, std::span(&memfd, 1));
    }
    for (std::uint32_t n = first; n < sent; ++n) {
      const std::string why = raw.refusal();
      if (why.empty()) {
        all.done += 1;
      } else {
        all.refusal = why;
      }
    }
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_regions)

BOOST_AUTO_TEST_CASE(a_hundred_thousand_registrations_stay_within_the_limits) {
  sim::raise_descriptor_limit();
  // None of the sessions ends for its silence while the others register.
  const sim::Daemon daemon(
      {.flags = {"--heartbeat-ms", "60000"}, .environment = {}, .program = {}});
  const auto bystander = daemon.shm();
  const NamespaceSpec spec = sim::chain_spec("regions");
  const NamespaceId ns = *bystander->open_namespace(spec);
  sim::Batch batch(spec, 1, 16, 65'536);
  sim::check_all(bystander->put(ns, batch.keys, batch.sources, {}), 16, KeyStatus::kOk);
  const std::size_t mappings = sim::mappings(daemon.pid());
  const Fd memfd = *make_sealed_memfd("larder-faults", Bytes{4096});

  std::vector<std::unique_ptr<sim::Raw>> sessions;
  std::uint64_t done = 0;
  Registered last;
  for (int n = 0; n < 50; ++n) {
    sessions.push_back(std::make_unique<sim::Raw>(daemon.socket(), sim::Raw::Options{.shm = true}));
    last = register_many(*sessions.back(), memfd.get(), 2000);
    if (n == 0) {
      BOOST_TEST(last.done == limits::kSessionRegionsMax);
      BOOST_TEST(last.refusal.find("the limit is 1024") != std::string::npos, last.refusal);
    }
    done += last.done;
  }

  BOOST_TEST(last.refusal.find("the limit is 16384") != std::string::npos, last.refusal);
  BOOST_TEST(done <= limits::kRegionsMax);
  BOOST_TEST(done >= limits::kRegionsMax - 4);  // the bystander's own
  BOOST_TEST(sim::mappings(daemon.pid()) <=
             mappings + limits::kRegionsMax + (sim::kSanitized ? 2000 : 100));
  batch.clear();
  sim::check_all(bystander->get(ns, batch.keys, batch.targets, {}), 16, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());

  sessions.clear();
  BOOST_TEST(sim::soon(seconds(5), [&] { return sim::figure(*bystander, "sessions") == 1; }));
  BOOST_TEST(sim::mappings(daemon.pid()) <= mappings + (sim::kSanitized ? 2000 : 50));
  BOOST_TEST(bystander->allocate_region(4096).ok());
}

/// It is sealed against shrinking, so what a client can do is punch holes.
BOOST_AUTO_TEST_CASE(memory_that_goes_away_during_puts_harms_nobody) {
  const sim::Daemon daemon;
  const auto client = daemon.shm();
  const NamespaceSpec spec = sim::chain_spec("holes");
  const NamespaceId ns = *client->open_namespace(spec);
  constexpr std::size_t kBlock = 256 << 10;
  constexpr std::size_t kRegion = 16 * kBlock;
  const Fd memfd = *make_sealed_memfd("larder-faults", Bytes{kRegion});
  void* memory = ::mmap(nullptr, kRegion, PROT_READ | PROT_WRITE, MAP_SHARED, memfd.get(), 0);
  BOOST_REQUIRE(memory != MAP_FAILED);
  const std::span region(static_cast<std::byte*>(memory), kRegion);
  BOOST_REQUIRE(client->register_region(memfd.get(), region).ok());
  std::atomic<bool> over{false};
  std::thread vandal([&] {
    while (!over) {
      BOOST_TEST((::ftruncate(memfd.get(), 0) != 0), "a sealed memfd shrank");
      ::fallocate(memfd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kRegion);
      std::fill(region.begin(), region.end(), std::byte{0x77});
    }
  });
  for (std::uint64_t round = 0; round < 30; ++round) {
    sim::Batch batch(spec, 10 + round, 16, kBlock);
    std::vector<ConstBuffer> sources;
    for (std::size_t n = 0; n < 16; ++n)
      sources.push_back({region.data() + n * kBlock, kBlock});
    const Completion put = client->put(ns, batch.keys, sources, {});
    for (const KeyStatus status : put.keys)
      BOOST_TEST((status == KeyStatus::kOk || status == KeyStatus::kFault));
    // Whatever was read, it is one thing: its checksum is of the bytes that are stored.
    const Completion got = client->get(ns, batch.keys, batch.targets, {.verify = true});
    for (std::size_t n = 0; n < 16; ++n) {
      if (put.keys[n] == KeyStatus::kOk) BOOST_TEST((got.keys[n] == KeyStatus::kOk));
    }
  }
  over = true;
  vandal.join();
  // First: another buffer may be given the same place.
  BOOST_REQUIRE(client->unregister_region(region).ok());
  ::munmap(memory, kRegion);
  sim::Batch after(spec, 1, 16, kBlock);
  sim::check_all(client->put(ns, after.keys, after.sources, {}), 16, KeyStatus::kOk);
  sim::check_all(client->get(ns, after.keys, after.targets, {}), 16, KeyStatus::kOk);
  BOOST_TEST(after.got_all());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::regions_test
