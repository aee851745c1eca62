// Somebody waits for the socket as long as anybody waits for an answer.

#include <algorithm>
#include <barrier>

#include <boost/test/data/test_case.hpp>

#include "tests/client/fixture.h"

namespace larder::driver_test {

namespace data = boost::unit_test::data;
using std::chrono::milliseconds;

namespace {

enum class Early { kGet, kTouch };
std::ostream& operator<<(std::ostream& out, Early early) {
  return out << (early == Early::kGet ? "get" : "touch");
}

/// Without a heartbeat in the test's time: its answer's reader would read the others' too.
sim::FakeServer::Options quiet_server() {
  sim::FakeServer::Options out = sim::server_options(sim::Path::kStaged);
  out.heartbeat_ms = 600'000;
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(driver)

// The driver and two of the three who wait are answered in one read: a get then wants its copy, a
// touch is over. The third's answer, still to come, is nobody's unless they hand the role over.
BOOST_DATA_TEST_CASE(who_waits_longest_gets_the_role, data::make({Early::kGet, Early::kTouch}),
                     early) {
  sim::Pair pair(quiet_server(), std::chrono::seconds(1));
  const NamespaceSpec spec = sim::chain_spec("driver");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  std::vector<sim::Batch> batches;
  for (std::uint64_t n = 0; n < 3; ++n) {
    sim::Batch& batch = batches.emplace_back(spec, n, 1, 10'000);
    sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 1, KeyStatus::kOk);
  }
  pair.server.faults.delay_on = static_cast<int>(FrameType::kWait);
  pair.server.faults.delay_ms = 100;
  pair.server.faults.frozen = true;

  std::vector<Completion> done(4);
  std::vector<std::thread> threads;
  const auto call = [&](auto make) {
    threads.emplace_back([&done, n = threads.size(), make] { done[n] = make(); });
    std::this_thread::sleep_for(milliseconds(20));
  };
  const auto answered_early = [&](sim::Batch& batch) {
    call([&pair, &batch, ns, early] {
      return early == Early::kGet ? pair.client->get(ns, batch.keys, batch.targets, {})
                                  : pair.client->touch(ns, batch.keys);
    });
  };
  answered_early(batches[0]);
  call([&] { return pair.client->wait(ns, batches[0].keys, milliseconds(10)); });
  answered_early(batches[1]);
  answered_early(batches[2]);
  const sim::Stopwatch watch;
  pair.server.faults.frozen = false;
  for (std::thread& thread : threads)
    thread.join();

  for (const Completion& one : done)
    sim::check_all(one, 1, KeyStatus::kOk);
  BOOST_TEST((watch.elapsed() < milliseconds(800)));
}

BOOST_AUTO_TEST_CASE(calls_of_four_threads_at_once_are_all_answered) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kRounds = 400;
  sim::Pair pair(quiet_server(), std::chrono::seconds(1));
  const NamespaceSpec spec = sim::chain_spec("driver");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  pair.server.faults.delay_on = static_cast<int>(FrameType::kTouch);
  pair.server.faults.delay_ms = 2;
  std::vector<int> failed(kThreads);
  std::vector<Duration> longest(kThreads);
  std::barrier round(kThreads);

  const auto work = [&](std::size_t me) {
    sim::Batch batch(spec, me, 1, 10'000);
    if (pair.client->put(ns, batch.keys, batch.sources, {}).code != absl::StatusCode::kOk)
      ++failed[me];
    for (std::size_t n = 0; n < kRounds; ++n) {
      round.arrive_and_wait();
      const sim::Stopwatch watch;
      // One of the four is answered after the others.
      const Completion done = n % kThreads == me
                                  ? pair.client->touch(ns, batch.keys)
                                  : pair.client->get(ns, batch.keys, batch.targets, {});
      longest[me] = std::max(longest[me], watch.elapsed());
      if (done.code == absl::StatusCode::kOk) continue;
      ++failed[me];
      return round.arrive_and_drop();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < kThreads; ++n)
    threads.emplace_back(work, n);
  for (std::thread& thread : threads)
    thread.join();

  for (std::size_t n = 0; n < kThreads; ++n) {
    BOOST_TEST(failed[n] == 0);
    BOOST_TEST((longest[n] < milliseconds(500)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::driver_test
