// What one tenant may take of what all share: sessions, pins, leases.

#include <map>

#include <unistd.h>

#include "actors/session_limits.h"
#include "tests/session/token_fixture.h"

namespace larder::tenants_test {

using enum absl::StatusCode;
using wire::KeyStatus;

namespace {

constexpr const char* kRed = "0123456789abcdef-red";
constexpr const char* kBlue = "0123456789abcdef-blue";
constexpr const char* kOps = "0123456789abcdef-ops";
constexpr uid_t kSomebody = 12'345;
constexpr std::uint64_t kBlocks = (1 << 20) / sim::kTokenBlock;

struct Tenants : sim::TokenFixture {
  Tenants() {
    load(fmt::format("{} red read write\n{} blue read write\n{} ops read write admin\n", kRed,
                     kBlue, kOps));
  }
  std::unique_ptr<Peer> red() { return std::make_unique<Peer>(*this, kRed, kSomebody, "red"); }
  std::unique_ptr<Peer> blue() { return std::make_unique<Peer>(*this, kBlue, kSomebody, "blue"); }
  /// Puts block after block of `peer` and holds each by `how`, until that is refused.
  std::uint64_t hold_all(Peer& peer, FrameType how, std::uint64_t first = 0) {
    std::uint64_t n = 0;
    while (n < kBlocks && peer.put(first + n) == kOk &&
           peer.status(how, first + n) == KeyStatus::kOk)
      n += 1;
    return n;
  }
  void configure(const std::function<void(Config&)>& change) {
    Config config = node.context().config();
    change(config);
    node.set_config(config);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tenants, Tenants)

BOOST_AUTO_TEST_CASE(a_pot_leaves_room_for_others_only_where_there_are_some) {
  SharedPot pot;
  std::atomic<std::uint64_t> one{0};
  std::atomic<std::uint64_t> two{0};
  BOOST_TEST(pot.take(one, 100, {.all = 100, .own = 100, .tenants = false}));
  BOOST_TEST(!pot.take(one, 1, {.all = 100, .own = 1000, .tenants = false}));
  pot.give(one, 100);
  const SharedPot::Bounds shared{.all = 100, .own = 100, .tenants = true};
  BOOST_TEST(pot.take(one, 75, shared));
  BOOST_TEST(!pot.take(one, 1, shared));
  BOOST_TEST(pot.take(two, 18, shared));
  BOOST_TEST(!pot.take(two, 2, shared));
  BOOST_TEST(!pot.take(two, 1, {.all = 100, .own = 18, .tenants = true}));
  BOOST_TEST(pot.taken() == 93U);
  BOOST_TEST((one.load() == 75U && two.load() == 18U));
}

BOOST_AUTO_TEST_CASE(a_tenant_has_not_all_sessions_and_an_administrator_comes_in) {
  configure([](Config& config) { config.max_sessions = 64; });
  std::vector<std::unique_ptr<Peer>> crowd;
  while (crowd.size() < 64 && (crowd.empty() || crowd.back()->session.alive()))
    crowd.push_back(red());
  BOOST_TEST(crowd.size() == 57U);  // the last one was refused: 56 = 7 * (64 - 56)
  BOOST_TEST(blue()->session.alive());
  BOOST_TEST(std::make_unique<Peer>(*this, kOps, kSomebody, "ops")->session.alive());
  crowd.resize(28);
  BOOST_TEST(red()->session.alive());
  crowd.clear();
  BOOST_TEST(node.context().tenant_uses.of("red").sessions.load() == 0U);
}

/// They belong to nobody, so nobody has fewer sessions because of them.
BOOST_AUTO_TEST_CASE(connections_without_a_hello_take_no_tenants_place) {
  configure([](Config& config) { config.max_sessions = 64; });
  std::vector<std::unique_ptr<Peer>> crowd;
  while (crowd.size() < 64 && (crowd.empty() || crowd.back()->session.alive()))
    crowd.push_back(red());
  std::vector<std::unique_ptr<sim::LoneSession>> silent;
  for (std::uint64_t n = 0; n < 8; ++n)
    silent.push_back(std::make_unique<sim::LoneSession>(
        node, sim::LoneSession::Options{.id = 1'000 + n, .is_unix = false}, now));
  BOOST_TEST(blue()->session.alive());
  silent.clear();
  crowd.clear();
  BOOST_TEST(node.context().members.taken() == 0U);
}

BOOST_AUTO_TEST_CASE(without_tokens_a_tenant_has_all_sessions) {
  node.tokens().set(TokenTable());
  configure([](Config& config) { config.max_sessions = 16; });
  std::vector<std::unique_ptr<Peer>> crowd;
  for (int n = 0; n < 16; ++n)
    crowd.push_back(std::make_unique<Peer>(*this, "", kSomebody, "default"));
  BOOST_TEST(crowd.back()->session.alive());
}

BOOST_AUTO_TEST_CASE(a_tenant_pins_not_the_whole_pot) {
  configure([](Config& config) { config.pin_quota_percent = 50; });
  const auto one = red();
  BOOST_TEST(hold_all(*one, FrameType::kPin) == kBlocks / 2 / 4 * 3);
  const auto two = blue();
  BOOST_TEST(hold_all(*two, FrameType::kPin) > 8U);
  for (std::uint64_t n = 0; n < kBlocks; ++n)
    (void)one->remove(n);
  BOOST_TEST(node.context().tenant_uses.of("red").pinned.load() == 0U);
}

BOOST_AUTO_TEST_CASE(a_tenant_leases_not_the_whole_node_however_often_it_renews) {
  const auto one = red();
  for (std::uint64_t n = 0; n < kBlocks; ++n)
    BOOST_REQUIRE((one->put(n) == kOk));
  std::uint64_t held = 0;
  while (held < kBlocks && one->status(FrameType::kGet, held) == KeyStatus::kOk)
    held += 1;
  BOOST_TEST(held == kBlocks / 4 * 3);
  BOOST_TEST((one->status(FrameType::kGet, held) == KeyStatus::kBusy));
  const auto two = blue();
  for (std::uint64_t n = 0; n < 2 * kBlocks; ++n)
    BOOST_REQUIRE((two->put(1000 + n) == kOk));
  BOOST_TEST((two->status(FrameType::kGet, 1000 + 2 * kBlocks - 1) == KeyStatus::kOk));
  one->session.hang_up();
}

BOOST_AUTO_TEST_CASE(a_tenant_writes_not_the_whole_node_at_one_moment) {
  const auto start = [](Peer& peer, std::uint64_t n) {
    wire::PutStartRequest body;
    body.set_ns(peer.ns());
    const wire::KeyRecord record = key(n);
    BOOST_REQUIRE(
        (peer.ask(FrameType::kPutStart, body, std::as_bytes(std::span(&record, 1))) == kOk));
    std::vector<wire::PutResult> results;
    BOOST_REQUIRE(wire::parse(peer.last_array, results));
    return static_cast<KeyStatus>(results.at(0).status);
  };
  auto one = red();
  std::uint64_t open = 0;
  while (open < kBlocks && start(*one, open) == KeyStatus::kWanted)
    open += 1;
  const auto two = blue();
  BOOST_TEST((start(*two, 1'000) == KeyStatus::kWanted));
  BOOST_TEST((two->put(2'000) == kOk));
  BOOST_TEST((two->status(FrameType::kGet, 2'000) == KeyStatus::kOk));
  BOOST_TEST(open > 0U);
  BOOST_TEST(open <= kBlocks / 4 * 3);
  one = nullptr;
  BOOST_TEST(node.context().tenant_uses.of("red").held.load() == 0U);
}

BOOST_AUTO_TEST_CASE(each_tenant_sees_its_own_row_and_an_administrator_all) {
  const auto rows = [](Peer& peer) {
    peer.session.add({.type = FrameType::kStats, .id = 900});
    peer.session.send_all(peer.all.now);
    peer.session.settle(peer.all.now);
    std::map<std::string, wire::TenantRow> out;
    for (const auto& reply : peer.session.replies()) {
      wire::StatsReply body;
      BOOST_TEST(parse_body(reply.body, body));
      for (const wire::TenantRow& row : body.tenants())
        out[row.tenant()] = row;
    }
    return out;
  };
  const auto one = red();
  const auto two = blue();
  BOOST_REQUIRE((one->put(1) == kOk));
  BOOST_REQUIRE((one->status(FrameType::kPin, 1) == KeyStatus::kOk));
  auto seen = rows(*two);
  BOOST_TEST((seen.size() == 1U && seen.contains("blue")));
  seen = rows(*one);
  BOOST_TEST((seen.size() == 1U && seen.contains("red")));
  Peer ops(*this, kOps, kSomebody, "ops");
  BOOST_TEST(rows(ops).contains("ops"));
  seen = rows(ops);
  BOOST_TEST(seen.size() == 3U);
  BOOST_TEST(seen["red"].used_bytes() == sim::kTokenBlock);
  BOOST_TEST(seen["red"].pinned_bytes() == sim::kTokenBlock);
  BOOST_TEST(seen["red"].sessions() == 1U);
  BOOST_TEST(seen["blue"].used_bytes() == 0U);
  node.tokens().set(TokenTable());
  Peer alone(*this, "", ::geteuid(), "default");
  BOOST_TEST(rows(alone).empty());
}

BOOST_AUTO_TEST_CASE(a_reply_from_a_client_ends_its_session) {
  for (const char* token : {kRed, ""}) {
    Peer peer(*this, token, kSomebody, "red");
    peer.session.add({.type = FrameType::kPing, .id = 99, .reply = true});
    peer.session.send_all(now);
    peer.session.settle(now);
    BOOST_TEST(!peer.session.alive());
  }
}

BOOST_AUTO_TEST_CASE(hello_has_its_deadline_whatever_comes_before_it) {
  sim::LoneSession silent(node, {.id = 77, .is_unix = false}, now);
  const std::vector<std::byte> part = make_head({.type = FrameType::kHello, .id = 1});
  for (std::size_t n = 0; n < 6 && silent.alive(); ++n) {  // a byte a second
    silent.add_bytes(std::span(part).subspan(n, 1));
    silent.send_all(now);
    now += std::chrono::seconds(1);
    silent.on_time(now);
  }
  BOOST_TEST(!silent.alive());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::tenants_test
