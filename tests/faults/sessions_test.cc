// A worker that opens far more sessions than it should.

#include <fstream>

#include <boost/test/unit_test.hpp>

#include "actors/session_limits.h"
#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/e2e/raw.h"
#include "tests/faults/process_figures.h"

namespace larder::sessions_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr int kLimit = 200;
constexpr int kKept = kSessionsKept;  ///< the tests' own uid is the daemon's

struct Crowded {
  sim::Daemon daemon{
      {.flags = {"--max-sessions", std::to_string(kLimit), "--heartbeat-ms", "60000"},
       .environment = {},
       .program = {}}};
  std::unique_ptr<Client> bystander = daemon.shm();
  NamespaceSpec spec = sim::chain_spec("crowd");
  NamespaceId ns = *bystander->open_namespace(spec);
  sim::Batch batch{spec, 1, 16, 65'536};

  Crowded() {
    sim::raise_descriptor_limit();
    sim::check_all(bystander->put(ns, batch.keys, batch.sources, {}), 16, KeyStatus::kOk);
  }
  void bystander_is_served() {
    batch.clear();
    const auto began = std::chrono::steady_clock::now();
    sim::check_all(bystander->get(ns, batch.keys, batch.targets, {}), 16, KeyStatus::kOk);
    BOOST_TEST((std::chrono::steady_clock::now() - began < seconds(1)));
    BOOST_TEST(batch.got_all());
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(larderd_sessions, Crowded)

BOOST_AUTO_TEST_CASE(a_thousand_sessions_meet_the_limit_and_give_everything_back) {
  const std::size_t descriptors = sim::descriptors(daemon.pid());
  const std::size_t mappings = sim::mappings(daemon.pid());
  const Bytes memory = sim::own_memory(daemon.pid());
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<sim::Raw>> sessions;
    int open = 0;
    for (int n = 0; n < 1000; ++n) {
      auto raw = std::make_unique<sim::Raw>(daemon.socket(), /*greet=*/false);
      raw->say_hello({.shm = true});
      BOOST_REQUIRE(raw->receive());
      if (raw->frame().header.type == FrameType::kHello) {
        open += 1;
      } else {
        const std::string why = raw->body<wire::ErrorNotice>().status().message();
        BOOST_TEST(why.find("the limit is max_sessions=200") != std::string::npos, why);
      }
      sessions.push_back(std::move(raw));
    }
    BOOST_TEST(open == kLimit - 1 + kKept);
    for (int n = 0; n < 20; ++n) {
      Client::Options late;
      late.server = n % 2 == 0 ? daemon.socket() : daemon.tcp();
      const std::string why(Client::connect(late).status().message());
      BOOST_TEST(why.find("max_sessions=200") != std::string::npos, why);
    }
    bystander_is_served();
    BOOST_TEST(sim::own_memory(daemon.pid()).count < memory.count + (64U << 20));

    sessions.clear();
    BOOST_TEST(sim::soon(seconds(2), [&] { return sim::figure(*bystander, "sessions") == 1; }));
    BOOST_TEST(sim::descriptors(daemon.pid()) <= descriptors + 4);
    BOOST_TEST(sim::mappings(daemon.pid()) <= mappings + 50);
  }
  bystander_is_served();
}

/// All of them wait when the daemon comes to accept: none has become a session when the next one
/// is looked at.
BOOST_AUTO_TEST_CASE(a_burst_of_connections_meets_the_limit_too) {
  const std::string& path = daemon.socket();
  std::vector<std::unique_ptr<sim::Raw>> sessions;
  for (int n = 0; n < kLimit - 50; ++n)
    sessions.push_back(std::make_unique<sim::Raw>(path));
  daemon.freeze();
  for (int n = 0; n < 150; ++n)
    sessions.push_back(std::make_unique<sim::Raw>(path, /*greet=*/false));
  for (std::size_t n = kLimit - 50; n < sessions.size(); ++n)
    sessions[n]->say_hello({});
  daemon.thaw();
  int open = 0;
  for (std::size_t n = kLimit - 50; n < sessions.size(); ++n) {
    BOOST_REQUIRE(sessions[n]->receive());
    open += sessions[n]->frame().header.type == FrameType::kHello ? 1 : 0;
  }
  BOOST_TEST(open == 49 + kKept);
  bystander_is_served();
}

/// Fewer than make room of themselves, but all that was left.
BOOST_AUTO_TEST_CASE(silent_connections_make_room_when_all_sessions_are_taken) {
  constexpr int kSilent = kLimit / kUnknownShare - 10;
  std::vector<std::unique_ptr<sim::Raw>> sessions;
  for (int n = 0; n < kLimit - 1 - kSilent; ++n)
    sessions.push_back(std::make_unique<sim::Raw>(daemon.tcp()));
  for (int n = 0; n < kSilent; ++n)
    sessions.push_back(std::make_unique<sim::Raw>(daemon.tcp(), /*greet=*/false));
  std::this_thread::sleep_for(kUnknownAge + milliseconds(50));
  for (int n = 0; n < 10; ++n) {
    auto raw = std::make_unique<sim::Raw>(daemon.tcp(), /*greet=*/false);
    raw->say_hello({});
    BOOST_REQUIRE(raw->receive());
    BOOST_TEST((raw->frame().header.type == FrameType::kHello));
    sessions.push_back(std::move(raw));
  }
  bystander_is_served();
}

/// Connections that say nothing: the oldest make room, so who speaks comes in at once.
BOOST_AUTO_TEST_CASE(silent_connections_keep_nobody_out) {
  std::vector<std::unique_ptr<sim::Raw>> silent;
  for (int n = 0; n < 3 * kLimit; ++n)
    silent.push_back(std::make_unique<sim::Raw>(daemon.tcp(), /*greet=*/false));
  for (int n = 0; n < 5; ++n)
    BOOST_TEST(daemon.tcp_client() != nullptr);
  BOOST_TEST(sim::figure(*bystander, "sessions") <= kLimit / kUnknownShare + 16.0);
  bystander_is_served();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::sessions_test
