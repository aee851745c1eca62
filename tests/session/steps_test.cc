// What a client asks for at once reaches a shard in steps: between two of them others have theirs.

#include <boost/test/unit_test.hpp>

#include "actors/session_limits.h"
#include "tests/session/lone_fixture.h"

namespace larder::steps_test {
namespace {

using wire::KeyStatus;

constexpr std::uint64_t kId = 10;
constexpr std::uint32_t kSmall = 256;

struct Fixture : sim::LoneFixture {
  /// Runs what stands in the only shard's queue; how many messages there were.
  std::size_t run_shard() {
    std::size_t steps = 0;
    while (node.shards().run_one(0))
      steps += 1;
    return steps;
  }
  std::vector<wire::KeyRecord> keys(std::uint64_t first, std::size_t count) {
    std::vector<wire::KeyRecord> out;
    for (std::uint64_t n = first; n < first + count; ++n) {
      out.push_back(key(n, kSmall));
      out.back().position = static_cast<std::uint32_t>(n);
    }
    return out;
  }
  /// Keys from 1 on, each pinned.
  void put_pinned(std::uint64_t count, std::uint32_t quota_percent) {
    Config config = node.context().config();
    config.pin_quota_percent = quota_percent;
    node.set_config(config);
    constexpr std::size_t kInFrame = 256;
    for (std::uint64_t first = 1; first <= count; first += kInFrame) {
      const auto records = keys(first, kInFrame);
      put(100 + first, records);
      work(*client);
      call<wire::PinRequest>(FrameType::kPin, 50'000 + first, records);
      work(*client);
    }
    (void)client->replies();
  }
  /// Of the chain of keys 1 to `units`.
  void match(std::uint64_t id, std::uint32_t units, std::uint64_t request, bool claim = false) {
    std::vector<BlockHash> chain;
    for (std::uint64_t n = 1; n <= units; ++n)
      chain.push_back({n, n});
    wire::MatchRequest body;
    body.set_ns(ns());
    body.set_request(request);
    body.set_claim(claim);
    body.add_chain_units(units);
    client->add({.type = FrameType::kMatch,
                 .id = id,
                 .body = &body,
                 .array = std::as_bytes(std::span(chain))});
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(steps, Fixture)

BOOST_AUTO_TEST_CASE(a_batch_of_reservations_and_what_takes_them_back) {
  constexpr std::size_t kKeys = 1'000;
  const auto records = keys(1, kKeys);
  put_start(kId, records);
  client->send_all(now);
  BOOST_TEST(run_shard() >= kKeys / kReserveStep);
  client->settle(now);
  BOOST_TEST(answered(KeyStatus::kWanted) == kKeys);
  client = nullptr;
  BOOST_TEST(run_shard() >= kKeys / kAbortStep);
  BOOST_TEST((sim::held_in(node.store()) == sim::Held{}));
  BOOST_TEST(node.store().budget.ledger.used() == Bytes{0});
}

BOOST_AUTO_TEST_CASE(claims_of_a_long_chain) {
  constexpr std::uint32_t kUnits = 3'000;
  match(kId, kUnits, 0, /*claim=*/true);
  client->send_all(now);
  for (int turn = 0; turn < 10 && client->runnable(); ++turn)
    client->pump(now);
  BOOST_TEST(run_shard() >= kUnits / kClaimStep);
  client->settle(now);
  std::uint32_t claimed = 0;
  for (const auto& reply : client->replies()) {
    wire::MatchReply answer;
    BOOST_TEST(parse_body(reply.body, answer));
    for (const auto& one : answer.chains())
      claimed += one.claimed();
  }
  BOOST_TEST(claimed == kUnits);
}

/// One after the other, in turns of its own; what came behind it waits for it.
BOOST_AUTO_TEST_CASE(a_long_match_and_a_large_get) {
  constexpr std::uint32_t kUnits = 4 * kMatchStep;
  constexpr std::size_t kThere = 200;
  put(5, keys(1, kThere));
  work(*client);
  (void)client->replies();
  const auto ask = [&](std::uint64_t first_id) {
    match(first_id, kUnits, 7);
    call<wire::GetRequest>(FrameType::kGet, first_id + 1, keys(1, limits::kBatchKeysMax));
    client->add({.type = FrameType::kPing, .id = first_id + 2});
  };
  ask(10);
  client->send_all(now);
  int turns = 0;
  std::vector<std::uint64_t> answered_ids;
  std::uint32_t usable = 0;
  for (; client->runnable() && turns < 100; ++turns) {
    client->pump(now);
    for (const auto& reply : client->replies()) {
      if (reply.header.is_reply()) answered_ids.push_back(reply.header.id);
      wire::MatchReply answer;
      if (reply.header.id != 10) continue;
      BOOST_TEST(parse_body(reply.body, answer));
      usable = answer.chains(0).usable_tokens();
    }
  }
  BOOST_TEST(turns >= 2);  // beside those that took the frames
  BOOST_TEST((answered_ids == std::vector<std::uint64_t>{10, 11, 12}));
  BOOST_TEST(usable == kThere * 16);

  // And a session that ends in the middle of either has nothing left.
  for (const int done : {0, 1, 2, 3, 4, 5, 6}) {
    make_client(true);
    ask(20);
    client->send_all(now);
    for (int turn = 0; turn < done; ++turn)
      client->pump(now);
    client = nullptr;
    (void)run_shard();
    BOOST_TEST((sim::held_in(node.store()) == sim::Held{}), done);
    BOOST_TEST(node.context().commons.taken(Common::kFrameBytes) == 0U);
    BOOST_TEST(node.context().commons.taken(Common::kRequests) == 0U);
    BOOST_TEST(node.context().pins.pot().taken() == 0U);
  }
}

/// Small calls add up: a turn takes so many keys, whoever named them.
BOOST_AUTO_TEST_CASE(many_calls_at_once_take_several_turns) {
  constexpr std::uint64_t kCalls = 20;
  constexpr std::uint32_t kUnits = 500;
  for (std::uint64_t n = 0; n < kCalls; ++n)
    match(kId + n, kUnits, 0);
  client->send_some(client->waiting());
  std::size_t most = 0;
  std::size_t all = 0;
  for (int turn = 0; turn < 100 && all < kCalls; ++turn) {
    client->pump(now);
    const std::size_t answers = client->replies().size();
    most = std::max(most, answers);
    all += answers;
    client->send_some(client->waiting());
  }
  BOOST_TEST(all == kCalls);
  BOOST_TEST(most <= kTurnKeys / kUnits);
}

struct InSteps : Fixture {
  InSteps() {
    put(5, keys(1, kThere));
    work(*client);
    (void)client->replies();
    match(kId, 64 * kMatchStep, 7);
    while (client->waiting() > 0) {
      client->send_some(client->waiting());
      client->pump(now);
    }
    BOOST_REQUIRE(client->runnable());
    BOOST_REQUIRE(client->replies().empty());
  }
  /// How many blocks the match says there are, once it is answered.
  std::uint32_t found() {
    client->settle(now);
    std::uint32_t tokens = 0;
    std::size_t answers = 0;
    for (const auto& reply : client->replies()) {
      wire::MatchReply answer;
      BOOST_TEST(parse_body(reply.body, answer));
      BOOST_REQUIRE(answer.chains_size() == 1);
      tokens = answer.chains(0).usable_tokens();
      answers += 1;
    }
    BOOST_TEST(answers == 1U);
    return tokens / 16;
  }
  static constexpr std::uint32_t kThere = 200;
};

/// It is not listened to, so it cannot be silent.
BOOST_FIXTURE_TEST_CASE(a_session_in_steps_is_not_silent, InSteps) {
  BOOST_TEST(node.context().commons.taken(Common::kFrameBytes) >= 64 * kMatchStep * 32);
  now += std::chrono::hours(1);
  client->on_time(now);
  BOOST_REQUIRE(client->alive());
  BOOST_TEST(found() == kThere);
  BOOST_TEST(node.context().commons.taken(Common::kFrameBytes) == 0U);
}

BOOST_FIXTURE_TEST_CASE(what_is_switched_off_meanwhile_has_no_hits, InSteps) {
  other = make(true);
  wire::SetModeRequest off;
  off.set_ns(ns());
  off.set_mode(static_cast<std::uint32_t>(NamespaceMode::kOff));
  other->add({.type = FrameType::kSetMode, .id = 5, .body = &off});
  work(*other);
  BOOST_TEST(found() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_client_that_dies_while_its_call_is_in_steps_is_noticed, InSteps) {
  client->hang_up();
  client->pump(now);
  BOOST_TEST(!client->alive());
  BOOST_TEST(node.context().commons.taken(Common::kRequests) == 0U);
}

BOOST_AUTO_TEST_CASE(removals_of_a_batch) {
  constexpr std::size_t kKeys = 1'200;
  std::vector<wire::KeyRecord> all;
  for (std::uint64_t first = 1; first < kKeys; first += 200) {
    const auto records = keys(first, 200);
    put(100 + first, records);
    work(*client);
    all.insert(all.end(), records.begin(), records.end());
  }
  (void)client->replies();
  call<wire::RemoveRequest>(FrameType::kRemove, kId, all);
  client->send_all(now);
  BOOST_TEST(run_shard() >= kKeys / kEraseStep);
  client->settle(now);
  BOOST_TEST(answered(KeyStatus::kOk) == kKeys);
  BOOST_TEST(node.store().budget.ledger.used() == Bytes{0});
}

BOOST_AUTO_TEST_CASE(the_touches_at_the_end_of_a_request) {
  constexpr std::size_t kKeys = 3'000;
  wire::BeginRequestRequest begin;
  begin.set_ns(ns());
  begin.set_request(7);
  client->add({.type = FrameType::kBeginRequest, .id = 2000, .body = &begin});
  // Not in the order of the chain, of which the end makes one again.
  for (std::uint64_t n = 0; n < kKeys; n += 200) {
    const std::uint64_t first = 1 + n * 7 % kKeys;
    put(100 + first, keys(first, 200), 7);
    work(*client);
  }
  (void)run_shard();
  wire::EndRequestRequest end;
  end.set_request(7);
  client->add({.type = FrameType::kEndRequest, .id = 2001, .body = &end});
  client->send_all(now);
  BOOST_TEST(run_shard() >= kKeys / kTouchStep);
  BOOST_TEST(node.context().commons.taken(Common::kChainBlocks) <= 256U);
  // In the same order as in one piece: the suffix leaves first.
  node.store().set_capacity(Bytes{kSmall * (kKeys / 2)});
  for (int n = 0; n < 200 && node.store().budget.ledger.used() > Bytes{kSmall * (kKeys / 2)}; ++n)
    node.shards().tick_all();
  (void)client->replies();
  const auto present = [&](std::uint64_t n) {
    const wire::KeyRecord record = key(n, kSmall);
    call<wire::RemoveRequest>(FrameType::kRemove, 5'000 + n, std::span(&record, 1));
    work(*client);
    return answered(KeyStatus::kOk) == 1;
  };
  for (const std::uint64_t n : {1ULL, 700ULL, 1'400ULL})
    BOOST_TEST(present(n), n);
  for (const std::uint64_t n : {1'600ULL, 2'200ULL, 3'000ULL})
    BOOST_TEST(!present(n), n);
}

/// More than one look at the order of eviction passes, and all of it the oldest.
BOOST_AUTO_TEST_CASE(what_is_pinned_does_not_hide_what_may_leave) {
  node.store().set_capacity(Bytes{8 << 20});
  constexpr std::uint64_t kPinned = 3 * limits::kVictimScanMax;
  put_pinned(kPinned, /*quota_percent=*/60);
  BOOST_REQUIRE_GE(node.context().pins.pot().taken(), kPinned * kSmall);
  const std::uint64_t capacity = node.store().budget.ledger.capacity().count;
  std::uint64_t stored = 0;
  std::uint64_t asked = 0;
  for (std::uint64_t bytes = 0; bytes < 2 * capacity; bytes += 16 * sim::kLength) {
    std::vector<wire::KeyRecord> records;
    for (std::uint64_t n = 0; n < 16; ++n)
      records.push_back(key(1'000'000 + asked++));
    put(100'000 + bytes, records);
    work(*client);
    for (int tick = 0; tick < 3; ++tick) {
      node.shards().tick_all();
      work(*client);
    }
    BOOST_REQUIRE(node.store().budget.ledger.used() <= Bytes{capacity});
    stored += answered(KeyStatus::kOk);
  }
  BOOST_TEST(stored == asked);
}

BOOST_AUTO_TEST_CASE(when_all_of_many_blocks_is_pinned_a_put_is_told_so_soon) {
  constexpr std::uint64_t kPinned = 3 * limits::kVictimScanMax;
  node.store().set_capacity(Bytes{kPinned * kSmall});
  put_pinned(kPinned, /*quota_percent=*/100);
  BOOST_REQUIRE(node.context().pins.pot().taken() == kPinned * kSmall);
  for (std::uint64_t round = 0; round < 3; ++round) {
    const wire::KeyRecord one = key(1'000'000 + round);
    put(kId + round, std::span(&one, 1));
    work(*client);
    std::size_t refused = 0;
    for (int tick = 0; tick < 10 && refused == 0; ++tick) {
      node.shards().tick_all();
      work(*client);
      BOOST_REQUIRE(node.store().budget.ledger.used() <= Bytes{kPinned * kSmall});
      refused = answered(KeyStatus::kNoSpace);
    }
    BOOST_TEST(refused == 1U);
  }
  // And once the pins of the youngest end, there is room.
  call<wire::PinRequest>(FrameType::kUnpin, 90'000, keys(kPinned - 255, 256));
  work(*client);
  (void)client->replies();
  const wire::KeyRecord one = key(2'000'000);
  put(kId, std::span(&one, 1));
  work(*client);
  std::size_t stored = 0;
  for (int tick = 0; tick < 10 && stored == 0; ++tick) {
    node.shards().tick_all();
    work(*client);
    stored = answered(KeyStatus::kOk);
  }
  BOOST_TEST(stored == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::steps_test
