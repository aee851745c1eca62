// TLS 1.3 over TCP: what is served, who is refused and what each is told.

#include <filesystem>

#include <boost/test/unit_test.hpp>
#include <signal.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/tls_files.h"
#include "transport/socket.h"

namespace larder::tls_test {
namespace {

struct Encrypted {
  Client::Options options(const std::string& ca, const std::string& name = {}) const {
    Client::Options out;
    out.server = daemon.tcp();
    out.tls_ca = ca;
    out.tls_name = name;
    out.deadline = std::chrono::seconds(5);
    return out;
  }

  test::TempDir dir;
  test::TlsFiles files{dir};
  test::TlsFiles stranger{dir, "stranger-"};
  sim::Daemon daemon{{.flags = {"--tls-cert", files.cert, "--tls-key", files.key},
                      .environment = {},
                      .program = {}}};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tls_sessions, Encrypted)

BOOST_AUTO_TEST_CASE(blocks_of_every_size_come_back_as_they_went) {
  const auto client = daemon.connect(options(files.cert));
  std::uint64_t seed = 0;
  for (const auto& [count, bytes] : {std::pair{1U, 256UL},
                                     {64U, 5000UL},
                                     {16U, 262'144UL},
                                     {3U, 1'000'003UL},
                                     {1U, 16UL << 20}}) {
    sim::round_trip(*client, ++seed, count, bytes);
  }
}

BOOST_AUTO_TEST_CASE(both_ends_of_shared_memory_need_none) {
  const auto client = daemon.shm();
  sim::round_trip(*client, 1, 4, 10'000);
  BOOST_TEST(client->stats().transport == "shm");
}

BOOST_AUTO_TEST_CASE(who_trusts_somebody_else_or_another_name_is_not_served) {
  const auto wrong = Client::connect(options(stranger.cert));
  BOOST_TEST((wrong.status().code() == absl::StatusCode::kUnauthenticated), wrong.status());
  const auto name = Client::connect(options(files.cert, "other.example"));
  BOOST_TEST((name.status().code() == absl::StatusCode::kUnauthenticated), name.status());
  BOOST_TEST(Client::connect(options(files.cert, "localhost")).ok());
}

BOOST_AUTO_TEST_CASE(a_client_without_tls_is_told_what_is_wanted) {
  const auto plain = Client::connect(options(""));
  BOOST_TEST(std::string(plain.status().message()).find("TLS 1.3") != std::string::npos,
             plain.status());
}

BOOST_AUTO_TEST_CASE(a_server_that_is_silent_costs_the_connect_deadline) {
  Address address;
  address.host = "127.0.0.1";
  address.port = "0";
  const Fd listener = *listen_on(address);  // the kernel accepts, nobody answers
  Client::Options silent = options(files.cert);
  silent.server = "127.0.0.1:" + std::to_string(*local_port(listener.get()));
  silent.connect_deadline = std::chrono::milliseconds(200);
  BOOST_TEST((Client::connect(silent).status().code() == absl::StatusCode::kDeadlineExceeded));
}

BOOST_AUTO_TEST_CASE(
    a_daemon_without_room_or_without_tls_is_told_from_one_that_cannot_prove_itself) {
  const sim::Daemon plain;
  Client::Options wrong = options(files.cert);
  wrong.server = plain.tcp();
  const auto refused = Client::connect(wrong);
  BOOST_TEST((refused.status().code() == absl::StatusCode::kUnavailable));
  BOOST_TEST(std::string(refused.status().message()).find("without TLS") != std::string::npos,
             refused.status());
}

BOOST_AUTO_TEST_CASE(a_killed_daemon_is_met_again) {
  const auto client = daemon.connect(options(files.cert));
  const NamespaceSpec spec = sim::chain_spec("tls");
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch batch(spec, 1, 8, 100'000);
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 8, KeyStatus::kOk);
  daemon.kill();
  daemon.start();
  sim::check_all(client->get(ns, batch.keys, batch.targets, {}), 8, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());
}

BOOST_AUTO_TEST_CASE(a_new_certificate_is_taken_over_and_open_sessions_stay) {
  const auto client = daemon.connect(options(files.cert));
  for (const auto& [from, to] : {std::pair{stranger.cert, files.cert}, {stranger.key, files.key}}) {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  }
  ::kill(daemon.pid(), SIGHUP);
  bool trusted = false;
  for (int tries = 0; tries < 200 && !trusted; ++tries) {
    trusted = Client::connect(options(stranger.cert)).ok();
    usleep(20'000);
  }
  BOOST_TEST(trusted);
  sim::round_trip(*client, 7, 4, 50'000);
}

BOOST_AUTO_TEST_CASE(a_certificate_without_its_key_does_not_start) {
  for (const auto& flags : {std::vector<std::string>{"--tls-cert", files.cert},
                            {"--tls-cert", files.cert, "--tls-key", stranger.key}}) {
    std::vector<std::string> command{sim::built("larderd"), "--runtime-dir", dir.path() + "/run",
                                     "--socket", dir.path() + "/s"};
    command.insert(command.end(), flags.begin(), flags.end());
    const sim::Finished ended = sim::run_program(command, std::chrono::seconds(10));
    BOOST_TEST((ended.status == 2 || ended.status == 4));
    BOOST_TEST(ended.output.find("tls_key") != std::string::npos, ended.output);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::tls_test
