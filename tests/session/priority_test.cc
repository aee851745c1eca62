// Whose blocks go first when one session asks for several requests.

#include <boost/test/unit_test.hpp>

#include "actors/turn_queue.h"
#include "tests/session/lone_fixture.h"

namespace larder::priority_test {
namespace {

constexpr std::uint64_t kBackfill = 2;
constexpr std::uint64_t kDecode = 1;  // also the numbers of their requests

struct Fixture : sim::LoneFixture {
  Fixture() {
    make_client(false);
    for (const std::uint64_t n : {kDecode, kBackfill})
      store(n);
    begin(kDecode, 0);
    begin(kBackfill, 2);
    work(*client);
    (void)client->replies();
  }

  void store(std::uint64_t n) {
    const wire::KeyRecord record = key(n);
    put(10 + n, std::span(&record, 1));
    work(*client);
    BOOST_REQUIRE((codes(10 + n) == std::vector{absl::StatusCode::kOk}));
  }
  void begin(std::uint64_t request, std::uint32_t priority) {
    wire::BeginRequestRequest body;
    body.set_ns(ns());
    body.set_request(request);
    body.set_priority(priority);
    client->add({.type = FrameType::kBeginRequest, .id = 20 + request, .body = &body});
  }
  /// Of the block and the request `n`; the id is `n`, too.
  void get(std::uint64_t n) {
    const wire::KeyRecord record = key(n);
    wire::GetRequest body;
    body.set_ns(ns());
    body.set_request(n);
    client->add({.type = FrameType::kGet,
                 .id = n,
                 .body = &body,
                 .array = std::as_bytes(std::span(&record, 1))});
  }
  /// Ids of the frames with payload since the last look, in order.
  std::vector<std::uint64_t> served() {
    std::vector<std::uint64_t> out;
    for (const auto& reply : client->replies()) {
      if (reply.header.type == FrameType::kGetData) out.push_back(reply.header.id);
    }
    return out;
  }
};

using Ids = std::vector<std::uint64_t>;

BOOST_FIXTURE_TEST_SUITE(session_priority, Fixture)

BOOST_AUTO_TEST_CASE(what_decodes_goes_first_whoever_asked_first) {
  get(kBackfill);
  get(kDecode);
  work(*client);
  BOOST_TEST(served() == (Ids{kDecode, kBackfill}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_session_is_as_urgent_as_its_last_call) {
  get(kBackfill);
  work(*client);
  BOOST_TEST(client->session()->priority(false) == 2);
  get(kDecode);
  work(*client);
  BOOST_TEST(client->session()->priority(false) == 0);
}

BOOST_AUTO_TEST_CASE(now_and_then_backfill_goes_first) {
  std::uint32_t first = 0;
  for (std::uint32_t turn = 0; turn < 4 * TurnQueue::kReliefTurns; ++turn) {
    get(kBackfill);
    get(kDecode);
    work(*client);
    first += served().front() == kBackfill ? 1 : 0;
  }
  BOOST_TEST(first > 0U);
  BOOST_TEST(first < 2 * TurnQueue::kReliefTurns);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace larder::priority_test
