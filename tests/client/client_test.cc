#include "client/client.h"

#include <boost/test/data/test_case.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/client/fixture.h"

namespace larder::client_test {
namespace {

absl::Status connect_status(Client::Options options) {
  options.connect_deadline = std::chrono::milliseconds(300);
  return Client::connect(std::move(options)).status();
}

bool contains(const absl::Status& status, std::string_view part) {
  return std::string(status.message()).find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(client)

BOOST_AUTO_TEST_CASE(nobody_there_names_the_address_and_the_remedy) {
  const absl::Status status = connect_status({.server = "/tmp/larder-nobody/larderd.sock"});

  BOOST_TEST(absl::IsUnavailable(status));
  BOOST_TEST(contains(status, "/tmp/larder-nobody/larderd.sock"), status.message());
  BOOST_TEST(contains(status, "start `larderd`"), status.message());
}

BOOST_AUTO_TEST_CASE(a_wrong_token_is_unauthenticated) {
  sim::FakeServer server({.token = "secret"});

  BOOST_TEST(absl::IsUnauthenticated(connect_status({.server = server.address(), .token = "no"})));
  BOOST_TEST(connect_status({.server = server.address(), .token = "secret"}).ok());
}

BOOST_AUTO_TEST_CASE(shared_memory_over_tcp_or_without_grant_is_refused) {
  sim::FakeServer server({.shm = false});

  BOOST_TEST(absl::IsInvalidArgument(
      connect_status({.server = "127.0.0.1:1", .transport = Client::Transport::kShm})));
  BOOST_TEST(absl::IsFailedPrecondition(
      connect_status({.server = server.address(), .transport = Client::Transport::kShm})));
  BOOST_TEST(connect_status({.server = server.address()}).ok());
  BOOST_TEST(absl::IsInvalidArgument(connect_status({.server = "host:no port"})));
}

BOOST_AUTO_TEST_CASE(a_server_that_says_nothing_is_a_deadline) {
  sim::FakeServer server;
  server.faults.silent = true;
  const sim::Stopwatch watch;

  BOOST_TEST(absl::IsDeadlineExceeded(connect_status({.server = server.address()})));
  BOOST_TEST((watch.elapsed() < std::chrono::seconds(2)));
}

BOOST_AUTO_TEST_CASE(wrong_arguments_name_their_limits) {
  sim::Pair pair(sim::Path::kStaged);
  const NamespaceSpec spec = sim::chain_spec("arguments");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 1000);
  std::vector<Key> many(limits::kBatchKeysMax + 1, batch.keys[0]);
  std::vector<MutableBuffer> targets(many.size(), batch.targets[0]);

  Completion done = pair.client->get(ns, many, targets, {});
  sim::check_code(done, absl::StatusCode::kInvalidArgument);
  BOOST_TEST(done.message.find("4097") != std::string::npos, done.message);
  BOOST_TEST(done.message.find("4096") != std::string::npos, done.message);
  BOOST_TEST(done.keys.size() == many.size());

  done = pair.client->put(ns, batch.keys, std::span<const ConstBuffer>(batch.sources).first(1), {});
  sim::check_code(done, absl::StatusCode::kInvalidArgument);
  batch.keys[1].length = 999;
  done = pair.client->put(ns, batch.keys, batch.sources, {});
  sim::check_code(done, absl::StatusCode::kInvalidArgument);
  BOOST_TEST(done.message.find("999") != std::string::npos, done.message);
  BOOST_TEST(pair.server.blocks() == 0U);
}

BOOST_AUTO_TEST_CASE(a_submission_with_wrong_arguments_has_its_completion_too) {
  sim::Pair pair(sim::Path::kStaged);
  const NamespaceSpec spec = sim::chain_spec("arguments");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 1000);

  const std::uint64_t id = pair.client->submit_put(ns, batch.keys, {}, {});
  const std::uint64_t empty = pair.client->submit_get(ns, {}, {}, {});
  const std::vector<Completion> done = sim::drain(*pair.client, 2);

  BOOST_REQUIRE(done.size() == 2);
  BOOST_TEST(done[0].id == id);
  sim::check_code(done[0], absl::StatusCode::kInvalidArgument);
  BOOST_TEST(done[1].id == empty);
  sim::check_code(done[1], absl::StatusCode::kOk);
}

BOOST_AUTO_TEST_CASE(too_large_a_match_is_refused_before_it_is_sent) {
  sim::Pair pair(sim::Path::kStaged);
  const NamespaceId ns = *pair.client->open_namespace(sim::chain_spec("match"));
  const std::vector<BlockHash> chain(limits::kMatchUnitsMax + 1);
  const std::span<const BlockHash> one(chain);

  BOOST_TEST(absl::IsInvalidArgument(pair.client->match(ns, std::span(&one, 1)).status()));
  BOOST_TEST(pair.server.seen(FrameType::kMatch) == 0);
}

BOOST_AUTO_TEST_CASE(errors_of_the_daemon_are_those_of_the_call) {
  sim::Pair pair(sim::Path::kTcp);
  const NamespaceSpec spec = sim::chain_spec("errors");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 1000);
  pair.server.faults.error_code = static_cast<int>(absl::StatusCode::kPermissionDenied);

  const Completion put = pair.client->put(ns, batch.keys, batch.sources, {});
  const Completion get = pair.client->get(ns, batch.keys, batch.targets, {});
  const std::span<const BlockHash> chain(batch.chain);

  sim::check_code(put, absl::StatusCode::kPermissionDenied);
  BOOST_TEST(put.message == "told to fail");
  sim::check_code(get, absl::StatusCode::kPermissionDenied);
  BOOST_TEST(absl::IsPermissionDenied(pair.client->match(ns, std::span(&chain, 1)).status()));
}

BOOST_AUTO_TEST_CASE(a_corrupt_block_is_a_miss_that_is_counted) {
  for (const sim::Path path : {sim::Path::kTcp, sim::Path::kStaged}) {
    sim::Pair pair(path);
    const NamespaceSpec spec = sim::chain_spec("corrupt");
    const NamespaceId ns = *pair.client->open_namespace(spec);
    sim::Batch batch(spec, 1, 2, 300'000);
    sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 2, KeyStatus::kOk);
    pair.server.faults.wrong_checksum = true;

    const Completion done = pair.client->get(ns, batch.keys, batch.targets, {.verify = true});

    sim::check_all(done, 2, KeyStatus::kMiss);
    BOOST_TEST(done.bytes == 0U);
    BOOST_TEST(pair.client->stats().checksum_errors == 2U);
    BOOST_TEST(pair.client->stats().misses == 2U);
    // And the daemon is asked to look at its own copies; what it answers disturbs nobody.
    BOOST_TEST(sim::eventually([&] { return pair.server.seen(FrameType::kGet) == 2; }));
    pair.server.faults.wrong_checksum = false;
    sim::check_all(pair.client->get(ns, batch.keys, batch.targets, {.verify = true}), 2,
                   KeyStatus::kOk);
    BOOST_TEST(batch.got_all());
    BOOST_TEST(sim::eventually([&] { return pair.server.leases() == 0; }));
  }
}

BOOST_AUTO_TEST_CASE(a_generation_that_changed_in_the_copy_is_a_miss) {
  sim::Pair pair(sim::Path::kStaged);
  const NamespaceSpec spec = sim::chain_spec("stale");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 3, 10'000);
  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 3, KeyStatus::kOk);
  pair.server.faults.stale = true;

  const Completion done = pair.client->get(ns, batch.keys, batch.targets, {});

  sim::check_all(done, 3, KeyStatus::kMiss);
  BOOST_TEST(pair.client->stats().stale_generations == 3U);
}

BOOST_AUTO_TEST_CASE(leases_of_gets_are_given_back_soon) {
  sim::Pair pair(sim::Path::kStaged);
  const NamespaceSpec spec = sim::chain_spec("leases");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 3, 10'000);
  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 3, KeyStatus::kOk);

  for (int n = 0; n < 10; ++n)
    pair.client->get(ns, batch.keys, batch.targets, {});

  BOOST_TEST(sim::eventually([&] { return pair.server.leases() == 0; }));
  BOOST_TEST(pair.server.seen(FrameType::kRelease) > 0);
}

BOOST_AUTO_TEST_CASE(statistics_tell_the_path_and_why) {
  sim::Pair tcp(sim::Path::kTcp);
  sim::Pair staged(sim::Path::kStaged);
  sim::Pair attach(sim::Path::kAttach);

  BOOST_TEST(tcp.client->stats().transport == "tcp");
  BOOST_TEST(tcp.client->stats().put_path == "stream");
  BOOST_TEST(staged.client->stats().transport == "shm");
  BOOST_TEST(staged.client->stats().put_path == "staged");
  BOOST_TEST(staged.client->stats().put_path_reason == "the fake server was told not to");
  BOOST_TEST(attach.client->stats().put_path == "attach");
}

BOOST_AUTO_TEST_CASE(after_a_fork_the_child_is_told_and_the_parent_goes_on) {
  sim::Pair pair(sim::Path::kStaged);
  const NamespaceSpec spec = sim::chain_spec("fork");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 1, 1000);

  const pid_t child = fork();
  if (child == 0) {
    const Completion done = pair.client->put(ns, batch.keys, batch.sources, {});
    const bool told = done.code == absl::StatusCode::kFailedPrecondition;
    pair.client.reset();
    _exit(told ? 0 : 1);
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);

  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 0);
  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 1, KeyStatus::kOk);
}

BOOST_AUTO_TEST_CASE(an_idle_client_keeps_its_session_by_heartbeats) {
  sim::Pair pair(sim::FakeServer::Options{.heartbeat_ms = 90});

  BOOST_TEST(sim::eventually([&] { return pair.server.seen(FrameType::kPing) >= 3; }));
  BOOST_TEST(pair.server.connections() == 1);
}

BOOST_AUTO_TEST_CASE(a_daemon_silent_for_the_heartbeat_is_left_for_a_new_connection) {
  sim::Pair pair(sim::FakeServer::Options{.heartbeat_ms = 90});
  pair.server.faults.silent = true;

  BOOST_TEST(sim::eventually([&] { return pair.server.connections() >= 2; }));
  pair.server.faults.silent = false;
  BOOST_TEST(sim::eventually([&] { return pair.client->stats().reconnects >= 1; }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::client_test
