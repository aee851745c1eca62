// A frozen daemon: calls end at their deadline, and nothing of them happens afterwards.

#include <thread>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"

namespace larder::freeze_test {

namespace data = boost::unit_test::data;
using std::chrono::milliseconds;

namespace {

NamespaceSpec spec() {
  return sim::chain_spec("freeze");
}

enum class Path { kTcp, kAttach, kStaged };
constexpr Path kPaths[] = {Path::kTcp, Path::kAttach, Path::kStaged};
std::ostream& operator<<(std::ostream& out, Path path) {
  return out << (path == Path::kTcp ? "tcp" : path == Path::kAttach ? "attach" : "staged");
}

std::unique_ptr<Client> client_of(const sim::Daemon& daemon, Path path) {
  Client::Options options;
  options.server = path == Path::kTcp ? daemon.tcp() : daemon.socket();
  options.deadline = milliseconds(300);
  options.allow_attach = path == Path::kAttach;
  return daemon.connect(std::move(options));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_frozen)

/// Freezes at many moments of a put, so that some fall inside reserve, copy and commit.
BOOST_DATA_TEST_CASE(nothing_put_after_the_call_has_ended_becomes_visible, data::make(kPaths),
                     path) {
  sim::Daemon daemon({.host_bytes = Bytes{256 << 20},
                      .flags = {"--heartbeat-ms", "60000"},
                      .environment = {},
                      .program = {}});
  for (std::uint64_t round = 0; round < 8; ++round) {
    const auto client = client_of(daemon, path);
    const NamespaceId ns = *client->open_namespace(spec());
    sim::Batch batch(spec(), 100 + round, 4, 4 << 20);
    const std::vector<std::vector<std::byte>> before = batch.blocks;
    std::thread freezer([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(200 + 700 * round));
      daemon.freeze();
    });
    const auto began = std::chrono::steady_clock::now();
    const Completion put = client->put(ns, batch.keys, batch.sources, {});
    const auto took = std::chrono::steady_clock::now() - began;
    freezer.join();
    BOOST_TEST((took < milliseconds(1500)), "the call outlived its deadline");

    // The engine writes over its buffers as soon as the call has ended.
    for (auto& block : batch.blocks)
      std::fill(block.begin(), block.end(), std::byte{0x55});
    daemon.thaw();
    std::this_thread::sleep_for(milliseconds(100));
    const auto reader = daemon.shm();
    const NamespaceId same = *reader->open_namespace(spec());
    const Completion got = reader->get(same, batch.keys, batch.targets, {});
    for (std::size_t i = 0; i < got.keys.size(); ++i) {
      if (got.keys[i] != KeyStatus::kOk) continue;
      BOOST_TEST((batch.places[i] == before[i]), "bytes of after the call became visible");
    }
    if (put.code == absl::StatusCode::kOk) BOOST_TEST((got.keys[0] == KeyStatus::kOk));
  }
}

BOOST_DATA_TEST_CASE(nothing_is_written_into_the_client_after_a_get_has_ended, data::make(kPaths),
                     path) {
  sim::Daemon daemon({.host_bytes = Bytes{256 << 20},
                      .flags = {"--heartbeat-ms", "60000"},
                      .environment = {},
                      .program = {}});
  const auto writer = daemon.shm();
  sim::Batch batch(spec(), 5, 8, 4 << 20);
  const NamespaceId ns = *writer->open_namespace(spec());
  sim::check_all(writer->put(ns, batch.keys, batch.sources, {}), 8, KeyStatus::kOk);
  for (std::uint64_t round = 0; round < 6; ++round) {
    const auto client = client_of(daemon, path);
    BOOST_REQUIRE(client->open_namespace(spec()).ok());
    batch.clear();
    std::thread freezer([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(100 + 900 * round));
      daemon.freeze();
    });
    const Completion got = client->get(ns, batch.keys, batch.targets, {});
    freezer.join();
    for (std::size_t i = 0; i < got.keys.size(); ++i) {
      if (got.keys[i] == KeyStatus::kOk) BOOST_TEST((batch.places[i] == batch.blocks[i]));
    }
    batch.clear();
    daemon.thaw();
    std::this_thread::sleep_for(milliseconds(100));
    for (const auto& place : batch.places) {
      BOOST_TEST(
          std::all_of(place.begin(), place.end(), [](std::byte b) { return b == std::byte{0xcc}; }),
          "the client's memory was written after the call");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_frozen_daemon_heals) {
  sim::Daemon daemon;
  const auto client = daemon.shm(milliseconds(300));
  const NamespaceId ns = *client->open_namespace(spec());
  sim::Batch batch(spec(), 6, 4, 65'536);
  daemon.freeze();
  const auto began = std::chrono::steady_clock::now();
  BOOST_TEST((client->put(ns, batch.keys, batch.sources, {}).code != absl::StatusCode::kOk));
  BOOST_TEST((std::chrono::steady_clock::now() - began < milliseconds(1500)));
  daemon.thaw();
  Completion put;
  for (int n = 0; n < 100 && (put.keys.empty() || put.keys[0] != KeyStatus::kOk); ++n) {
    std::this_thread::sleep_for(milliseconds(20));
    put = client->put(ns, batch.keys, batch.sources, {});
    if (!put.keys.empty() && put.keys[0] == KeyStatus::kPresent) break;
  }
  const Completion got = client->get(ns, batch.keys, batch.targets, {});
  sim::check_all(got, 4, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());
}

BOOST_AUTO_TEST_CASE(a_quiet_client_and_a_waiting_one_keep_their_sessions) {
  sim::Daemon daemon({.flags = {"--heartbeat-ms", "1200"}, .environment = {}, .program = {}});
  const auto quiet = daemon.shm();
  const auto waiting = daemon.tcp_client();
  const NamespaceId ns = *waiting->open_namespace(spec());
  sim::Batch batch(spec(), 12, 1, 4096);
  const Completion waited = waiting->wait(ns, batch.keys, milliseconds(4000));
  BOOST_TEST(
      (waited.code == absl::StatusCode::kDeadlineExceeded || waited.code == absl::StatusCode::kOk));
  BOOST_TEST(quiet->stats().reconnects == 0U);
  BOOST_TEST(waiting->stats().reconnects == 0U);
  BOOST_TEST(daemon.stat("sessions_timed_out") == 0);
}

/// A view whose lease has lapsed says so, and a get of the reused slot's old key is a miss.
BOOST_AUTO_TEST_CASE(a_view_past_its_lease_is_told_when_its_slot_was_reused) {
  sim::Daemon daemon({.host_bytes = Bytes{4 << 20},
                      .shards = 1,
                      .flags = {"--lease-ms", "200"},
                      .environment = {},
                      .program = {}});
  const auto writer = daemon.shm();
  const NamespaceId ns = *writer->open_namespace(spec());
  sim::Batch old(spec(), 11, 1, 1 << 20);
  sim::check_all(writer->put(ns, old.keys, old.sources, {}), 1, KeyStatus::kOk);
  auto views = writer->view(ns, old.keys, {});
  BOOST_REQUIRE(views.ok());
  BOOST_REQUIRE((views->front().status() == KeyStatus::kOk));
  // The whole daemon's restart ends every lease; the same files are served on.
  daemon.kill();
  daemon.start();
  const auto other = daemon.shm();
  BOOST_REQUIRE(other->open_namespace(spec()).ok());
  for (std::uint64_t n = 0; n < 16; ++n) {
    sim::Batch fresh(spec(), 20 + n, 1, 1 << 20);
    other->put(ns, fresh.keys, fresh.sources, {});
  }
  BOOST_TEST(!views->front().release(), "the slot was reused, and the view says it was valid");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::freeze_test
