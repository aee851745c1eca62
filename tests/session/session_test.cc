// One session, step by step: what a client may do that no well-behaved one does, and what comes at
// the wrong moment. A daemon must not crash, and no byte may land in a slot that is not the op's.

#include <boost/test/unit_test.hpp>

#include "actors/session_lookup.h"
#include "tests/session/lone_fixture.h"

namespace larder::session_test {
namespace {

using std::chrono::milliseconds;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(session_alone, sim::LoneFixture)

BOOST_AUTO_TEST_CASE(a_part_that_mixes_streamed_and_shared_pieces_is_refused) {
  const wire::KeyRecord keys[] = {key(1), key(2)};
  put_start(10, keys);
  work(*client);
  (void)client->replies();
  const std::vector<std::byte> bytes(100);
  put_part(11, 10,
           {{.key = 0, .region = 1, .length = 1000},
            {.key = 1, .region = wire::PutSource::kStream, .length = 100}},
           bytes, 100);
  work(*client);
  BOOST_TEST((answer<wire::SimpleReply>(11) == absl::StatusCode::kInvalidArgument));
}

/// Each remembers a namespace's blocks: a thousand of them would be gigabytes.
BOOST_AUTO_TEST_CASE(one_removal_at_a_time_and_the_next_when_it_has_ended) {
  wire::RemovePrefixRequest body;
  body.set_ns(ns());
  const BlockHash prefix{1, 1};
  const auto ask = [&](std::uint64_t id) {
    client->add({.type = FrameType::kRemovePrefix,
                 .id = id,
                 .body = &body,
                 .array = std::as_bytes(std::span(&prefix, 1))});
  };
  ask(10);
  ask(11);
  work(*client);
  std::vector<absl::StatusCode> codes(2, absl::StatusCode::kUnknown);
  for (const auto& reply : client->replies()) {
    wire::SimpleReply answer;
    BOOST_TEST(parse_body(reply.body, answer));
    codes.at(reply.header.id - 10) = static_cast<absl::StatusCode>(answer.status().code());
  }
  BOOST_TEST((codes[0] == absl::StatusCode::kOk));
  BOOST_TEST((codes[1] == absl::StatusCode::kResourceExhausted));
  ask(12);
  work(*client);
  BOOST_TEST((answer<wire::SimpleReply>(12) == absl::StatusCode::kOk));
  BOOST_TEST(node.context().commons.taken(Common::kRemovals) == 0U);
}

BOOST_AUTO_TEST_CASE(a_chunk_without_payload_is_nothing) {
  wire::PutRequest put;
  put.set_ns(ns());
  const wire::KeyRecord keys[] = {key(1, 100'000)};
  client->add(
      {.type = FrameType::kPut, .id = 10, .body = &put, .array = std::as_bytes(std::span(keys))});
  work(*client);
  const wire::ChunkRecord chunk{.key = 0, .last = 1};
  client->add(
      {.type = FrameType::kPutData, .id = 10, .array = std::as_bytes(std::span(&chunk, 1))});
  work(*client);
  BOOST_TEST(client->alive());
}

/// The block of a part that failed goes back to its pool: nothing may be received into it.
BOOST_AUTO_TEST_CASE(bytes_of_a_stream_never_land_in_a_slot_that_was_given_back) {
  const wire::KeyRecord keys[] = {key(1)};
  put_start(10, keys);
  work(*client);
  const std::vector<std::byte> half(2000, std::byte{0xee});
  // First a piece of a region that is not there, then a streamed one, torn in its middle.
  put_part(11, 10, {{.key = 0, .region = 5, .length = 1000}}, {}, 0);
  put_part(12, 10, {{.key = 0, .region = wire::PutSource::kStream, .length = 4000}}, half, 4000);
  client->send_all(now);
  client->settle(now);

  // Whoever comes next gets the slot.
  other = make(false);
  wire::PutRequest put;
  put.set_ns(ns());
  const wire::KeyRecord theirs[] = {key(2)};
  const std::vector<std::byte> good(sim::kLength, std::byte{0x11});
  put.add_inline_checksums(checksum(good));
  other->add(
      {.type = FrameType::kPut, .id = 3, .body = &put, .array = std::as_bytes(std::span(theirs))},
      good);
  work(*other);
  client->add_bytes(half);
  work(*client);

  const Index& index = *node.store().indexes[0];
  const BlockKey block{NamespaceId(ns()), theirs[0].hash, GroupId(0), Rank(0)};
  const EntryId found = index.find(block);
  BOOST_REQUIRE((found != kNoEntry));
  const SlotRef slot = unpack_slot(index.entry(found).slot.load());
  BOOST_TEST(checksum({node.store().slabs.data(slot), sim::kLength}) ==
             node.store().slabs.header(slot)->checksum);
}

BOOST_AUTO_TEST_CASE(a_late_answer_does_not_reach_another_call_of_the_same_id) {
  auto body = to_wire(sim::lone_spec());
  body.set_model("another");
  client->add({.type = FrameType::kOpenNamespace, .id = 10, .body = &body});
  cancel(10);
  const wire::KeyRecord keys[] = {key(1)};
  put_start(10, keys);
  client->send_all(now);
  client->settle(now);
  // The id was not free before the first call's answer came; now it is.
  BOOST_TEST(
      (codes(10) == std::vector{absl::StatusCode::kAlreadyExists, absl::StatusCode::kCancelled}));
  put_start(10, keys);
  work(*client);
  BOOST_TEST((answer<wire::PutReply>(10) == absl::StatusCode::kOk));
  BOOST_TEST(sim::held_in(node.store()).filling == 1U);
}

BOOST_AUTO_TEST_CASE(a_removal_that_a_shard_lost_waits_for_the_other_answers) {
  sim::SessionNode two({.capacity = Bytes{1 << 20}, .shards = 2, .now = [this] { return now; }});
  sim::LoneSession session(two, {.id = 50, .is_unix = false}, now);
  wire::HelloRequest hello;
  hello.set_version_min(1);
  hello.set_version_max(1);
  const auto open = to_wire(sim::lone_spec());
  session.add({.type = FrameType::kHello, .id = 1, .body = &hello});
  session.add({.type = FrameType::kOpenNamespace, .id = 2, .body = &open});
  session.send_all(now);
  session.settle(now);
  // A chain of blocks in both shards.
  wire::PutRequest put;
  put.set_ns(ns());
  std::vector<wire::KeyRecord> keys;
  for (std::uint64_t n = 1; n <= 8; ++n) {
    keys.push_back(key(n, 256));
    keys.back().anchor = {n * 0x9e3779b97f4a7c15ULL, n * 0x9e3779b97f4a7c15ULL};
    keys.back().position = static_cast<std::uint32_t>(n - 1);
    if (n > 1) keys.back().parent = keys[n - 2].hash;
    put.add_inline_checksums(checksum(std::vector<std::byte>(256)));
  }
  const std::vector<std::byte> bytes(8 * 256);
  session.add(
      {.type = FrameType::kPut, .id = 3, .body = &put, .array = std::as_bytes(std::span(keys))},
      bytes);
  session.send_all(now);
  session.settle(now);
  BOOST_REQUIRE(two.store().indexes[0]->size() > 0);
  BOOST_REQUIRE(two.store().indexes[1]->size() > 0);

  wire::RemovePrefixRequest remove;
  remove.set_ns(ns());
  session.add({.type = FrameType::kRemovePrefix,
               .id = 10,
               .body = &remove,
               .array = std::as_bytes(std::span(&keys[0].hash, 1))});
  (void)session.replies();
  session.send_all(now);
  // Both scans, then the erasing of one shard, which dies with it in its queue.
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    two.shards().run_one(shard);
    session.deliver(10, now);
  }
  two.shards().kill_shard(ShardId(0));
  session.deliver(10, now);
  // The same id again, for a list: the answer of the other shard is not one.
  wire::ListRequest list;
  list.set_ns(ns());
  session.add({.type = FrameType::kList, .id = 10, .body = &list});
  session.send_all(now);
  session.settle(now);
  std::vector<absl::StatusCode> codes;
  for (const auto& reply : session.replies()) {
    wire::SimpleReply body;
    if (reply.header.id != 10) continue;
    BOOST_TEST(parse_body(reply.body, body));
    codes.push_back(static_cast<absl::StatusCode>(body.status().code()));
  }
  BOOST_TEST(
      (codes == std::vector{absl::StatusCode::kAlreadyExists, absl::StatusCode::kUnavailable}));
}

BOOST_AUTO_TEST_CASE(a_flat_namespace_has_no_prefixes) {
  const auto open = to_wire(sim::lone_spec(true));
  client->add({.type = FrameType::kOpenNamespace, .id = 10, .body = &open});
  wire::PutRequest put;
  put.set_ns(ns(true));
  wire::KeyRecord keys[] = {key(1)};
  keys[0].flags = wire::kKeyFlat;
  keys[0].position = 5;
  const std::vector<std::byte> bytes(sim::kLength);
  put.add_inline_checksums(checksum(bytes));
  client->send_all(now);
  client->settle(now);
  client->add(
      {.type = FrameType::kPut, .id = 11, .body = &put, .array = std::as_bytes(std::span(keys))},
      bytes);
  work(*client);
  wire::RemovePrefixRequest remove;
  remove.set_ns(ns(true));
  const BlockHash name{7, 7};
  client->add({.type = FrameType::kRemovePrefix,
               .id = 12,
               .body = &remove,
               .array = std::as_bytes(std::span(&name, 1))});
  work(*client);
  BOOST_TEST((answer<wire::SimpleReply>(12) == absl::StatusCode::kFailedPrecondition));
}

BOOST_AUTO_TEST_CASE(a_time_to_live_beyond_all_clocks_is_refused) {
  auto open = to_wire(sim::lone_spec());
  open.set_model("ttl");
  for (const std::uint64_t ttl : {~0ULL, 1ULL << 62, 20'000'000'000'000ULL}) {
    open.set_ttl_ms(ttl);
    client->add({.type = FrameType::kOpenNamespace, .id = 10, .body = &open});
    work(*client);
    BOOST_TEST((answer<wire::OpenNamespaceReply>(10) == absl::StatusCode::kInvalidArgument));
  }
}

BOOST_AUTO_TEST_CASE(a_reply_after_a_long_quiet_time_does_not_count_as_unread) {
  wire::WaitRequest wait;
  wait.set_ns(ns());
  wait.set_deadline_ms(1000);
  const wire::KeyRecord keys[] = {key(1)};
  client->add(
      {.type = FrameType::kWait, .id = 10, .body = &wait, .array = std::as_bytes(std::span(keys))});
  work(*client);
  for (int n = 0; n < 11; ++n) {
    now += milliseconds(100);  // lease_ms = 200
    client->on_time(now);
  }
  BOOST_REQUIRE(client->alive());
  BOOST_TEST((answer<wire::PutReply>(10) == absl::StatusCode::kOk));
}

/// What dies with a shard's queue: the slot of a put that was given up meanwhile.
BOOST_AUTO_TEST_CASE(a_put_given_up_while_its_shard_dies_leaves_no_slot_behind) {
  const wire::KeyRecord keys[] = {key(1), key(2)};
  put_start(10, keys);
  work(*client);
  BOOST_REQUIRE(sim::held_in(node.store()).filling == 2U);

  client->end();  // its abort stands in the shard's queue
  node.shards().kill_shard(ShardId(0));
  client->settle(now);

  BOOST_TEST(sim::held_in(node.store()).filling == 0U);
  BOOST_TEST(node.store().budget.ledger.used().count == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::session_test
