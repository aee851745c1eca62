// A worker that leaves thousands of waits and claims open.

#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "store/limits.h"
#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/e2e/raw.h"
#include "tests/faults/process_figures.h"

namespace larder::waits_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Gets one after the other; the time of the slowest and of the middle one.
struct Times {
  Duration middle{0};
  Duration slowest{0};
};
Times times_of_gets(Client& client, NamespaceId ns, sim::Batch& batch, std::size_t count) {
  std::vector<Duration> took;
  for (std::size_t n = 0; n < count; ++n) {
    batch.clear();
    const auto began = std::chrono::steady_clock::now();
    sim::check_all(client.get(ns, batch.keys, batch.targets, {}), batch.keys.size(),
                   KeyStatus::kOk);
    took.push_back(std::chrono::steady_clock::now() - began);
    BOOST_TEST(batch.got_all());
  }
  std::sort(took.begin(), took.end());
  return {took[count / 2], took.back()};
}

std::uint32_t pending_tokens(Client& client, NamespaceId ns, const std::vector<BlockHash>& chain) {
  const std::span<const BlockHash> units(chain);
  const auto found = client.match(ns, std::span(&units, 1));
  BOOST_REQUIRE(found.ok());
  return (*found)[0].pending_tokens;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_waits)

BOOST_AUTO_TEST_CASE(ten_thousand_waits_leave_a_bystander_served_at_once) {
  const sim::Daemon daemon(
      {.flags = {"--heartbeat-ms", "60000"}, .environment = {}, .program = {}});
  const auto bystander = daemon.shm();
  const NamespaceSpec spec = sim::chain_spec("waits");
  const NamespaceId ns = *bystander->open_namespace(spec);
  sim::Batch batch(spec, 1, 4, 65'536);
  sim::check_all(bystander->put(ns, batch.keys, batch.sources, {}), 4, KeyStatus::kOk);
  const Bytes memory = sim::own_memory(daemon.pid());

  std::vector<std::unique_ptr<sim::Raw>> sessions;
  wire::WaitRequest wait;
  wait.set_deadline_ms(60'000);
  for (std::uint64_t n = 0; n < 10; ++n) {
    auto raw = std::make_unique<sim::Raw>(daemon.tcp());
    wait.set_ns(raw->open(spec));
    // Keys that nobody puts, 16 a wait: as many as a session may wait for.
    const sim::Batch absent(spec, 100 + n, 16, 4096);
    for (std::uint32_t asked = 0; asked <= limits::kSessionWaitsMax; ++asked)
      raw->send(FrameType::kWait, wait, std::as_bytes(std::span(absent.keys)));
    // The first 1,024 are open; the next one is refused, and says why.
    const std::string why = raw->refusal();
    BOOST_TEST(why.find("the limit is") != std::string::npos, why);
    BOOST_TEST(raw->frame().header.id == raw->last_id());
    sessions.push_back(std::move(raw));
  }

  const Times busy = times_of_gets(*bystander, ns, batch, 50);
  BOOST_TEST_MESSAGE("gets beside 10,240 waits: " << busy.middle.count() / 1000 << " us, slowest "
                                                  << busy.slowest.count() / 1000 << " us");
  BOOST_TEST((busy.middle < milliseconds(50)));
  BOOST_TEST((busy.slowest < milliseconds(500)));
  if (!sim::kSanitized) {
    BOOST_TEST(sim::own_memory(daemon.pid()).count < memory.count + (64U << 20));
  }

  // What one of them waits for is told to it all the same.
  sim::Batch wanted(spec, 100, 16, 4096);
  sim::check_all(bystander->put(ns, wanted.keys, wanted.sources, {}), 16, KeyStatus::kOk);
  for (std::uint32_t n = 0; n < limits::kSessionWaitsMax; ++n)
    BOOST_REQUIRE(sessions[0]->receive());
  sessions.clear();
  BOOST_TEST(sim::soon(seconds(2), [&] { return sim::figure(*bystander, "sessions") == 1; }));
}

BOOST_AUTO_TEST_CASE(ten_thousand_claims_end_with_their_session) {
  const sim::Daemon daemon;
  const auto bystander = daemon.shm();
  const NamespaceSpec spec = sim::chain_spec("claims");
  const NamespaceId ns = *bystander->open_namespace(spec);
  sim::Batch batch(spec, 1, 4, 65'536);
  sim::check_all(bystander->put(ns, batch.keys, batch.sources, {}), 4, KeyStatus::kOk);
  constexpr std::uint32_t kUnits = 10'000;
  const std::vector<BlockHash> chain = sim::chain_of(7, kUnits);
  const std::span<const BlockHash> units(chain);
  auto greedy = daemon.tcp_client();
  BOOST_REQUIRE(greedy->open_namespace(spec).ok());
  const MatchOptions claim{.claim = true, .claim_ms = 60'000};
  const auto claimed = greedy->match(ns, std::span(&units, 1), claim);
  BOOST_REQUIRE(claimed.ok());
  BOOST_TEST((*claimed)[0].claimed == kUnits);
  // More than a session may have: refused whole, with the limit.
  const std::vector<BlockHash> longer = sim::chain_of(8, limits::kSessionClaimsMax);
  const std::span<const BlockHash> more(longer);
  const auto refused = greedy->match(ns, std::span(&more, 1), claim);
  BOOST_TEST(!refused.ok());
  BOOST_TEST(std::string(refused.status().message()).find("the limit is 65536") !=
             std::string::npos);

  BOOST_TEST(pending_tokens(*bystander, ns, chain) == kUnits * 16);
  BOOST_TEST((times_of_gets(*bystander, ns, batch, 20).slowest < milliseconds(500)));
  greedy.reset();
  BOOST_TEST(sim::soon(seconds(1), [&] { return pending_tokens(*bystander, ns, chain) == 0; }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::waits_test
