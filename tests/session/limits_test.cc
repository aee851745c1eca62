// What a node cannot have is refused before anything is done for it.

#include <boost/test/unit_test.hpp>

#include "tests/session/lone_fixture.h"

namespace larder::limits_test {
namespace {

using wire::KeyStatus;

struct Fixture : sim::LoneFixture {
  std::vector<wire::KeyRecord> keys(std::uint64_t first, std::uint64_t count) {
    std::vector<wire::KeyRecord> out;
    for (std::uint64_t n = first; n < first + count; ++n)
      out.push_back(key(n));
    return out;
  }
  void put_all(std::span<const wire::KeyRecord> all) {
    constexpr std::size_t kInFrame = 16;
    for (; !all.empty(); all = all.subspan(kInFrame)) {
      put(10, all.first(kInFrame));
      work(*client);
    }
  }
  absl::StatusCode begin(std::uint64_t request) {
    wire::BeginRequestRequest body;
    body.set_ns(ns());
    body.set_request(request);
    client->add({.type = FrameType::kBeginRequest, .id = 1'000 + request, .body = &body});
    work(*client);
    return answer<wire::SimpleReply>(1'000 + request);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(node_limits, Fixture)

BOOST_AUTO_TEST_CASE(a_put_that_fits_nowhere_beside_what_is_pinned_costs_no_block) {
  const auto pinned = keys(1, 32);
  const auto others = keys(100, 128);
  put_all(pinned);
  put_all(others);
  call<wire::PinRequest>(FrameType::kPin, 12, pinned);
  work(*client);
  (void)client->replies();
  const std::uint64_t used = node.store().budget.ledger.used().count;
  BOOST_REQUIRE_EQUAL(used, 160 * sim::kLength);

  put_start(13, std::vector{key(1'000, (1U << 20) - 31 * sim::kLength)});
  work(*client);
  BOOST_TEST(answered(KeyStatus::kNoSpace) == 1U);
  BOOST_TEST(node.store().budget.ledger.used().count == used);

  put_start(14, std::vector{key(1'000, (1U << 20) - 64 * sim::kLength)});
  work(*client);
  BOOST_TEST(answered(KeyStatus::kWanted) == 1U);
}

BOOST_AUTO_TEST_CASE(large_blocks_of_one_call_come_in_though_more_must_leave_than_one_step_evicts) {
  constexpr std::uint64_t kSmall = 4'096;  // of 256 bytes: the store is full
  for (std::uint64_t n = 0; n < kSmall; n += 64) {
    std::vector<wire::KeyRecord> some;
    for (std::uint64_t i = n; i < n + 64; ++i)
      some.push_back(key(i, 256));
    put(10, some);
    work(*client);
  }
  (void)client->replies();
  BOOST_REQUIRE_EQUAL(node.store().budget.ledger.used().count, kSmall * 256);

  put_start(13, std::vector{key(10'000, 128 << 10), key(10'001, 128 << 10), key(10'002, 128 << 10),
                            key(10'003, 128 << 10)});
  for (int tick = 0; tick < 20; ++tick) {
    work(*client);
    now += std::chrono::milliseconds(20);
    node.shards().tick_all();
  }
  BOOST_TEST(answered(KeyStatus::kWanted) == 4U);
}

BOOST_AUTO_TEST_CASE(open_requests_of_all_sessions_have_a_bound) {
  NodeContext& context = node.context();
  TenantUse& hoarder = context.tenant_uses.of("hoarder");
  const std::uint64_t most = common_max(Common::kRequests, context.config().host_bytes);
  const SharedPot::Bounds bounds{.all = most, .own = most};
  BOOST_TEST((begin(0) == absl::StatusCode::kInvalidArgument));
  BOOST_TEST((begin(1) == absl::StatusCode::kOk));
  BOOST_TEST(context.commons.taken(Common::kRequests) == 1U);
  BOOST_REQUIRE(context.commons.take(hoarder, Common::kRequests, most - 1, bounds));

  BOOST_TEST((begin(2) == absl::StatusCode::kResourceExhausted));
  wire::EndRequestRequest end;
  end.set_request(1);
  client->add({.type = FrameType::kEndRequest, .id = 20, .body = &end});
  work(*client);
  BOOST_TEST((begin(2) == absl::StatusCode::kOk));

  client->end();
  BOOST_TEST(context.commons.taken(Common::kRequests) == most - 1);
  context.commons.give(hoarder, Common::kRequests, most - 1);
}

BOOST_AUTO_TEST_CASE(a_match_whose_claims_are_refused_leaves_no_request) {
  put(10, keys(1, 8));
  work(*client);
  wire::MatchRequest body;
  body.set_ns(ns());
  body.set_claim(true);
  body.set_request(3);
  std::vector<BlockHash> chain;
  for (std::uint64_t n = 1; n <= limits::kSessionClaimsMax + 100; ++n)
    chain.push_back({n, n});
  body.add_chain_units(static_cast<std::uint32_t>(chain.size()));
  client->add({.type = FrameType::kMatch,
               .id = 11,
               .body = &body,
               .array = std::as_bytes(std::span(chain))});
  work(*client);
  BOOST_TEST((codes(11) == std::vector{absl::StatusCode::kResourceExhausted}));
  BOOST_TEST(node.context().commons.taken(Common::kRequests) == 0U);
  BOOST_TEST(node.context().pins.pot().taken() == 0U);
}

BOOST_AUTO_TEST_CASE(a_purge_of_a_tenant_without_a_name_is_refused) {
  put(10, keys(1, 4));
  wire::PurgeRequest body;
  body.set_tenant("");
  client->add({.type = FrameType::kPurge, .id = 11, .body = &body});
  work(*client);
  BOOST_TEST((codes(11) == std::vector{absl::StatusCode::kInvalidArgument}));
  BOOST_TEST(node.store().budget.ledger.used().count == 4 * sim::kLength);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::limits_test
