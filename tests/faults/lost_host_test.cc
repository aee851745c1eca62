// A client's host vanishes without a word: its packets are lost, and so are ours.

#include <thread>

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/faults/private_space.h"
#include "tests/faults/process_figures.h"
#include "transport/socket.h"

namespace larder::lost_host_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr milliseconds kHeartbeat(1000);
constexpr milliseconds kDeadline(800);
constexpr std::uint32_t kBlocks = 32;
constexpr std::size_t kBytes = 65'536;

/// On the second host: a client with a request open, which pins what it matched.
struct FarClient {
  FarClient(const sim::TwoHosts& hosts, Client::Options options, const NamespaceSpec& spec,
            sim::Batch& batch) {
    std::thread([&] {
      hosts.enter_there();
      auto connected = Client::connect(std::move(options));
      BOOST_REQUIRE_MESSAGE(connected.ok(), connected.status().message());
      client = *std::move(connected);
      ns = *client->open_namespace(spec);
      const std::uint64_t request = client->begin_request(ns);
      const std::span<const BlockHash> chain(batch.chain);
      BOOST_TEST(client->match(ns, std::span(&chain, 1), {.request = request}).ok());
    }).join();
  }
  std::unique_ptr<Client> client;
  NamespaceId ns;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_lost_host)

BOOST_AUTO_TEST_CASE(its_holds_go_within_the_heartbeat_and_its_calls_end_at_their_deadline) {
  const auto hosts = sim::TwoHosts::make();
  if (!hosts) return;
  const test::TempDir dir;
  const std::string tokens = dir.file("tokens", "far-away-token-0001 default\n");
  std::filesystem::permissions(tokens, std::filesystem::perms::owner_read);
  const std::string address = std::string(sim::TwoHosts::kHere) + ":7440";
  const sim::Daemon daemon({.flags = {"--heartbeat-ms", std::to_string(kHeartbeat.count()),
                                      "--pin-quota-percent", "100", "--token-file", tokens},
                            .environment = {},
                            .program = {},
                            .listen = address});
  const auto bystander = daemon.shm();
  const NamespaceSpec spec = sim::chain_spec("far");
  const NamespaceId ns = *bystander->open_namespace(spec);
  sim::Batch batch(spec, 1, kBlocks, kBytes);
  sim::check_all(bystander->put(ns, batch.keys, batch.sources, {}), kBlocks, KeyStatus::kOk);
  sim::Batch far_batch(spec, 1, kBlocks, kBytes);
  FarClient far(*hosts,
                {.server = address,
                 .token = "far-away-token-0001",
                 .plain_token = true,
                 .deadline = kDeadline},
                spec, far_batch);
  sim::check_all(far.client->get(far.ns, far_batch.keys, far_batch.targets, {}), kBlocks,
                 KeyStatus::kOk);
  BOOST_TEST(sim::figure(*bystander, "pinned_bytes") == kBlocks * kBytes);
  BOOST_TEST(sim::figure(*bystander, "sessions") == 2);

  const auto lost = std::chrono::steady_clock::now();
  hosts->lose_packets();
  const Completion got = far.client->get(far.ns, far_batch.keys, far_batch.targets, {});
  const auto ended = std::chrono::steady_clock::now() - lost;

  BOOST_TEST((got.code == absl::StatusCode::kDeadlineExceeded ||
              got.code == absl::StatusCode::kUnavailable),
             got.message);
  BOOST_TEST((ended < kDeadline + seconds(1)));
  BOOST_TEST(sim::soon(kHeartbeat + seconds(1), [&] {
    return sim::figure(*bystander, "sessions") == 1 && sim::figure(*bystander, "pinned_bytes") == 0;
  }));
  BOOST_TEST((std::chrono::steady_clock::now() - lost < kHeartbeat + seconds(2)));
  BOOST_TEST(sim::figure(*bystander, "sessions_timed_out") == 1);
  // And the next call, which has nobody to connect to, ends as well.
  const auto again = std::chrono::steady_clock::now();
  const Completion put = far.client->put(far.ns, far_batch.keys, far_batch.sources, {});
  BOOST_TEST((put.code != absl::StatusCode::kOk));
  BOOST_TEST((std::chrono::steady_clock::now() - again < seconds(4)));
}

BOOST_AUTO_TEST_CASE(a_token_does_not_leave_the_host_in_plain) {
  const auto hosts = sim::TwoHosts::make();
  if (!hosts) return;
  const std::string address = std::string(sim::TwoHosts::kHere) + ":7440";
  const Fd listener = *listen_on(*parse_address(address));
  absl::Status refused;
  std::thread([&] {
    hosts->enter_there();
    refused = Client::connect({.server = address, .token = "far-away-token-0001"}).status();
  }).join();
  BOOST_TEST((refused.code() == absl::StatusCode::kFailedPrecondition), refused);
  BOOST_TEST(refused.message().find("LARDER_TLS_CA") != absl::string_view::npos, refused);
  BOOST_TEST(refused.message().find("far-away") == absl::string_view::npos);
  // It came, and said nothing.
  const auto accepted = accept_from(listener.get());
  BOOST_REQUIRE((accepted.ok() && accepted->has_value()));
  char byte = 0;
  BOOST_TEST(::recv((*accepted)->get(), &byte, 1, 0) == 0);
  // To an address of this host it goes no further than to loopback.
  auto own = connect_to(*parse_address(address), seconds(1));
  BOOST_REQUIRE(own.ok());
  BOOST_TEST(!leaves_host(own->get()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::lost_host_test
