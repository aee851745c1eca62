// larderd killed at points inside reserve, copy, header write, commit and eviction; what the next
// one serves. Built with LARDER_CRASH_POINTS (preset asan).

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"

namespace larder::crash_test {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(larderd_crash)

BOOST_DATA_TEST_CASE(a_restart_serves_whole_blocks_only,
                     data::make({"reserve", "begin_reuse", "copy", "seal", "commit", "evict"}) *
                         data::make({3, 30, 200}),
                     point, pass) {
  sim::Daemon daemon(
      {.host_bytes = Bytes{8 << 20},
       .shards = 1,
       .flags = {},
       .environment = {std::string("LARDER_CRASH_AT=") + point + ":" + std::to_string(pass)},
       .program = {}});
  const NamespaceSpec spec = sim::chain_spec("crash");
  const auto client = daemon.shm(std::chrono::seconds(2));
  const NamespaceId ns = *client->open_namespace(spec);
  std::vector<std::unique_ptr<sim::Batch>> batches;
  std::vector<std::pair<std::size_t, std::size_t>> acknowledged;
  for (std::uint64_t n = 0; n < 40 && !daemon.wait_exit(Duration(0)); ++n) {
    batches.push_back(std::make_unique<sim::Batch>(spec, n + 1, 16, 30'000));
    const Completion put = client->put(ns, batches.back()->keys, batches.back()->sources, {});
    if (put.code != absl::StatusCode::kOk) continue;  // not answered by the daemon
    for (std::size_t i = 0; i < put.keys.size(); ++i) {
      if (put.keys[i] == KeyStatus::kOk) acknowledged.emplace_back(batches.size() - 1, i);
    }
  }
  BOOST_REQUIRE_MESSAGE(daemon.wait_exit(std::chrono::seconds(5)), "the point was not passed");
  daemon.forget_environment();
  daemon.start();

  for (const auto& batch : batches) {
    batch->clear();
    const Completion got = client->get(ns, batch->keys, batch->targets, {});
    for (std::size_t i = 0; i < got.keys.size(); ++i) {
      if (got.keys[i] == KeyStatus::kOk) {
        BOOST_TEST((batch->places[i] == batch->blocks[i]), "a hit with wrong bytes");
      }
    }
  }
  // What was acknowledged last cannot have been evicted yet.
  const std::size_t recent = std::min<std::size_t>(acknowledged.size(), 32);
  std::size_t hits = 0;
  for (std::size_t n = acknowledged.size() - recent; n < acknowledged.size(); ++n) {
    sim::Batch& batch = *batches[acknowledged[n].first];
    const std::size_t i = acknowledged[n].second;
    const Completion got = client->get(ns, std::span(batch.keys).subspan(i, 1),
                                       std::span(batch.targets).subspan(i, 1), {});
    hits += got.keys.size() == 1 && got.keys[0] == KeyStatus::kOk ? 1 : 0;
  }
  BOOST_TEST(hits == recent);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::crash_test
