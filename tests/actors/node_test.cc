// A node in this process: what a test of the real program cannot reach.

#include "actors/node.h"

#include <atomic>
#include <filesystem>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "tests/client/conformance.h"
#include "tests/eventually.h"
#include "tests/temp_dir.h"

namespace larder::node_test {

using std::chrono::milliseconds;

namespace {

struct RunningNode {
  RunningNode() {
    config.runtime_dir = dir.path() + "/run";
    config.socket = dir.path() + "/s";
    config.listen = "127.0.0.1:0";
    config.http = "off";
    config.host_bytes = Bytes{64 << 20};
    config.shards = 2;
    config.io_threads = 2;
    start();
  }
  ~RunningNode() { node.reset(); }
  void start() {
    auto started = Node::start(
        config, [](const std::string&) {}, probe);
    BOOST_REQUIRE_MESSAGE(started.ok(), started.status().message());
    node = *std::move(started);
  }
  std::unique_ptr<Client> client() const {
    Client::Options options;
    options.server = config.socket;
    options.deadline = std::chrono::seconds(5);
    auto made = Client::connect(options);
    BOOST_REQUIRE_MESSAGE(made.ok(), made.status().message());
    return *std::move(made);
  }
  test::TempDir dir{test::kShm};
  Config config;
  MemoryProbe probe;
  std::unique_ptr<Node> node;
};

/// Of all files in a directory.
std::uint64_t bytes_in(const std::string& directory) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::error_code gone;  // slabs are retired meanwhile
    const std::uint64_t size = entry.file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

double figure(Client& client, const std::string& name) {
  const auto stats = client.server_stats();
  BOOST_REQUIRE(stats.ok());
  for (const auto& [key, value] : stats->values) {
    if (key == name) return value;
  }
  return -1;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(node)

BOOST_AUTO_TEST_CASE(a_shard_that_dies_loses_nothing_committed) {
  RunningNode running;
  const auto client = running.client();
  const NamespaceSpec spec = sim::chain_spec("shards");
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch before(spec, 1, 200, 16'384);
  sim::check_all(client->put(ns, before.keys, before.sources, {}), 200, KeyStatus::kOk);

  running.node->kill_shard(0);
  running.node->kill_shard(1);
  // Reads do not wait for shards: they are served while the actors are made anew.
  sim::check_all(client->get(ns, before.keys, before.targets, {}), 200, KeyStatus::kOk);
  BOOST_TEST(before.got_all());

  for (int n = 0; n < 500 && figure(*client, "shard_restarts") < 2; ++n) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  BOOST_TEST(figure(*client, "shard_restarts") == 2);
  sim::Batch after(spec, 2, 200, 16'384);
  sim::check_all(client->put(ns, after.keys, after.sources, {}), 200, KeyStatus::kOk);
  sim::check_all(client->get(ns, before.keys, before.targets, {}), 200, KeyStatus::kOk);
  sim::check_all(client->remove(ns, before.keys), 200, KeyStatus::kOk);
}

BOOST_AUTO_TEST_CASE(puts_in_flight_when_shards_die_end_and_leave_no_slot_behind) {
  RunningNode running;
  const auto client = running.client();
  const NamespaceSpec spec = sim::chain_spec("flight");
  const NamespaceId ns = *client->open_namespace(spec);
  for (std::uint64_t round = 0; round < 20; ++round) {
    sim::Batch batch(spec, 10 + round, 64, 65'536);
    std::thread killer([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
      running.node->kill_shard(static_cast<std::uint32_t>(round % 2));
    });
    const Completion put = client->put(ns, batch.keys, batch.sources, {});
    killer.join();
    BOOST_TEST((put.code == absl::StatusCode::kOk), put.message);
  }
  // The store takes a whole capacity of new blocks: nothing is stuck in flight.
  for (std::uint64_t n = 0; n < 16; ++n) {
    sim::Batch batch(spec, 1000 + n, 64, 65'536);
    sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 64, KeyStatus::kOk);
  }
}

BOOST_AUTO_TEST_CASE(a_node_stops_with_clients_connected) {
  RunningNode running;
  const auto client = running.client();
  const NamespaceSpec spec = sim::chain_spec("stop");
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch batch(spec, 1, 8, 65'536);
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 8, KeyStatus::kOk);
  auto views = client->view(ns, batch.keys, {});
  BOOST_REQUIRE(views.ok());
  running.node->stop();
  const Completion got = client->get(ns, batch.keys, batch.targets, {});
  BOOST_TEST((got.code != absl::StatusCode::kOk));
}

BOOST_AUTO_TEST_CASE(memory_that_gets_short_under_load_costs_blocks_and_no_wrong_byte) {
  constexpr std::uint64_t kLimit = 1ULL << 30;  // the reserve of it is 64 MiB
  RunningNode running;
  running.node.reset();
  std::atomic<std::uint64_t> others{0};
  running.probe = [&others, run = running.config.runtime_dir] {
    return MemoryRoom{.limit = {kLimit}, .taken = {others + bytes_in(run)}, .file = "f"};
  };
  running.start();
  const auto client = running.client();
  const NamespaceSpec spec = sim::chain_spec("pressure");
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch first(spec, 1, 56, 1 << 20);
  sim::check_all(client->put(ns, first.keys, first.sources, {}), 56, KeyStatus::kOk);

  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> wrong{0};
  std::thread load([&] {
    const auto own = running.client();
    const NamespaceId same = *own->open_namespace(spec);
    for (std::uint64_t round = 0; !stop; ++round) {
      sim::Batch batch(spec, 2 + round % 8, 16, 1 << 20);
      own->put(same, batch.keys, batch.sources, {});
      const Completion got = own->get(same, batch.keys, batch.targets, {});
      for (std::size_t n = 0; n < got.keys.size(); ++n)
        wrong += got.keys[n] == KeyStatus::kOk && !(batch.places[n] == batch.blocks[n]) ? 1 : 0;
    }
  });
  others = kLimit - (96ULL << 20);  // 32 MiB are left beside the reserve
  const bool lowered = test::eventually([&] { return figure(*client, "slab_bytes") <= 32 << 20; });
  const double in_force = figure(*client, "capacity_bytes");
  stop = true;
  load.join();
  others = 0;

  BOOST_TEST(lowered);
  BOOST_TEST(in_force < 32 << 20);
  BOOST_TEST(in_force > 4 << 20);  // the floor
  BOOST_TEST(figure(*client, "capacity_configured_bytes") == 64 << 20);
  BOOST_TEST(figure(*client, "capacity_changes_for_pressure") >= 1);
  BOOST_TEST(wrong == 0U);
  // It grows again after half a minute: capacity_keeper_test.
  running.config.memory_pressure = false;
  BOOST_TEST(running.node->reload(running.config).ok());
  BOOST_TEST(test::eventually([&] { return figure(*client, "capacity_bytes") == 64 << 20; }));
  sim::Batch last(spec, 100, 48, 1 << 20);
  sim::check_all(client->put(ns, last.keys, last.sources, {}), 48, KeyStatus::kOk);
  sim::check_all(client->get(ns, last.keys, last.targets, {}), 48, KeyStatus::kOk);
  BOOST_TEST(last.got_all());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::node_test
