#include "client/milliseconds.h"

#include <boost/test/data/test_case.hpp>

#include "client/handshake.h"
#include "tests/client/fixture.h"
#include "transport/namespace_wire.h"

namespace larder::milliseconds_test {

namespace data = boost::unit_test::data;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr std::uint32_t kMost = 0xffff'ffff;
constexpr Duration kRound = milliseconds(std::uint64_t{1} << 32);  ///< 0 in 32 bits

}  // namespace

BOOST_AUTO_TEST_SUITE(time_in_frames)

BOOST_AUTO_TEST_CASE(is_rounded_up_and_neither_0_nor_round_the_corner) {
  BOOST_TEST(to_ms(milliseconds(7)) == 7U);
  BOOST_TEST(to_ms(milliseconds(7) + nanoseconds(1)) == 8U);
  BOOST_TEST(to_ms(nanoseconds(1)) == 1U);
  BOOST_TEST(to_ms(Duration(0)) == 1U);
  BOOST_TEST(to_ms(milliseconds(-5)) == 1U);
  BOOST_TEST(to_ms(kLongest) == kMost);
  BOOST_TEST(to_ms(kRound) == kMost);
  BOOST_TEST(to_ms(Duration::max()) == kMost);
}

BOOST_DATA_TEST_CASE(of_puts_is_cut_to_what_a_frame_can_say, data::make(sim::kPaths), path) {
  sim::Pair pair(path);
  const NamespaceSpec spec = sim::chain_spec("times");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 1, 1000);
  for (const Duration longer : {kRound, kRound * 2 + milliseconds(3), Duration::max()}) {
    sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {.deadline = longer}), 1,
                   KeyStatus::kOk);
    BOOST_TEST(pair.server.told_ms() == kMost);
    pair.client->remove(ns, batch.keys);
    const auto layers = pair.client->put_start(ns, batch.keys, {.deadline = longer});
    BOOST_REQUIRE(layers.ok());
    BOOST_TEST(pair.server.told_ms() == kMost);
    pair.client->put_abort(layers->id);
  }
}

BOOST_AUTO_TEST_CASE(of_a_wait_is_1_ms_when_the_answer_is_wanted_at_once) {
  sim::Pair pair(sim::Path::kStaged);
  const NamespaceSpec spec = sim::chain_spec("times");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  const sim::Batch batch(spec, 1, 1, 1000);
  const auto told = [&](Duration deadline) {
    sim::check_code(pair.client->wait(ns, batch.keys, deadline), absl::StatusCode::kOk);
    return pair.server.told_ms();
  };
  BOOST_TEST(told(Duration(0)) == 1U);
  BOOST_TEST(told(microseconds(10)) == 1U);
  BOOST_TEST(told(milliseconds(-5)) == 1U);
  BOOST_TEST(told(Duration::min()) == 1U);
  BOOST_TEST(told(milliseconds(50)) == 50U);
  BOOST_TEST(told(kRound) == kMost);
  BOOST_TEST(told(Duration::max()) == kMost);
}

BOOST_AUTO_TEST_CASE(of_a_pin_is_what_was_asked_or_refused) {
  sim::Pair pair(sim::Path::kStaged);
  const NamespaceSpec spec = sim::chain_spec("times");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 1, 1000);
  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 1, KeyStatus::kOk);
  const auto told = [&](Duration ttl) {
    sim::check_all(pair.client->pin(ns, batch.keys, ttl), 1, KeyStatus::kOk);
    return pair.server.told_ms();
  };
  BOOST_TEST(told(Duration(0)) == 0U);  // for ever, as documented
  BOOST_TEST(told(microseconds(10)) == 1U);
  BOOST_TEST(told(kLongest) == kMost);
  const int pins = pair.server.seen(FrameType::kPin);

  for (const Duration wrong : {kRound, kRound * 3, Duration::max(), Duration(-1)}) {
    const Completion done = pair.client->pin(ns, batch.keys, wrong);
    sim::check_code(done, absl::StatusCode::kInvalidArgument);
    BOOST_TEST(done.message.find("ttl: ") == 0U, done.message);
    BOOST_TEST(done.message.find("4294967295 ms") != std::string::npos, done.message);
  }
  BOOST_TEST(pair.client->pin(ns, batch.keys, kRound).message.find("4294967296") !=
             std::string::npos);
  BOOST_TEST(pair.server.seen(FrameType::kPin) == pins);
}

BOOST_AUTO_TEST_CASE(of_a_namespace_is_not_0_unless_it_was) {
  NamespaceSpec spec = sim::chain_spec("times");
  BOOST_TEST(to_wire(spec).ttl_ms() == 0U);
  spec.ttl = nanoseconds(1);
  BOOST_TEST(to_wire(spec).ttl_ms() == 1U);
}

BOOST_AUTO_TEST_CASE(of_a_client_that_waits_for_ever_is_cut_too) {
  sim::Pair pair(sim::Path::kStaged);
  Client::Options options;
  options.server = pair.server.address();
  options.deadline = Duration::max();
  options.connect_deadline = Duration::max();
  const auto client = Client::connect(options);
  BOOST_REQUIRE(client.ok());
  const NamespaceSpec spec = sim::chain_spec("times");
  const absl::StatusOr<NamespaceId> ns = (*client)->open_namespace(spec);
  BOOST_REQUIRE(ns.ok());
  sim::Batch batch(spec, 1, 1, 1000);
  sim::check_all((*client)->put(*ns, batch.keys, batch.sources, {}), 1, KeyStatus::kOk);
  BOOST_TEST(pair.server.told_ms() == kMost);
  sim::check_code((*client)->wait(*ns, batch.keys, Duration::max()), absl::StatusCode::kOk);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::milliseconds_test
