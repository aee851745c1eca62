// kill -9 and SIGSTOP of workers in the middle of gets, puts, views, claims.

#include <thread>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"

namespace larder::worker_death_test {

namespace data = boost::unit_test::data;
using std::chrono::milliseconds;

namespace {

pid_t start_worker(const std::string& server, int seed) {
  const std::string program = sim::built("larder_test_worker");
  const std::string seed_text = std::to_string(seed);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl(program.c_str(), program.c_str(), server.c_str(), seed_text.c_str(),
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  return pid;
}

int end_worker(pid_t pid) {
  ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;  // it ended by itself: what it found
}

/// Everything that sessions hold: nothing, within a second.
bool all_given_back(const sim::Daemon& daemon) {
  for (int n = 0; n < 50; ++n) {
    // The session that asks is one.
    if (daemon.stat("sessions") == 1 && daemon.stat("pinned_bytes") == 0) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(worker_death)

BOOST_DATA_TEST_CASE(a_killed_worker_leaves_nothing_behind, data::make({0, 1}), over_tcp) {
  sim::Daemon daemon(
      {.host_bytes = Bytes{64 << 20}, .flags = {}, .environment = {}, .program = {}});
  const std::string server = over_tcp != 0 ? daemon.tcp() : daemon.socket();
  const pid_t bystander = start_worker(server, 1000);
  for (int round = 0; round < 10; ++round) {
    const pid_t worker = start_worker(server, round);
    std::this_thread::sleep_for(milliseconds(60 + 17 * round));
    BOOST_TEST(end_worker(worker) == 0, "the worker found a wrong byte");
  }
  int status = 0;
  BOOST_TEST(::waitpid(bystander, &status, WNOHANG) == 0, "the bystander ended");
  BOOST_TEST(end_worker(bystander) == 0);
  BOOST_TEST(all_given_back(daemon));

  // Every slot can be had again: a batch as large as the store goes in whole.
  const auto client = daemon.shm();
  NamespaceSpec spec = sim::chain_spec("after");
  spec.groups[0].block_bytes = Bytes{256 << 10};
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch batch(spec, 77, 240, 256 << 10);
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 240, KeyStatus::kOk);
}

BOOST_AUTO_TEST_CASE(a_frozen_worker_cannot_hold_blocks_longer_than_its_lease) {
  sim::Daemon daemon({.host_bytes = Bytes{16 << 20},
                      .shards = 1,
                      .flags = {"--lease-ms", "500", "--heartbeat-ms", "600"},
                      .environment = {},
                      .program = {}});
  const pid_t worker = start_worker(daemon.socket(), 3);
  std::this_thread::sleep_for(milliseconds(300));
  ::kill(worker, SIGSTOP);
  std::this_thread::sleep_for(milliseconds(1500));
  const auto client = daemon.shm();
  NamespaceSpec spec = sim::chain_spec("after");
  spec.groups[0].block_bytes = Bytes{256 << 10};
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch batch(spec, 78, 60, 256 << 10);
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 60, KeyStatus::kOk);
  ::kill(worker, SIGCONT);
  std::this_thread::sleep_for(milliseconds(500));
  BOOST_TEST(end_worker(worker) == 0, "the thawed worker found a wrong byte");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::worker_death_test
