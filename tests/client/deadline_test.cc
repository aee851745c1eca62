// After a call has ended, its buffers are nobody's but the caller's.

#include <boost/test/data/test_case.hpp>

#include "tests/client/fixture.h"

namespace larder::deadline_test {

using sim::Path;
namespace data = boost::unit_test::data;
using std::chrono::milliseconds;

BOOST_AUTO_TEST_SUITE(deadline)

BOOST_DATA_TEST_CASE(a_silent_daemon_ends_each_call_at_its_deadline, data::make(sim::kPaths),
                     path) {
  sim::Pair pair(path);
  const NamespaceSpec spec = sim::chain_spec("silent");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 100'000);
  pair.server.faults.silent = true;
  const sim::Stopwatch watch;

  const Completion put = pair.client->put(ns, batch.keys, batch.sources, {});
  const Completion get = pair.client->get(ns, batch.keys, batch.targets, {});
  const std::span<const BlockHash> chain(batch.chain);
  const absl::Status match = pair.client->match(ns, std::span(&chain, 1)).status();

  sim::check_code(put, absl::StatusCode::kDeadlineExceeded);
  sim::check_code(get, absl::StatusCode::kDeadlineExceeded);
  BOOST_TEST((put.keys == std::vector(2, KeyStatus::kDeadline)));
  BOOST_TEST((get.keys == std::vector(2, KeyStatus::kDeadline)));
  BOOST_TEST(absl::IsDeadlineExceeded(match));
  BOOST_TEST((watch.elapsed() >= milliseconds(600)));
  BOOST_TEST((watch.elapsed() < milliseconds(1500)));
}

BOOST_DATA_TEST_CASE(a_call_that_is_said_to_go_on_is_waited_for, data::make(sim::kPaths), path) {
  sim::Pair pair(path);
  const NamespaceSpec spec = sim::chain_spec("progress");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 1, 1000);
  pair.server.faults.delay_ms = 600;  // three times the deadline
  BOOST_TEST(absl::IsDeadlineExceeded(pair.client->purge({.ns = ns}).status()));
  std::this_thread::sleep_for(milliseconds(600));  // its answer is not in the way
  pair.server.faults.progress = true;
  const sim::Stopwatch watch;
  bool waited = false;
  for (int n = 0; n < 3 && !waited; ++n)  // a machine that stops for a moment is no answer
    waited = pair.client->purge({.ns = ns}).ok();
  BOOST_TEST(waited);
  BOOST_TEST((watch.elapsed() >= milliseconds(500)));
}

/// A call that was given up is answered all the same, with an error.
BOOST_DATA_TEST_CASE(late_answers_of_calls_that_were_given_up_are_nothing, data::make(sim::kPaths),
                     path) {
  sim::Pair pair(path);
  const NamespaceSpec spec = sim::chain_spec("late-answers");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 1, 1000);
  pair.server.faults.error_code = static_cast<int>(absl::StatusCode::kCancelled);
  pair.server.faults.delay_ms = 300;
  const std::span<const BlockHash> chain(batch.chain);
  BOOST_TEST(absl::IsDeadlineExceeded(pair.client->match(ns, std::span(&chain, 1)).status()));
  BOOST_TEST(absl::IsDeadlineExceeded(pair.client->remove_prefix(ns, chain).status()));
  sim::check_code(pair.client->remove(ns, batch.keys), absl::StatusCode::kDeadlineExceeded);
  pair.server.faults.error_code = 0;
  pair.server.faults.delay_ms = 0;
  std::this_thread::sleep_for(milliseconds(400));

  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 1, KeyStatus::kOk);
  sim::check_all(pair.client->get(ns, batch.keys, batch.targets, {}), 1, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());
  BOOST_TEST(pair.server.connections() == 1);
}

BOOST_AUTO_TEST_CASE(late_payload_of_a_get_goes_to_scratch) {
  sim::Pair pair(Path::kTcp);
  const NamespaceSpec spec = sim::chain_spec("late");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 4 << 20);
  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 2, KeyStatus::kOk);
  pair.server.faults.frozen = true;  // its sockets are full of what was asked before
  std::thread thaw([&] {
    std::this_thread::sleep_for(milliseconds(400));
    pair.server.faults.frozen = false;
  });

  const Completion done = pair.client->get(ns, batch.keys, batch.targets, {});
  sim::check_code(done, absl::StatusCode::kDeadlineExceeded);
  batch.clear();
  thaw.join();

  // The connection lives on: what came late was drained from it, and the next calls work.
  sim::Batch other(spec, 2, 2, 1 << 20);
  sim::check_all(pair.client->put(ns, other.keys, other.sources, {}), 2, KeyStatus::kOk);
  sim::check_all(pair.client->get(ns, other.keys, other.targets, {}), 2, KeyStatus::kOk);
  BOOST_TEST(other.got_all());
  for (const auto& place : batch.places) {
    BOOST_TEST(std::count(place.begin(), place.end(), std::byte{0xcc}) ==
               static_cast<std::ptrdiff_t>(place.size()));
  }
  BOOST_TEST(pair.server.connections() == 1);
}

BOOST_AUTO_TEST_CASE(a_get_cut_off_between_chunks_keeps_what_was_whole) {
  sim::Pair pair(Path::kTcp);
  const NamespaceSpec spec = sim::chain_spec("chunks");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 1 << 20);
  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 2, KeyStatus::kOk);
  pair.server.faults.chunks = 6;  // the first block's four, two of the second

  const Completion done = pair.client->get(ns, batch.keys, batch.targets, {});

  sim::check_code(done, absl::StatusCode::kDeadlineExceeded);
  BOOST_TEST((done.keys == std::vector{KeyStatus::kOk, KeyStatus::kDeadline}));
  BOOST_TEST((batch.places[0] == batch.blocks[0]));
}

BOOST_AUTO_TEST_CASE(a_slow_get_that_moves_is_not_ended) {
  sim::Pair pair(Path::kTcp, milliseconds(250));
  const NamespaceSpec spec = sim::chain_spec("slow");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  std::vector<std::thread> threads;
  const sim::Stopwatch watch;
  pair.server.faults.delay_ms = 150;
  sim::Batch batch(spec, 1, 1, 3 << 20);

  // Each exchange of the streamed put takes 150 ms, together more than the deadline.
  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 1, KeyStatus::kOk);

  BOOST_TEST((watch.elapsed() > milliseconds(250)));
}

BOOST_DATA_TEST_CASE(a_put_given_up_is_not_committed_later,
                     data::make({Path::kStaged, Path::kAttach}), path) {
  sim::Pair pair(path);
  const NamespaceSpec spec = sim::chain_spec("held");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 100'000);
  pair.server.faults.hold_puts = true;

  const Completion done = pair.client->put(ns, batch.keys, batch.sources, {});
  pair.server.faults.hold_puts = false;
  sim::Batch other(spec, 2, 1, 1000);
  sim::check_all(pair.client->put(ns, other.keys, other.sources, {}), 1, KeyStatus::kOk);

  sim::check_code(done, absl::StatusCode::kDeadlineExceeded);
  BOOST_TEST((done.keys == std::vector(2, KeyStatus::kDeadline)));
  BOOST_TEST(!pair.server.has(batch.keys[0]));
  BOOST_TEST(!pair.server.has(batch.keys[1]));
}

BOOST_AUTO_TEST_CASE(a_put_committed_without_an_answer_says_so) {
  sim::Pair pair(Path::kStaged);
  const NamespaceSpec spec = sim::chain_spec("lost");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 1000);
  pair.server.faults.lose_put_reply = true;
  const sim::Stopwatch watch;

  const Completion done = pair.client->put(ns, batch.keys, batch.sources, {});

  sim::check_code(done, absl::StatusCode::kDeadlineExceeded);
  BOOST_TEST(done.message == "committed, answer lost");
  BOOST_TEST((done.keys == std::vector(2, KeyStatus::kUnavailable)));
  BOOST_TEST(pair.server.has(batch.keys[0]));
  BOOST_TEST((watch.elapsed() >= milliseconds(400)));
}

BOOST_AUTO_TEST_CASE(a_streamed_put_given_up_reads_the_memory_no_more) {
  sim::Pair pair(Path::kTcp);
  const NamespaceSpec spec = sim::chain_spec("stream");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 1, 8 << 20);
  pair.server.faults.no_acks = true;

  const Completion done = pair.client->put(ns, batch.keys, batch.sources, {});
  std::fill(batch.blocks[0].begin(), batch.blocks[0].end(), std::byte{0});
  pair.server.faults.no_acks = false;
  sim::Batch other(spec, 2, 1, 2 << 20);
  sim::check_all(pair.client->put(ns, other.keys, other.sources, {}), 1, KeyStatus::kOk);

  sim::check_code(done, absl::StatusCode::kDeadlineExceeded);
  BOOST_TEST(!pair.server.has(batch.keys[0]));
  BOOST_TEST(pair.server.seen(FrameType::kCancel) == 1);
  BOOST_TEST(pair.server.connections() == 1);
}

BOOST_AUTO_TEST_CASE(a_put_frozen_in_mid_chunk_leaves_the_stream_in_step) {
  sim::Pair pair(Path::kTcp);
  const NamespaceSpec spec = sim::chain_spec("mid-chunk");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 4, 8 << 20);
  std::thread freeze([&] {
    sim::eventually([&] { return pair.server.seen(FrameType::kPutData) > 2; });
    pair.server.faults.frozen = true;
    std::this_thread::sleep_for(milliseconds(500));
    pair.server.faults.frozen = false;
  });

  const Completion done = pair.client->put(ns, batch.keys, batch.sources, {});
  freeze.join();
  sim::Batch other(spec, 2, 1, 2 << 20);
  sim::check_all(pair.client->put(ns, other.keys, other.sources, {}), 1, KeyStatus::kOk);

  BOOST_TEST(
      (done.code == absl::StatusCode::kDeadlineExceeded || done.code == absl::StatusCode::kOk));
  BOOST_TEST(pair.server.connections() == 1);
  sim::check_all(pair.client->get(ns, other.keys, other.targets, {}), 1, KeyStatus::kOk);
  BOOST_TEST(other.got_all());
}

BOOST_DATA_TEST_CASE(a_cancelled_submission_ends_soon_and_once, data::make(sim::kPaths), path) {
  sim::Pair pair(path, std::chrono::seconds(30));
  const NamespaceSpec spec = sim::chain_spec("cancel");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 200'000);
  pair.server.faults.silent = true;
  const std::uint64_t put = pair.client->submit_put(ns, batch.keys, batch.source_lists(), {});
  const std::uint64_t get = pair.client->submit_get(ns, batch.keys, batch.target_lists(), {});
  std::this_thread::sleep_for(milliseconds(20));
  const sim::Stopwatch watch;

  pair.client->cancel(put);
  pair.client->cancel(get);
  pair.client->cancel(get);
  const std::vector<Completion> done = sim::drain(*pair.client, 2);

  BOOST_REQUIRE(done.size() == 2);
  for (const Completion& one : done)
    sim::check_code(one, absl::StatusCode::kCancelled);
  BOOST_TEST((watch.elapsed() < milliseconds(500)));
  std::this_thread::sleep_for(milliseconds(20));
  BOOST_TEST(pair.client->drain_completions().empty());
}

BOOST_AUTO_TEST_CASE(a_submission_has_its_deadline_without_anyone_waiting) {
  sim::Pair pair(Path::kStaged);
  const NamespaceSpec spec = sim::chain_spec("submitted");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 1000);
  pair.server.faults.silent = true;

  pair.client->submit_get(ns, batch.keys, batch.target_lists(), {.deadline = milliseconds(50)});
  const std::vector<Completion> done = sim::drain(*pair.client, 1);

  BOOST_REQUIRE(done.size() == 1);
  sim::check_code(done[0], absl::StatusCode::kDeadlineExceeded);
}

BOOST_AUTO_TEST_CASE(staging_memory_comes_back_after_puts_that_were_given_up) {
  sim::Pair pair(Path::kStaged, milliseconds(60));
  const NamespaceSpec spec = sim::chain_spec("staging");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  for (std::uint64_t n = 0; n < 6; ++n) {
    pair.server.faults.hold_puts = true;
    sim::Batch batch(spec, n, 1, 24 << 20);
    sim::check_code(pair.client->put(ns, batch.keys, batch.sources, {}),
                    absl::StatusCode::kDeadlineExceeded);
    pair.server.faults.hold_puts = false;
    sim::Batch small(spec, 100 + n, 1, 1000);
    sim::check_all(
        pair.client->put(ns, small.keys, small.sources, {.deadline = std::chrono::seconds(3)}), 1,
        KeyStatus::kOk);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::deadline_test
