// Calls that take long say that they go on, and only while they do.

#include <boost/test/unit_test.hpp>

#include "tests/session/lone_fixture.h"

namespace larder::progress_test {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kId = 10;

struct Fixture : sim::LoneFixture {
  /// Counts that Progress frames of kId named since the last look; no other frame of it came.
  std::vector<std::uint64_t> progress() {
    std::vector<std::uint64_t> out;
    for (const auto& frame : client->replies()) {
      if (frame.header.id != kId) continue;
      BOOST_TEST((frame.header.type == FrameType::kProgress));
      BOOST_TEST(!frame.header.is_reply());
      wire::SimpleReply body;
      BOOST_TEST(parse_body(frame.body, body));
      out.push_back(body.count());
    }
    return out;
  }
  void put_blocks(std::uint64_t count) {
    for (std::uint64_t n = 1; n <= count; ++n) {
      const wire::KeyRecord record = key(n);
      put(1000 + n, std::span(&record, 1));
      work(*client);
    }
    (void)client->replies();
  }
  void start_purge(std::uint64_t blocks) {
    put_blocks(blocks);
    call<wire::PurgeRequest>(FrameType::kPurge, kId);
    client->send_all(now);
  }
  /// One round of messages between session and shards, `later` on.
  void round(Duration later) {
    now += later;
    node.shards().run_all();
    client->deliver(10, now);
    client->on_time(now);
    client->pump(now);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(progress, Fixture)

BOOST_AUTO_TEST_CASE(a_purge_says_how_much_is_removed_while_it_goes_on) {
  start_purge(20);
  client->on_time(now);
  round(milliseconds(60));  // it scans
  BOOST_TEST(progress().empty());
  round(milliseconds(60));  // it erases
  BOOST_TEST((progress() == std::vector<std::uint64_t>{20}));
  client->settle(now);
  BOOST_TEST((codes(kId) == std::vector{absl::StatusCode::kOk}));
}

BOOST_AUTO_TEST_CASE(a_call_that_hangs_says_nothing) {
  start_purge(20);
  for (int n = 0; n < 50; ++n) {  // no shard answers
    now += milliseconds(60);
    client->on_time(now);
    client->pump(now);
  }
  BOOST_TEST(progress().empty());
  client->settle(now);
  BOOST_TEST((codes(kId) == std::vector{absl::StatusCode::kOk}));
}

BOOST_AUTO_TEST_CASE(a_call_that_is_quick_says_nothing) {
  start_purge(2);
  client->settle(now);
  client->on_time(now);
  int frames = 0;
  for (const auto& frame : client->replies())
    frames += frame.header.id == kId ? 1 : 0;
  BOOST_TEST(frames == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::progress_test
