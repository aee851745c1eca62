// What counts as a use of a block, and what is not served any more: gets touch, requests of flat
// keys touch at their end, a time to live ends at its moment.

#include <boost/test/unit_test.hpp>

#include "actors/clock.h"
#include "store/checksum.h"
#include "tests/session/lone_session.h"
#include "transport/namespace_wire.h"
#include "transport/wire.pb.h"

namespace larder::use_test {
namespace {

using wire::KeyStatus;
using wire::MatchState;
using Keys = std::vector<std::uint64_t>;

constexpr std::uint32_t kLength = 4096;
constexpr std::uint64_t kRoom = 16;  ///< blocks

struct Fixture {
  Fixture() {
    wire::HelloRequest hello;
    hello.set_version_min(1);
    hello.set_version_max(1);
    ask(FrameType::kHello, hello);
    ns = open(0);
  }

  std::uint64_t open(std::uint64_t ttl_ms) {
    NamespaceSpec spec;
    spec.fingerprint.model = "m";
    spec.fingerprint.flat = true;
    spec.groups.push_back({GroupKind::kFull, 0, 0, {}});
    auto body = to_wire(spec);
    body.set_ttl_ms(ttl_ms);
    ask(FrameType::kOpenNamespace, body);
    return namespace_id("default", spec.fingerprint).value();
  }
  /// The last reply to it.
  sim::LoneSession::Reply ask(FrameType type, const google::protobuf::MessageLite& body,
                              std::span<const std::byte> array = {},
                              std::span<const std::byte> payload = {}) {
    const std::uint64_t id = ++ids;
    client.add({.type = type, .id = id, .body = &body, .array = array}, payload);
    client.send_all(now);
    client.settle(now);
    sim::LoneSession::Reply last;
    for (auto& reply : client.replies()) {
      if (reply.header.id == id && reply.header.type == type) last = std::move(reply);
    }
    return last;
  }
  static std::vector<wire::KeyRecord> records(const Keys& keys) {
    std::vector<wire::KeyRecord> out;
    for (const std::uint64_t n : keys) {
      wire::KeyRecord& one = out.emplace_back();
      one.hash = one.anchor = {n, n};
      one.length = kLength;
      one.flags = wire::kKeyFlat;
    }
    return out;
  }
  template <class Result>
  static std::vector<KeyStatus> statuses(const sim::LoneSession::Reply& reply) {
    std::vector<Result> results;
    BOOST_TEST(wire::parse(reply.array, results));
    std::vector<KeyStatus> out;
    for (const Result& one : results)
      out.push_back(static_cast<KeyStatus>(one.status));
    return out;
  }

  std::vector<KeyStatus> put(const Keys& keys, std::uint64_t request = 0) {
    std::vector<KeyStatus> out;
    for (const std::uint64_t n : keys) {
      wire::PutRequest body;
      body.set_ns(ns);
      body.set_request(request);
      const std::vector<std::byte> bytes(kLength, static_cast<std::byte>(n));
      body.add_inline_checksums(checksum(bytes));
      const auto record = records({n});
      out.push_back(statuses<wire::PutResult>(
          ask(FrameType::kPut, body, std::as_bytes(std::span(record)), bytes))[0]);
    }
    return out;
  }
  std::vector<KeyStatus> get(const Keys& keys, std::uint64_t request = 0) {
    wire::GetRequest body;
    body.set_ns(ns);
    body.set_request(request);
    const auto list = records(keys);
    return statuses<wire::GetResult>(ask(FrameType::kGet, body, std::as_bytes(std::span(list))));
  }
  std::vector<MatchState> match(const Keys& keys, std::uint64_t request = 0) {
    wire::MatchRequest body;
    body.set_ns(ns);
    body.set_request(request);
    std::vector<BlockHash> names;
    for (const std::uint64_t n : keys)
      names.push_back({n, n});
    body.add_chain_units(static_cast<std::uint32_t>(names.size()));
    const auto reply = ask(FrameType::kMatch, body, std::as_bytes(std::span(names)));
    wire::MatchReply answer;
    BOOST_TEST(parse_body(reply.body, answer));
    std::vector<MatchState> out;
    for (const char one : answer.flat())
      out.push_back(static_cast<MatchState>(one));
    BOOST_TEST(out.size() == keys.size());
    return out;
  }
  void end(std::uint64_t request) {
    wire::EndRequestRequest body;
    body.set_request(request);
    ask(FrameType::kEndRequest, body);
  }
  /// Which of the keys from `first` to `last` are there.
  Keys present(std::uint64_t first, std::uint64_t last) {
    Keys keys, out;
    for (std::uint64_t n = first; n <= last; ++n)
      keys.push_back(n);
    const auto states = match(keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (states[i] == MatchState::kPresent) out.push_back(keys[i]);
    }
    return out;
  }
  void fill() {
    for (std::uint64_t n = 1; n <= kRoom; ++n)
      put({n});
    BOOST_REQUIRE(present(1, kRoom).size() == kRoom);
  }

  Time now = Time(std::chrono::hours(1));
  std::uint64_t ids = 0;
  std::uint64_t ns = 0;
  sim::SessionNode node{
      {.capacity = Bytes{kRoom * kLength}, .shards = 1, .now = [this] { return now; }}};
  sim::LoneSession client{node, {.id = 1, .is_unix = false}, now};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(use, Fixture)

BOOST_AUTO_TEST_CASE(a_get_without_a_request_is_a_use_in_the_order_of_its_keys) {
  fill();
  get({3, 2, 1});  // the first key is the most lasting
  for (std::uint64_t n = 101; n <= 100 + kRoom - 3; ++n)
    put({n});
  BOOST_TEST((present(1, kRoom) == Keys{1, 2, 3}));
  put({201});
  BOOST_TEST((present(1, kRoom) == Keys{2, 3}));
  put({202});
  BOOST_TEST((present(1, kRoom) == Keys{3}));
}

BOOST_AUTO_TEST_CASE(a_key_got_often_keeps_its_last_use) {
  fill();
  get({1});
  get({2});
  get({1});
  for (std::uint64_t n = 101; n <= 100 + kRoom - 1; ++n)
    put({n});
  BOOST_TEST((present(1, kRoom) == Keys{1}));
}

BOOST_AUTO_TEST_CASE(a_request_of_flat_keys_pins_what_it_matched_and_touches_it_at_its_end) {
  fill();
  BOOST_TEST((match({2, 1, 50}, 7) ==
              std::vector{MatchState::kPresent, MatchState::kPresent, MatchState::kAbsent}));
  put({50}, 7);
  for (std::uint64_t n = 101; n <= 100 + 2 * kRoom; ++n)
    put({n});
  BOOST_TEST((present(1, kRoom) == Keys{1, 2}));  // held, although the oldest
  BOOST_TEST((present(50, 50) == Keys{50}));
  end(7);
  // As one use of all three, the first key the most lasting.
  for (std::uint64_t n = 301; n <= 300 + kRoom - 2; ++n)
    put({n});
  BOOST_TEST((present(1, 50) == Keys{1, 2}));
  put({401});
  BOOST_TEST((present(1, 50) == Keys{2}));
}

BOOST_AUTO_TEST_CASE(gets_of_a_request_that_matched_nothing_are_its_chain) {
  fill();
  wire::BeginRequestRequest body;
  body.set_ns(ns);
  body.set_request(7);
  ask(FrameType::kBeginRequest, body);
  get({2, 1}, 7);
  put({50}, 7);
  end(7);
  for (std::uint64_t n = 101; n <= 100 + kRoom - 2; ++n)
    put({n});
  BOOST_TEST((present(1, 50) == Keys{1, 2}));
}

BOOST_AUTO_TEST_CASE(an_expired_block_is_a_miss_at_once) {
  open(20);
  put({1});
  open(0);
  put({2});
  BOOST_TEST((get({1, 2}) == std::vector{KeyStatus::kOk, KeyStatus::kOk}));

  const std::int64_t until = wall_ns() + 25'000'000;
  while (wall_ns() < until) {
  }
  BOOST_TEST((match({1, 2}) == std::vector{MatchState::kAbsent, MatchState::kPresent}));
  BOOST_TEST((get({1, 2}) == std::vector{KeyStatus::kMiss, KeyStatus::kOk}));
  node.shards().tick_all();
  node.shards().run_all();
  BOOST_TEST((put({1, 2}) == std::vector{KeyStatus::kOk, KeyStatus::kPresent}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::use_test
