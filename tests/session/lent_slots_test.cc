// Slots that are filled before the shards have answered: what becomes of them when the answer is
// another one than expected, or when nobody waits for it any more.

#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "actors/session_limits.h"
#include "tests/session/lone_fixture.h"

namespace larder::lent_slots_test {
namespace {

using sim::kLength;
using wire::KeyStatus;

constexpr std::byte kOld{0x11};
constexpr std::byte kNew{0x22};

struct Fixture : sim::LoneFixture {
  /// Over TCP, with a slab of the size: the first put makes it.
  Fixture() {
    make_client(false);
    other = make(false);
    stream(*client, 9, {key(9)});
    client->settle(now);
    chunk(*client, 9, 0, kOld);
    work(*client);
    BOOST_REQUIRE((statuses(*client, 9) == std::vector{KeyStatus::kOk}));
    free_at_first = free_slots();
    BOOST_REQUIRE(free_at_first >= 2U);
  }

  std::uint64_t free_slots() {
    std::uint64_t free = 0;
    for (const SlotPools::Usage& pool : node.store().pools.usage())
      free += pool.free;
    return free;
  }
  void stream(sim::LoneSession& session, std::uint64_t id, std::vector<wire::KeyRecord> keys,
              std::uint32_t deadline_ms = 100) {
    wire::PutRequest body;
    body.set_ns(ns());
    body.set_deadline_ms(deadline_ms);
    session.add({.type = FrameType::kPut,
                 .id = id,
                 .body = &body,
                 .array = std::as_bytes(std::span<const wire::KeyRecord>(keys))});
    session.send_all(now);
  }
  void chunk(sim::LoneSession& session, std::uint64_t id, std::uint32_t key, std::byte fill) {
    const std::vector<std::byte> bytes(kLength, fill);
    const wire::ChunkRecord record{.key = key, .last = 1, .checksum = checksum(bytes)};
    session.add(
        {.type = FrameType::kPutData, .id = id, .array = std::as_bytes(std::span(&record, 1))},
        bytes);
  }
  /// What the frame before the stream said of each key; empty when none came.
  static std::vector<KeyStatus> wanted(sim::LoneSession& session, std::uint64_t id) {
    return read(session, id, FrameType::kPutData);
  }
  static std::vector<KeyStatus> statuses(sim::LoneSession& session, std::uint64_t id) {
    return read(session, id, FrameType::kPut);
  }
  static std::vector<KeyStatus> read(sim::LoneSession& session, std::uint64_t id, FrameType type) {
    std::vector<KeyStatus> out;
    for (const auto& reply : session.replies()) {
      std::vector<wire::PutResult> results;
      if (reply.header.id != id || reply.header.type != type) continue;
      BOOST_TEST(wire::parse(reply.array, results));
      for (const wire::PutResult& result : results)
        out.push_back(static_cast<KeyStatus>(result.status));
    }
    return out;
  }
  /// The slot of a committed block.
  SlotRef slot_of(std::uint64_t n) {
    const Index& index = *node.store().indexes[0];
    const EntryId found = index.find({NamespaceId(ns()), key(n).hash, GroupId(0), Rank(0)});
    BOOST_REQUIRE((found != kNoEntry));
    return unpack_slot(index.entry(found).slot.load());
  }
  bool holds(std::uint64_t n, std::byte fill) {
    const std::byte* data = node.store().slabs.data(slot_of(n));
    return std::all_of(data, data + kLength, [fill](std::byte one) { return one == fill; });
  }

  std::uint64_t free_at_first = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(lent_slots, Fixture)

BOOST_AUTO_TEST_CASE(a_stream_begins_before_the_shard_has_answered) {
  stream(*client, 10, {key(1), key(2)});
  BOOST_TEST((wanted(*client, 10) == std::vector(2, KeyStatus::kWanted)));
  BOOST_TEST(free_slots() == free_at_first - 2);

  chunk(*client, 10, 0, kNew);
  chunk(*client, 10, 1, kNew);
  client->send_all(now);
  BOOST_TEST(statuses(*client, 10).empty());  // not before its shard agrees
  client->settle(now);
  BOOST_TEST((statuses(*client, 10) == std::vector(2, KeyStatus::kOk)));
  BOOST_TEST(holds(1, kNew));
  BOOST_TEST(holds(2, kNew));
  BOOST_TEST(free_slots() == free_at_first - 2);
  BOOST_TEST((sim::whole_bytes(node.store()) == node.store().budget.ledger.used()));
}

BOOST_AUTO_TEST_CASE(of_two_that_begin_at_once_the_first_stays_and_the_others_slot_comes_back) {
  stream(*client, 10, {key(1)});
  stream(*other, 10, {key(1)});
  BOOST_TEST((wanted(*other, 10) == std::vector{KeyStatus::kWanted}));
  chunk(*other, 10, 0, kOld);
  other->send_all(now);
  node.shards().run_all();
  other->settle(now);
  BOOST_TEST((statuses(*other, 10) == std::vector{KeyStatus::kPending}));

  chunk(*client, 10, 0, kNew);
  work(*client);
  BOOST_TEST((statuses(*client, 10) == std::vector{KeyStatus::kOk}));
  BOOST_TEST(holds(1, kNew));
  BOOST_TEST(free_slots() == free_at_first - 1);
}

/// The rest of the chunk is still on its way when the slot goes to somebody else.
BOOST_AUTO_TEST_CASE(a_put_cancelled_in_the_middle_of_a_chunk_writes_no_byte_more) {
  stream(*client, 10, {key(1)});
  chunk(*client, 10, 0, kOld);
  client->send_some(client->waiting() - 100);
  client->pump(now);
  node.shards().run_all();  // reserved, but the io thread has not heard of it
  now += std::chrono::milliseconds(101);
  client->on_time(now);  // its deadline
  client->deliver(1, now, /*turns=*/false);
  node.shards().run_all();  // takes it back
  BOOST_REQUIRE(free_slots() == free_at_first);

  stream(*other, 10, {key(2)});
  chunk(*other, 10, 0, kNew);
  other->send_all(now);
  other->settle(now);
  BOOST_REQUIRE((statuses(*other, 10) == std::vector{KeyStatus::kOk}));
  client->send_all(now);
  client->settle(now);
  BOOST_TEST((statuses(*client, 10) == std::vector{KeyStatus::kCancelled}));
  BOOST_TEST(holds(2, kNew));
  BOOST_TEST(free_slots() == free_at_first - 1);
}

BOOST_AUTO_TEST_CASE(a_session_that_ends_leaves_no_slot_behind) {
  stream(*client, 10, {key(1)});
  client->end();
  client->settle(now);  // the answer finds nobody
  node.shards().run_all();
  BOOST_TEST(free_slots() == free_at_first);
  BOOST_TEST(sim::held_in(node.store()).filling == 0U);
}

BOOST_AUTO_TEST_CASE(a_shard_that_dies_with_the_call_leaves_no_slot_behind) {
  stream(*client, 10, {key(1)});
  chunk(*client, 10, 0, kOld);
  client->send_all(now);
  node.shards().kill_shard(ShardId(0));
  client->settle(now);
  BOOST_TEST((statuses(*client, 10) == std::vector{KeyStatus::kUnavailable}));
  BOOST_TEST(free_slots() == free_at_first);
}

BOOST_AUTO_TEST_CASE(a_chunk_that_lies_is_dropped_before_the_shard_has_answered) {
  stream(*client, 10, {key(1), key(2)});
  const std::vector<std::byte> bytes(kLength, kOld);
  const wire::ChunkRecord lie{.key = 0, .last = 1, .checksum = checksum(bytes) + 1};
  client->add({.type = FrameType::kPutData, .id = 10, .array = std::as_bytes(std::span(&lie, 1))},
              bytes);
  chunk(*client, 10, 1, kNew);
  work(*client);
  node.shards().run_all();
  BOOST_TEST((statuses(*client, 10) == std::vector{KeyStatus::kCorrupt, KeyStatus::kOk}));
  BOOST_TEST(free_slots() == free_at_first - 1);
  BOOST_TEST(sim::held_in(node.store()).filling == 0U);
}

BOOST_AUTO_TEST_CASE(what_nobody_wants_any_more_gives_its_credits_back) {
  const auto half = static_cast<std::uint32_t>(kStreamCredits / 2);
  stream(*client, 10, {key(1), key(2)});
  const std::vector<std::byte> few(kLength);
  const wire::ChunkRecord lie{.key = 0, .last = 1, .checksum = checksum(few) + 1};
  client->add({.type = FrameType::kPutData, .id = 10, .array = std::as_bytes(std::span(&lie, 1))},
              few);
  client->send_all(now);
  (void)client->replies();
  const std::vector<std::byte> bytes(256 << 10);
  const wire::ChunkRecord unwanted{.key = 0};
  for (std::uint32_t sent = 0; sent < half; sent += static_cast<std::uint32_t>(bytes.size())) {
    client->add(
        {.type = FrameType::kPutData, .id = 10, .array = std::as_bytes(std::span(&unwanted, 1))},
        bytes);
    client->send_all(now);
  }
  std::uint64_t acknowledged = 0;
  for (const auto& reply : client->replies()) {
    wire::SimpleReply body;
    if (reply.header.type == FrameType::kPutData && parse_body(reply.body, body))
      acknowledged = body.count();
  }
  BOOST_TEST(acknowledged >= half);
}

BOOST_AUTO_TEST_CASE(a_chunk_of_a_key_that_is_none_ends_the_put_at_once) {
  stream(*client, 10, {key(1)});
  chunk(*client, 10, 1, kOld);
  work(*client);
  BOOST_TEST((statuses(*client, 10) == std::vector{KeyStatus::kInvalid}));
  BOOST_TEST(free_slots() == free_at_first);
}

/// Else who names a long deadline and sends nothing keeps the store from all others.
BOOST_AUTO_TEST_CASE(slots_wait_for_bytes_no_longer_than_a_lease_whatever_the_deadline) {
  stream(*client, 10, {key(1)}, 600'000);
  work(*client);
  BOOST_TEST((wanted(*client, 10) == std::vector{KeyStatus::kWanted}));
  now += std::chrono::milliseconds(199);  // lease_ms = 200
  client->on_time(now);
  BOOST_TEST(statuses(*client, 10).empty());
  now += std::chrono::milliseconds(1);
  client->on_time(now);
  work(*client);
  BOOST_TEST((statuses(*client, 10) == std::vector{KeyStatus::kCancelled}));
  node.shards().run_all();
  BOOST_TEST(free_slots() == free_at_first);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::lent_slots_test
