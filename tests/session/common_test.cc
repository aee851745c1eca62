// What is bounded over all sessions of a node in number: no tenant has all of it, and nothing of it
// stays behind a session.

#include "actors/session_limits.h"
#include "tests/session/token_fixture.h"

namespace larder::common_test {

using enum absl::StatusCode;
using std::chrono::seconds;

namespace {

constexpr const char* kRed = "0123456789abcdef-red";
constexpr const char* kBlue = "0123456789abcdef-blue";
constexpr uid_t kSomebody = 12'345;

struct Fixture : sim::TokenFixture {
  Fixture() {
    load(fmt::format("{} red read write\n{} blue read write\n", kRed, kBlue));
    Config config = node.context().config();
    config.request_deadline_ms = 10'000;  // long before its silence ends the session
    node.set_config(config);
  }
  std::unique_ptr<Peer> red() { return std::make_unique<Peer>(*this, kRed, kSomebody, "red"); }
  std::unique_ptr<Peer> blue() { return std::make_unique<Peer>(*this, kBlue, kSomebody, "blue"); }
  std::uint64_t taken(Common what) { return node.context().commons.taken(what); }

  /// Half of what stands there to be sent, in pieces that the socket takes.
  void send_half(Peer& peer) {
    const std::size_t end = peer.session.waiting() / 2;
    for (int n = 0; n < 1'000 && peer.session.alive() && peer.session.waiting() > end; ++n) {
      peer.session.send_some(std::min<std::size_t>(32 << 10, peer.session.waiting() - end));
      peer.session.pump(now);
    }
  }
  /// Waits for as many keys as a batch has, that nobody puts; kUnknown: it waits.
  absl::StatusCode wait(Peer& peer) {
    wire::WaitRequest body;
    body.set_ns(peer.ns());
    body.set_deadline_ms(600'000);
    std::vector<wire::KeyRecord> records;
    for (std::uint64_t n = 0; n < limits::kBatchKeysMax; ++n)
      records.push_back(sim::TokenFixture::key(1'000'000 + n));
    return peer.ask(FrameType::kWait, body, std::as_bytes(std::span(records)));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(common, Fixture)

BOOST_AUTO_TEST_CASE(no_tenant_has_all_of_anything) {
  for (std::size_t n = 0; n < kCommons; ++n) {
    const auto what = static_cast<Common>(n);
    const std::uint64_t most = common_max(what, Bytes{1ULL << 30});
    const SharedPot::Bounds shared{.all = most, .own = most, .tenants = true};
    const SharedPot::Bounds alone{.all = most, .own = most};
    Commons commons;
    TenantUse one("one");
    TenantUse two("two");
    BOOST_TEST(commons.take(one, what, most / 4 * 3, shared));
    BOOST_TEST(!commons.take(one, what, 1, shared));
    BOOST_TEST(commons.why_not(one, what, shared).find("tenant \"one\"") != std::string::npos);
    BOOST_TEST(commons.take(two, what, std::max<std::uint64_t>(1, most / 16 * 3), shared) ==
               (most > 4));
    BOOST_TEST(commons.take(one, what, most / 16, alone));  // one alone has all
    BOOST_TEST(!commons.take(one, what, most, alone));
  }
}

/// What sessions hold besides blocks fits the memory that a node was given.
BOOST_AUTO_TEST_CASE(what_takes_memory_is_bounded_by_what_the_node_has_for_blocks) {
  const auto bytes = [](Bytes host) {
    return common_max(Common::kFrameBytes, host) + 100 * common_max(Common::kClaims, host) +
           100 * common_max(Common::kChainBlocks, host) +
           1'600 * common_max(Common::kRequests, host);
  };
  BOOST_TEST(bytes(Bytes{1 << 20}) < 160ULL << 20);
  for (const std::uint64_t gib : {1ULL, 4ULL, 64ULL, 1024ULL})
    BOOST_TEST(bytes(Bytes{gib << 30}) < (gib << 30) / 4, gib);
}

BOOST_AUTO_TEST_CASE(who_waits_for_everything_leaves_others_keys_to_wait_for) {
  std::vector<std::unique_ptr<Peer>> crowd;
  std::uint64_t waits = 0;
  auto code = kUnknown;
  while (code == kUnknown && crowd.size() < 32) {
    crowd.push_back(red());
    for (int n = 0; n < 4 && code == kUnknown; ++n) {
      code = wait(*crowd.back());
      waits += code == kUnknown ? 1 : 0;
    }
  }
  BOOST_TEST((code == kResourceExhausted));
  BOOST_TEST(waits * limits::kBatchKeysMax == kNodeWaitKeysMax / 4 * 3);
  const auto other = blue();
  BOOST_TEST((wait(*other) == kUnknown));
  crowd.clear();
  BOOST_TEST(taken(Common::kWaitKeys) == limits::kBatchKeysMax);
  other->session.hang_up();
  other->session.settle(now);
}

BOOST_AUTO_TEST_CASE(claims_are_held_until_they_lapse_or_their_session_ends) {
  auto peer = red();
  BOOST_TEST((peer->match(true) == kOk));
  BOOST_TEST(taken(Common::kClaims) == 1U);
  now += seconds(20);
  peer->session.on_time(now);
  node.shards().tick_all();
  BOOST_TEST(taken(Common::kClaims) == 0U);
  BOOST_TEST((peer->match(true) == kOk));
  BOOST_TEST(taken(Common::kClaims) == 1U);
  peer = nullptr;
  BOOST_TEST(taken(Common::kClaims) == 0U);
}

BOOST_AUTO_TEST_CASE(a_frame_in_its_middle_is_counted_and_a_whole_one_keeps_no_memory) {
  auto peer = red();
  wire::MatchRequest body;
  body.set_ns(peer->ns());
  body.add_chain_units(1);
  constexpr std::size_t kArray = 4 << 20;
  const std::vector<std::byte> array(kArray);
  peer->session.add({.type = FrameType::kMatch, .id = 500, .body = &body, .array = array});
  send_half(*peer);
  BOOST_TEST(taken(Common::kFrameBytes) >= kArray / 2);
  BOOST_TEST(taken(Common::kFrameBytes) <= 2 * kArray);
  BOOST_TEST(node.context().tenant_uses.of("red").common[3].load() == taken(Common::kFrameBytes));
  peer->session.send_all(now);
  peer->session.settle(now);
  BOOST_TEST(peer->session.alive());
  BOOST_TEST(taken(Common::kFrameBytes) == 0U);

  peer->session.add({.type = FrameType::kMatch, .id = 501, .body = &body, .array = array});
  send_half(*peer);
  BOOST_TEST(taken(Common::kFrameBytes) > 0U);
  peer = nullptr;
  BOOST_TEST(taken(Common::kFrameBytes) == 0U);
}

BOOST_AUTO_TEST_CASE(a_frame_that_has_no_room_is_refused_and_its_session_goes_on) {
  NodeContext& context = node.context();
  TenantUse& hoarder = context.tenant_uses.of("hoarder");
  const std::uint64_t most = common_max(Common::kFrameBytes, context.config().host_bytes);
  BOOST_REQUIRE(
      context.commons.take(hoarder, Common::kFrameBytes, most, {.all = most, .own = most}));
  auto peer = red();
  wire::MatchRequest body;
  body.set_ns(peer->ns());
  body.set_request(1);
  body.add_chain_units(1 << 16);
  const std::vector<std::byte> array(1 << 20);
  const auto ask = [&](std::uint64_t id) {
    peer->session.add({.type = FrameType::kMatch, .id = id, .body = &body, .array = array});
    peer->session.add({.type = FrameType::kPing, .id = id + 1});
    peer->session.send_all(now);
    peer->session.settle(now);
    std::map<std::uint64_t, wire::Status> said;
    for (const auto& frame : peer->session.replies()) {
      wire::SimpleReply reply;
      BOOST_TEST(parse_body(frame.body, reply));
      said[frame.header.id] = reply.status();
    }
    BOOST_TEST(said.contains(id + 1));
    return said[id];
  };
  const wire::Status told = ask(500);
  BOOST_TEST(told.code() == static_cast<int>(absl::StatusCode::kResourceExhausted));
  BOOST_TEST(told.message().find("frame: ") != std::string::npos, told.message());
  BOOST_TEST(told.message().find("the limit is " + std::to_string(most)) != std::string::npos);
  BOOST_TEST(taken(Common::kFrameBytes) == most);
  BOOST_TEST(taken(Common::kRequests) == 0U);
  // Room for the frame alone, not for what the match would find.
  constexpr std::uint64_t kFrame = 3 << 19;
  context.commons.give(hoarder, Common::kFrameBytes, kFrame);
  BOOST_TEST(ask(600).message().find("call: it takes ") != std::string::npos);
  BOOST_TEST(taken(Common::kRequests) == 0U);
  BOOST_TEST(taken(Common::kFrameBytes) == most - kFrame);
  context.commons.give(hoarder, Common::kFrameBytes, most - kFrame);
  BOOST_TEST(ask(700).code() == 0);
  BOOST_TEST(taken(Common::kFrameBytes) == 0U);
}

BOOST_AUTO_TEST_CASE(a_requests_chain_is_counted_until_the_request_ends) {
  auto peer = red();
  const auto begin = [&](std::uint64_t request) {
    wire::BeginRequestRequest body;
    body.set_ns(peer->ns());
    body.set_request(request);
    body.set_deadline_ms(60'000);
    (void)peer->ask(FrameType::kBeginRequest, body);
  };
  const auto put = [&](std::uint64_t request, std::uint64_t n) {
    wire::PutRequest body;
    body.set_ns(peer->ns());
    body.set_request(request);
    const std::vector<std::byte> bytes(sim::kTokenBlock);
    body.add_inline_checksums(checksum(bytes));
    const wire::KeyRecord record = sim::TokenFixture::key(n);
    return peer->ask(FrameType::kPut, body, std::as_bytes(std::span(&record, 1)), bytes);
  };
  begin(7);
  // Some at once: a match of a thousand blocks is no thousand additions to what all share.
  constexpr std::uint64_t kBlocks = 100;
  constexpr std::uint64_t kSpare = 256;
  for (std::uint64_t request = 7; request < 10; ++request) {
    begin(request);
    for (std::uint64_t n = 0; n < kBlocks; ++n)
      BOOST_REQUIRE((put(request, request * kBlocks + n) == kOk));
    BOOST_TEST(taken(Common::kChainBlocks) >= kBlocks);
    BOOST_TEST(taken(Common::kChainBlocks) <= kBlocks + kSpare);
    now += seconds(20);
    peer->session.on_time(now);
    BOOST_TEST(taken(Common::kChainBlocks) <= kSpare);
  }
  begin(11);
  BOOST_TEST((put(11, 5'000) == kOk));
  peer = nullptr;
  BOOST_TEST(taken(Common::kChainBlocks) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::common_test
