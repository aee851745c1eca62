// Whatever the daemon does, every operation has one end, and the client finds its way back.

#include <boost/test/data/test_case.hpp>

#include "client/regions.h"
#include "tests/client/fixture.h"

namespace larder::fault_test {
namespace {

using sim::Path;
using std::chrono::milliseconds;

enum class Fault { kDropAtGet, kDropAtPut, kTruncate, kGarbage, kError, kSilent, kLate, kStop };
constexpr Fault kFaults[] = {Fault::kDropAtGet, Fault::kDropAtPut, Fault::kTruncate,
                             Fault::kGarbage,   Fault::kError,     Fault::kSilent,
                             Fault::kLate,      Fault::kStop};
std::ostream& operator<<(std::ostream& out, Fault fault) {
  return out << static_cast<int>(fault);
}

void cause(sim::FakeServer& server, Fault fault) {
  switch (fault) {
    case Fault::kDropAtGet:
      server.faults.drop_on = static_cast<int>(FrameType::kGet);
      break;
    case Fault::kDropAtPut:
      server.faults.drop_on = static_cast<int>(FrameType::kPut);
      break;
    case Fault::kTruncate:
      server.faults.truncate = true;
      break;
    case Fault::kGarbage:
      server.faults.garbage = true;
      break;
    case Fault::kError:
      server.faults.error_code = static_cast<int>(absl::StatusCode::kInternal);
      break;
    case Fault::kSilent:
      server.faults.silent = true;
      break;
    case Fault::kLate:
      server.faults.delay_ms = 150;
      break;
    case Fault::kStop:
      server.stop();
      break;
  }
}

void mend(sim::FakeServer& server, Fault fault) {
  server.faults.drop_on = 0;
  server.faults.truncate = false;
  server.faults.garbage = false;
  server.faults.error_code = 0;
  server.faults.silent = false;
  server.faults.delay_ms = 0;
  if (fault == Fault::kStop) server.start();
}

}  // namespace

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(fault)

BOOST_DATA_TEST_CASE(every_submission_has_exactly_one_end,
                     data::make(sim::kPaths) * data::make(kFaults), path, fault) {
  sim::Pair pair(path, milliseconds(100));
  const NamespaceSpec spec = sim::chain_spec("ends");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  std::vector<std::unique_ptr<sim::Batch>> batches;
  for (std::uint32_t n = 0; n < 12; ++n) {
    batches.push_back(std::make_unique<sim::Batch>(spec, 1 + n, 2, n % 3 == 0 ? 400'000 : 5000));
  }
  std::vector<std::uint64_t> ids;

  for (std::uint32_t n = 0; n < 12; ++n) {
    sim::Batch& batch = *batches[n];
    if (n == 6) cause(pair.server, fault);
    ids.push_back(n % 2 == 0 ? pair.client->submit_put(ns, batch.keys, batch.source_lists(), {})
                             : pair.client->submit_get(ns, batch.keys, batch.target_lists(), {}));
  }
  std::vector<Completion> done = sim::drain(*pair.client, ids.size());
  mend(pair.server, fault);
  std::this_thread::sleep_for(milliseconds(200));
  for (Completion& late : pair.client->drain_completions())
    done.push_back(std::move(late));

  std::vector<std::uint64_t> ended;
  for (const Completion& one : done) {
    ended.push_back(one.id);
    BOOST_TEST(one.keys.size() == 2U);
  }
  std::sort(ended.begin(), ended.end());
  BOOST_TEST((ended == ids));

  // And afterwards all is well again.
  sim::Batch after(spec, 99, 2, 300'000);
  Completion put;
  BOOST_TEST(sim::eventually([&] {
    put = pair.client->put(ns, after.keys, after.sources, {});
    return put.code == absl::StatusCode::kOk;
  }));
  sim::check_all(put, 2, KeyStatus::kOk);
  sim::check_all(pair.client->get(ns, after.keys, after.targets, {}), 2, KeyStatus::kOk);
  BOOST_TEST(after.got_all());
}

BOOST_DATA_TEST_CASE(a_lost_connection_ends_calls_at_once, data::make(sim::kPaths), path) {
  sim::Pair pair(path, std::chrono::seconds(30));
  const NamespaceSpec spec = sim::chain_spec("lost");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 200'000);
  pair.server.faults.silent = true;
  std::thread killer([&] {
    sim::eventually([&] { return pair.server.seen(FrameType::kGet) > 0; });
    pair.server.stop();
  });
  const sim::Stopwatch watch;

  const Completion done = pair.client->get(ns, batch.keys, batch.targets, {});
  killer.join();

  sim::check_code(done, absl::StatusCode::kUnavailable);
  BOOST_TEST((done.keys == std::vector(2, KeyStatus::kUnavailable)));
  BOOST_TEST((watch.elapsed() < std::chrono::seconds(3)));
}

BOOST_AUTO_TEST_CASE(staging_memory_that_is_refused_ends_the_put_with_the_reason) {
  for (const std::size_t bytes : {std::size_t{1000}, Staging::kBytesMax + 1}) {
    sim::Pair pair(Path::kStaged, std::chrono::seconds(5));
    const NamespaceSpec spec = sim::chain_spec("refused");
    const NamespaceId ns = *pair.client->open_namespace(spec);
    sim::Batch batch(spec, 1, 1, bytes);
    pair.server.faults.refuse_regions = true;

    for (int n = 0; n < 2; ++n) {
      const Completion done = pair.client->put(ns, batch.keys, batch.sources, {});
      sim::check_code(done, absl::StatusCode::kResourceExhausted);
      BOOST_TEST((done.keys == std::vector{KeyStatus::kNoSpace}));
      BOOST_TEST(done.message.find("staging memory") != std::string::npos, done.message);
      BOOST_TEST(done.message.find("over the quota of regions") != std::string::npos, done.message);
    }
    BOOST_TEST(pair.server.seen(FrameType::kPut) == 0);
    pair.server.faults.refuse_regions = false;

    sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 1, KeyStatus::kOk);
  }
}

BOOST_AUTO_TEST_CASE(puts_wait_together_for_the_answer_to_their_staging_memory) {
  sim::Pair pair(Path::kStaged, std::chrono::seconds(5));
  const NamespaceSpec spec = sim::chain_spec("staging");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  std::vector<std::unique_ptr<sim::Batch>> batches;
  pair.server.faults.delay_ms = 30;

  for (std::uint32_t n = 0; n < 4; ++n) {
    batches.push_back(std::make_unique<sim::Batch>(spec, n + 1, 2, 10'000));
    pair.client->submit_put(ns, batches[n]->keys, batches[n]->source_lists(), {});
  }
  const std::vector<Completion> done = sim::drain(*pair.client, 4);

  BOOST_REQUIRE(done.size() == 4);
  for (const Completion& one : done)
    sim::check_all(one, 2, KeyStatus::kOk);
  BOOST_TEST(pair.server.seen(FrameType::kRegisterRegion) == 1);
}

BOOST_DATA_TEST_CASE(a_daemon_that_dies_behind_its_word_has_stored_nothing_for_sure,
                     data::make({Path::kStaged, Path::kAttach}), path) {
  sim::Pair pair(path);
  const NamespaceSpec spec = sim::chain_spec("word");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 100'000);
  pair.server.faults.die_committed = true;

  const Completion whole = pair.client->put(ns, batch.keys, batch.sources, {});
  const auto layers = pair.client->put_start(ns, batch.keys, {});
  BOOST_REQUIRE(layers.ok());
  const Completion end = pair.client->put_end(layers->id);

  for (const Completion& done : {whole, end}) {
    sim::check_code(done, absl::StatusCode::kUnavailable);
    BOOST_TEST(done.message == "committed, answer lost");
    BOOST_TEST((done.keys == std::vector(2, KeyStatus::kUnavailable)));
  }
  BOOST_TEST(pair.server.blocks() == 0U);
}

BOOST_DATA_TEST_CASE(a_daemon_that_was_restarted_while_nothing_ran_is_not_noticed,
                     data::make(sim::kPaths), path) {
  sim::Pair pair(path);
  const NamespaceSpec spec = sim::chain_spec("restart");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 100'000);
  sim::check_all(pair.client->put(ns, batch.keys, batch.sources, {}), 2, KeyStatus::kOk);
  std::this_thread::sleep_for(milliseconds(20));

  pair.server.stop();
  pair.server.start();

  sim::check_all(pair.client->get(ns, batch.keys, batch.targets, {}), 2, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());
  BOOST_TEST(pair.client->stats().reconnects == 1U);
  BOOST_TEST(pair.server.seen(FrameType::kOpenNamespace) == 2);
}

BOOST_AUTO_TEST_CASE(without_a_daemon_calls_fail_fast_and_say_what_to_do) {
  sim::Pair pair(Path::kStaged, std::chrono::seconds(10));
  const NamespaceSpec spec = sim::chain_spec("gone");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 1000);
  pair.server.stop();
  std::this_thread::sleep_for(milliseconds(20));
  const sim::Stopwatch watch;

  Completion done;
  for (int n = 0; n < 20; ++n)
    done = pair.client->get(ns, batch.keys, batch.targets, {});

  sim::check_code(done, absl::StatusCode::kUnavailable);
  BOOST_TEST(done.message.find(pair.server.address()) != std::string::npos, done.message);
  BOOST_TEST(done.message.find("larderd") != std::string::npos);
  BOOST_TEST((watch.elapsed() < std::chrono::seconds(2)));
}

BOOST_DATA_TEST_CASE(a_call_finds_a_daemon_that_is_back_however_long_it_was_gone,
                     data::make(sim::kPaths), path) {
  sim::Pair pair(path);
  const NamespaceSpec spec = sim::chain_spec("back");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  sim::Batch batch(spec, 1, 2, 1000);
  for (int round = 0; round < 4; ++round) {
    pair.server.stop();
    sim::check_code(pair.client->get(ns, batch.keys, batch.targets, {}),
                    absl::StatusCode::kUnavailable);
    // The background's attempts are hundreds of milliseconds apart by now.
    std::this_thread::sleep_for(milliseconds(400));
    BOOST_TEST(!pair.client->server_stats().ok());
    pair.server.start();

    if (round % 2 == 0) {
      sim::check_all(pair.client->get(ns, batch.keys, batch.targets, {}), 2, KeyStatus::kMiss);
      continue;
    }
    pair.client->submit_get(ns, batch.keys, batch.target_lists(), {});
    const std::vector<Completion> done = sim::drain(*pair.client, 1);
    BOOST_REQUIRE(done.size() == 1);
    sim::check_all(done[0], 2, KeyStatus::kMiss);
  }
}

BOOST_AUTO_TEST_CASE(many_calls_without_a_daemon_share_few_attempts_to_connect) {
  sim::Pair pair(Path::kStaged, std::chrono::seconds(5));
  pair.server.stop();
  pair.server.faults.drop_on = static_cast<int>(FrameType::kHello);
  pair.server.start();
  const int before = pair.server.connections();
  std::atomic<int> calls{0};
  std::atomic<int> wrong{0};
  const sim::Stopwatch watch;

  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      while (watch.elapsed() < milliseconds(500)) {
        calls.fetch_add(1);
        if (!absl::IsUnavailable(pair.client->server_stats().status())) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();

  BOOST_TEST(wrong.load() == 0);
  BOOST_TEST(calls.load() > 16 * 4);
  BOOST_TEST(pair.server.connections() - before <= watch.elapsed() / milliseconds(20) + 1);
}

BOOST_AUTO_TEST_CASE(the_background_finds_a_daemon_that_came_back) {
  sim::Pair pair(Path::kStaged);
  pair.server.stop();
  BOOST_TEST(!pair.client->server_stats().ok());
  std::this_thread::sleep_for(milliseconds(60));

  pair.server.start();

  BOOST_TEST(sim::eventually([&] { return pair.client->stats().reconnects == 1; }));
}

BOOST_DATA_TEST_CASE(closing_a_client_under_load_leaves_no_buffer_in_use, data::make(sim::kPaths),
                     path) {
  const NamespaceSpec spec = sim::chain_spec("closing");
  for (int round = 0; round < 10; ++round) {
    sim::Pair pair(path, std::chrono::seconds(10));
    const NamespaceId ns = *pair.client->open_namespace(spec);
    std::vector<std::unique_ptr<sim::Batch>> batches;
    for (std::uint32_t n = 0; n < 8; ++n) {
      batches.push_back(std::make_unique<sim::Batch>(spec, n + 1, 1, 2 << 20));
      pair.client->submit_put(ns, batches[n]->keys, batches[n]->source_lists(), {});
      pair.client->submit_get(ns, batches[n]->keys, batches[n]->target_lists(), {});
    }
    std::this_thread::sleep_for(milliseconds(round));

    pair.client.reset();

    for (auto& batch : batches)
      batch->clear();
    const auto untouched = [](const auto& batch) {
      const auto& place = batch->places[0];
      return std::count(place.begin(), place.end(), std::byte{0xcc}) ==
             static_cast<std::ptrdiff_t>(place.size());
    };
    std::this_thread::sleep_for(milliseconds(5));
    BOOST_TEST(std::all_of(batches.begin(), batches.end(), untouched));
  }
}

BOOST_AUTO_TEST_CASE(threads_keep_their_calls_apart_while_connections_break) {
  sim::Pair pair(Path::kTcp, milliseconds(300));
  const NamespaceSpec spec = sim::chain_spec("storm");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t n = 0; !stop; ++n) {
        sim::Batch batch(spec, t * 100'000 + n + 1, 1, 150'000);
        const Completion put = pair.client->put(ns, batch.keys, batch.sources, {});
        const Completion get = pair.client->get(ns, batch.keys, batch.targets, {});
        if (get.keys[0] == KeyStatus::kOk && !batch.got_all()) wrong.fetch_add(1);
        if (get.keys[0] == KeyStatus::kOk) good.fetch_add(1);
        if (put.keys.size() != 1) wrong.fetch_add(1);
      }
    });
  }

  for (int n = 0; n < 10; ++n) {
    std::this_thread::sleep_for(milliseconds(30));
    if (n % 2 == 0) {
      pair.server.faults.truncate = true;
    } else {
      pair.server.faults.garbage = true;
    }
  }
  std::this_thread::sleep_for(milliseconds(100));
  stop = true;
  for (std::thread& thread : threads)
    thread.join();

  BOOST_TEST(wrong.load() == 0);
  BOOST_TEST(good.load() > 0);
  BOOST_TEST(pair.client->stats().reconnects > 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::fault_test
