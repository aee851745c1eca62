// Every call has one answer, whatever comes between: a client that gave up waits for it before it
// uses the id again.

#include <functional>

#include <boost/test/unit_test.hpp>

#include "tests/session/lone_fixture.h"

namespace larder::last_answer_test {
namespace {

using absl::StatusCode;
using std::chrono::milliseconds;
using wire::KeyStatus;
using Codes = std::vector<StatusCode>;

constexpr std::uint64_t kId = 10;

struct Fixture : sim::LoneFixture {
  void list(std::uint64_t id) {
    wire::ListRequest body;
    body.set_ns(ns());
    client->add({.type = FrameType::kList, .id = id, .body = &body});
  }
  void remove_prefix() {
    wire::RemovePrefixRequest body;
    body.set_ns(ns());
    const BlockHash first = key(1).hash;
    client->add({.type = FrameType::kRemovePrefix,
                 .id = kId,
                 .body = &body,
                 .array = std::as_bytes(std::span(&first, 1))});
  }
  /// That `start` (of kId) is answered CANCELLED, once, with its shard's answer; the id then
  /// serves.
  void check_cancelled(const std::function<void()>& start) {
    (void)client->replies();
    start();
    cancel(kId);
    client->send_all(now);
    BOOST_TEST(codes(kId).empty());
    list(kId);
    client->send_all(now);
    BOOST_TEST((codes(kId) == Codes{StatusCode::kAlreadyExists}));

    client->settle(now);
    BOOST_TEST((codes(kId) == Codes{StatusCode::kCancelled}));
    check_free();
  }
  void check_free() {
    list(kId);
    work(*client);
    BOOST_TEST((codes(kId) == Codes{StatusCode::kOk}));
  }
  /// Key statuses of the only reply of kId.
  std::vector<KeyStatus> statuses() {
    std::vector<KeyStatus> out;
    int replies = 0;
    for (const auto& reply : client->replies()) {
      if (reply.header.id != kId) continue;
      replies += 1;
      std::vector<wire::PutResult> results;
      BOOST_TEST(wire::parse(reply.array, results));
      for (const wire::PutResult& result : results)
        out.push_back(static_cast<KeyStatus>(result.status));
    }
    BOOST_TEST(replies == 1);
    return out;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(last_answer, Fixture)

BOOST_AUTO_TEST_CASE(a_match_that_claims) {
  check_cancelled([this] {
    wire::MatchRequest body;
    body.set_ns(ns());
    body.add_chain_units(1);
    body.set_claim(true);
    const BlockHash hash = key(1).hash;
    client->add({.type = FrameType::kMatch,
                 .id = kId,
                 .body = &body,
                 .array = std::as_bytes(std::span(&hash, 1))});
  });
}

BOOST_AUTO_TEST_CASE(a_removal) {
  check_cancelled([this] {
    wire::RemoveRequest body;
    body.set_ns(ns());
    const wire::KeyRecord keys[] = {key(1)};
    client->add({.type = FrameType::kRemove,
                 .id = kId,
                 .body = &body,
                 .array = std::as_bytes(std::span(keys))});
  });
}

BOOST_AUTO_TEST_CASE(a_list) {
  check_cancelled([this] { list(kId); });
}

BOOST_AUTO_TEST_CASE(the_opening_of_a_namespace_which_stays_closed) {
  auto body = to_wire(sim::lone_spec());
  body.set_model("another");
  check_cancelled(
      [&] { client->add({.type = FrameType::kOpenNamespace, .id = kId, .body = &body}); });

  auto fingerprint = sim::lone_spec().fingerprint;
  fingerprint.model = "another";
  BOOST_TEST(client->session()->find_namespace(namespace_id("default", fingerprint).value()) ==
             nullptr);
}

BOOST_AUTO_TEST_CASE(the_removal_of_a_prefix_while_it_scans) {
  check_cancelled([this] { remove_prefix(); });
}

BOOST_AUTO_TEST_CASE(the_removal_of_a_prefix_while_no_shard_is_asked) {
  const wire::KeyRecord keys[] = {key(1)};
  put(kId, keys);
  work(*client);
  remove_prefix();
  client->send_all(now);
  (void)client->replies();
  // The scan's answer and the Cancel come in one turn: it has the block, and has not asked for it.
  node.shards().run_all();
  cancel(kId);
  client->send_some(client->waiting());
  client->deliver(10, now);

  BOOST_TEST((codes(kId) == Codes{StatusCode::kCancelled}));
  client->settle(now);
  BOOST_TEST(codes(kId).empty());
  BOOST_TEST(node.store().indexes[0]->size() == 1U);
  check_free();
}

BOOST_AUTO_TEST_CASE(the_removal_of_a_prefix_while_it_erases) {
  const wire::KeyRecord keys[] = {key(1)};
  put(kId, keys);
  work(*client);
  remove_prefix();
  client->send_all(now);
  node.shards().run_all();
  client->deliver(10, now);
  (void)client->replies();
  cancel(kId);
  client->send_all(now);
  BOOST_TEST(codes(kId).empty());

  client->settle(now);
  BOOST_TEST((codes(kId) == Codes{StatusCode::kCancelled}));
  check_free();
}

BOOST_AUTO_TEST_CASE(a_put_that_waits_for_its_shard) {
  const wire::KeyRecord keys[] = {key(1), key(2)};
  put(kId, keys);
  cancel(kId);
  client->send_all(now);
  BOOST_TEST(codes(kId).empty());

  client->settle(now);
  BOOST_TEST((statuses() == std::vector(2, KeyStatus::kCancelled)));
  BOOST_TEST((sim::held_in(node.store()) == sim::Held{}));
  check_free();
}

BOOST_AUTO_TEST_CASE(a_layer_put_that_waits_for_its_shard) {
  const wire::KeyRecord keys[] = {key(1), key(2)};
  put_start(kId, keys);
  cancel(kId);
  client->send_all(now);
  BOOST_TEST(codes(kId).empty());

  client->settle(now);
  BOOST_TEST((statuses() == std::vector(2, KeyStatus::kCancelled)));
  BOOST_TEST((sim::held_in(node.store()) == sim::Held{}));
  check_free();
}

BOOST_AUTO_TEST_CASE(a_layer_put_that_ends_before_it_is_open_answers_both_calls) {
  const wire::KeyRecord keys[] = {key(1)};
  put_start(kId, keys);
  wire::PutEndRequest end;
  end.set_put(kId);
  client->add({.type = FrameType::kPutEnd, .id = 11, .body = &end});
  client->add({.type = FrameType::kPutEnd, .id = 12, .body = &end});
  work(*client);

  std::vector<std::uint64_t> ids;
  for (const auto& reply : client->replies())
    ids.push_back(reply.header.id);
  BOOST_TEST((ids == std::vector<std::uint64_t>{12, kId, 11}));
  BOOST_TEST((sim::held_in(node.store()) == sim::Held{}));
  check_free();
}

BOOST_AUTO_TEST_CASE(a_second_end_of_a_layer_put_is_refused) {
  const wire::KeyRecord keys[] = {key(1)};
  put_start(kId, keys);
  work(*client);
  (void)client->replies();
  wire::PutEndRequest end;
  end.set_put(kId);
  for (const std::uint64_t id : {std::uint64_t{11}, std::uint64_t{12}})
    client->add({.type = FrameType::kPutEnd, .id = id, .body = &end});
  work(*client);

  std::vector<std::pair<std::uint64_t, int>> answers;
  for (const auto& reply : client->replies()) {
    wire::SimpleReply body;
    BOOST_TEST(parse_body(reply.body, body));
    answers.emplace_back(reply.header.id, body.status().code());
  }
  const int refused = static_cast<int>(StatusCode::kFailedPrecondition);
  BOOST_TEST((answers == std::vector<std::pair<std::uint64_t, int>>{{12, refused}, {11, 0}}));
}

BOOST_AUTO_TEST_CASE(a_part_whose_payload_stops_in_its_middle) {
  const wire::KeyRecord keys[] = {key(1)};
  wire::PutStartRequest body;
  body.set_ns(ns());
  body.set_deadline_ms(100);
  client->add({.type = FrameType::kPutStart,
               .id = kId,
               .body = &body,
               .array = std::as_bytes(std::span(keys))});
  work(*client);
  const std::vector<std::byte> half(2000);
  put_part(11, kId, {{.key = 0, .region = wire::PutSource::kStream, .length = 4000}}, half, 4000);
  client->send_all(now);
  BOOST_TEST(codes(11).empty());

  now += milliseconds(150);
  client->on_time(now);
  BOOST_TEST((codes(11) == Codes{StatusCode::kCancelled}));
  client->add_bytes(half);
  work(*client);
  BOOST_TEST(codes(11).empty());
  BOOST_TEST((sim::held_in(node.store()) == sim::Held{}));
  check_free();
}

BOOST_AUTO_TEST_CASE(a_session_that_ends_for_silence_is_told_why) {
  now += std::chrono::seconds(61);
  client->on_time(now);

  BOOST_TEST(!client->alive());
  const auto replies = client->replies();
  BOOST_REQUIRE(replies.size() == 1U);
  BOOST_TEST((replies[0].header.type == FrameType::kError));
  wire::ErrorNotice notice;
  BOOST_TEST(parse_body(replies[0].body, notice));
  BOOST_TEST(notice.status().message() ==
             "silence: nothing came in 61000 ms, the limit is heartbeat_ms = 60000");
}

BOOST_AUTO_TEST_CASE(a_session_that_ends_without_a_hello_is_told_why) {
  sim::LoneSession mute(node, {.id = 70, .is_unix = false}, now);
  mute.on_time(now + milliseconds(5'001));

  BOOST_TEST(!mute.alive());
  const auto replies = mute.replies();
  BOOST_REQUIRE(replies.size() == 1U);
  wire::ErrorNotice notice;
  BOOST_TEST(parse_body(replies[0].body, notice));
  BOOST_TEST(notice.status().message() == "hello: none came in 5001 ms, the limit is 5000");
}

BOOST_AUTO_TEST_CASE(a_session_that_does_not_read_ends_without_waiting_for_it) {
  constexpr int kTriesMax = 100'000;
  for (int n = 0; n < kTriesMax && !client->session()->wants_write(); ++n) {
    client->add({.type = FrameType::kStats, .id = kId});
    client->send_some(client->waiting());
    client->pump(now);
  }
  BOOST_REQUIRE(client->session()->wants_write());

  client->on_time(now + milliseconds(201));  // lease_ms = 200
  BOOST_TEST(!client->alive());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::last_answer_test
