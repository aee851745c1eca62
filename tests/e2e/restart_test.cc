// kill -9 of the daemon, a clean stop, and what the next one serves.

#include <fstream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"

namespace larder::restart_test {

namespace {

NamespaceSpec spec() {
  return sim::chain_spec("restart");
}

/// Gets every block of the batch anew and compares; how many were hits with the right bytes.
std::size_t hits(Client& client, NamespaceId ns, sim::Batch& batch) {
  batch.clear();
  const Completion got = client.get(ns, batch.keys, batch.targets, {});
  std::size_t good = 0;
  for (std::size_t i = 0; i < got.keys.size(); ++i) {
    if (got.keys[i] != KeyStatus::kOk) continue;
    BOOST_TEST(batch.places[i] == batch.blocks[i], "a hit has other bytes than were put");
    good += 1;
  }
  return good;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_restart)

BOOST_AUTO_TEST_CASE(acknowledged_blocks_are_hits_after_kill_9) {
  sim::Daemon daemon;
  sim::Batch batch(spec(), 7, 400, 65'536);
  const auto client = daemon.shm();
  const NamespaceId ns = *client->open_namespace(spec());
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 400, KeyStatus::kOk);

  daemon.kill();
  const Completion down = client->get(ns, batch.keys, batch.targets, {});
  BOOST_TEST((down.code == absl::StatusCode::kUnavailable ||
              down.code == absl::StatusCode::kDeadlineExceeded));
  daemon.start();

  // The same client: it connects again and opens its namespace again by itself.
  BOOST_TEST(hits(*client, ns, batch) == 400U);
  const auto other = daemon.tcp_client();
  const NamespaceId same = *other->open_namespace(spec());
  BOOST_TEST((same == ns));
  BOOST_TEST(hits(*other, same, batch) == 400U);
  BOOST_TEST(daemon.stat("adopted") == 400);
}

BOOST_AUTO_TEST_CASE(a_clean_stop_keeps_the_blocks_too) {
  sim::Daemon daemon;
  sim::Batch batch(spec(), 8, 50, 10'000);
  {
    const auto client = daemon.shm();
    const NamespaceId ns = *client->open_namespace(spec());
    sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 50, KeyStatus::kOk);
  }
  BOOST_TEST(daemon.terminate() == 0);
  daemon.start();
  const auto client = daemon.shm();
  BOOST_TEST(hits(*client, *client->open_namespace(spec()), batch) == 50U);
}

BOOST_AUTO_TEST_CASE(removed_blocks_stay_removed) {
  sim::Daemon daemon;
  sim::Batch batch(spec(), 9, 20, 10'000);
  const auto client = daemon.shm();
  const NamespaceId ns = *client->open_namespace(spec());
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 20, KeyStatus::kOk);
  sim::check_all(client->remove(ns, batch.keys), 20, KeyStatus::kOk);
  daemon.kill();
  daemon.start();
  BOOST_TEST(hits(*client, ns, batch) == 0U);
}

BOOST_AUTO_TEST_CASE(a_damaged_header_is_a_miss_and_the_rest_serves) {
  sim::Daemon daemon({.shards = 1, .flags = {}, .environment = {}, .program = {}});
  sim::Batch batch(spec(), 10, 20, 65'536);
  const auto client = daemon.shm();
  const NamespaceId ns = *client->open_namespace(spec());
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 20, KeyStatus::kOk);
  daemon.kill();
  {
    std::fstream headers(daemon.runtime_dir() + "/slab-1.hdr",
                         std::ios::in | std::ios::out | std::ios::binary);
    BOOST_REQUIRE(headers.good());
    // One bit of the hash in the first committed header.
    char committed = 0;
    std::streamoff at = 4096;
    for (; at < 4096 + 128 * 64 && committed == 0; at += 128) {
      headers.seekg(at + 116);
      headers.get(committed);
    }
    BOOST_REQUIRE(committed != 0);
    at -= 128;
    headers.seekg(at + 24);
    char byte = 0;
    headers.get(byte);
    headers.seekp(at + 24);
    headers.put(static_cast<char>(byte ^ 0x10));
  }
  daemon.start();
  BOOST_TEST(hits(*client, ns, batch) == 19U);
}

BOOST_DATA_TEST_CASE(a_block_that_rots_is_a_miss_and_leaves, boost::unit_test::data::make({0, 1}),
                     tcp) {
  sim::Daemon daemon({.shards = 1, .flags = {}, .environment = {}, .program = {}});
  sim::Batch batch(spec(), 11, 3, 300'000);
  const auto client = tcp != 0 ? daemon.tcp_client() : daemon.shm();
  const NamespaceId ns = *client->open_namespace(spec());
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 3, KeyStatus::kOk);
  {
    // One bit of the middle of the first slot's block.
    std::fstream data(daemon.runtime_dir() + "/slab-1.data",
                      std::ios::in | std::ios::out | std::ios::binary);
    BOOST_REQUIRE(data.good());
    char byte = 0;
    data.seekg(150'000);
    data.get(byte);
    data.seekp(150'000);
    data.put(static_cast<char>(byte ^ 0x10));
  }

  const Completion got = client->get(ns, batch.keys, batch.targets, {.verify = true});

  BOOST_TEST(std::count(got.keys.begin(), got.keys.end(), KeyStatus::kMiss) == 1);
  BOOST_TEST(std::count(got.keys.begin(), got.keys.end(), KeyStatus::kOk) == 2);
  BOOST_TEST(client->stats().checksum_errors == 1U);
  for (int n = 0; n < 200 && daemon.stat("shard_quarantined") < 1; ++n)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  BOOST_TEST(daemon.stat("shard_quarantined") == 1);
  // It may be put again: its bad copy is out of the way.
  const Completion again = client->put(ns, batch.keys, batch.sources, {});
  BOOST_TEST(std::count(again.keys.begin(), again.keys.end(), KeyStatus::kOk) == 1);
  BOOST_TEST(hits(*client, ns, batch) == 3U);
}

BOOST_AUTO_TEST_CASE(a_second_daemon_on_the_directory_is_refused) {
  const sim::Daemon daemon;
  const sim::Finished second = sim::run_program(
      {sim::built("larderd"), "--runtime-dir", daemon.runtime_dir(), "--socket",
       daemon.dir() + "/other", "--listen", "off", "--http", "off", "--host-bytes", "16MiB"},
      std::chrono::seconds(10));
  BOOST_TEST(second.status == 4);
  BOOST_TEST(second.output.find("another larderd has it") != std::string::npos, second.output);
}

BOOST_AUTO_TEST_CASE(a_port_in_use_is_refused_by_name) {
  const sim::Daemon daemon;
  const sim::Finished second = sim::run_program(
      {sim::built("larderd"), "--runtime-dir", daemon.dir() + "/run2", "--socket",
       daemon.dir() + "/other", "--listen", daemon.tcp(), "--http", "off", "--host-bytes", "16MiB"},
      std::chrono::seconds(10));
  BOOST_TEST(second.status == 4);
  BOOST_TEST(second.output.find(daemon.tcp()) != std::string::npos, second.output);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::restart_test
