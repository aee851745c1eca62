// Workers that ask for more than they read.

#include <algorithm>
#include <thread>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <sys/socket.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/e2e/raw.h"
#include "tests/faults/process_figures.h"

namespace larder::slow_reader_test {

namespace data = boost::unit_test::data;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::uint32_t kBlocks = 8;
constexpr std::size_t kBytes = 4 << 20;
constexpr milliseconds kLease(1000);

NamespaceSpec spec() {
  return sim::sized_spec("slow", kBytes);
}

/// Asks for all blocks a hundred times; reads nothing, or a little now and then.
class SlowReader {
 public:
  SlowReader(const std::string& address, const sim::Batch& batch, bool trickle) : raw_(address) {
    wire::GetRequest get;
    get.set_ns(raw_.open(spec()));
    for (int n = 0; n < 100; ++n)
      raw_.send(FrameType::kGet, get, std::as_bytes(std::span(batch.keys)));
    if (trickle) thread_ = std::jthread([this](const std::stop_token& stop) { read(stop); });
  }

 private:
  void read(const std::stop_token& stop) const {
    std::vector<std::byte> few(32 << 10);
    while (!stop.stop_requested() && ::recv(raw_.fd(), few.data(), few.size(), MSG_DONTWAIT) != 0) {
      std::this_thread::sleep_for(milliseconds(50));
    }
  }

  sim::Raw raw_;
  std::jthread thread_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_slow_reader)

BOOST_DATA_TEST_CASE(one_that_does_not_read_costs_little_and_holds_nothing_for_long,
                     data::make({0, 1}), trickle) {
  const sim::Daemon daemon(
      {.host_bytes = Bytes{2 * kBlocks * kBytes},
       .flags = {"--lease-ms", std::to_string(kLease.count()), "--heartbeat-ms", "5000"},
       .environment = {},
       .program = {}});
  const auto bystander = daemon.shm();
  const NamespaceId ns = *bystander->open_namespace(spec());
  sim::Batch batch(spec(), 1, kBlocks, kBytes);
  sim::check_all(bystander->put(ns, batch.keys, batch.sources, {}), kBlocks, KeyStatus::kOk);
  const Bytes memory = sim::own_memory(daemon.pid());

  const auto began = std::chrono::steady_clock::now();
  const SlowReader reader(daemon.tcp(), batch, trickle != 0);
  BOOST_TEST(sim::soon(seconds(1), [&] { return sim::figure(*bystander, "gets") >= 100; }));
  const NamespaceSpec small = sim::chain_spec("small");
  const NamespaceId of_small = *bystander->open_namespace(small);
  sim::Batch quick(small, 2, 4, 4096);
  sim::check_all(bystander->put(of_small, quick.keys, quick.sources, {}), 4, KeyStatus::kOk);
  for (int n = 0; n < 20; ++n) {
    const auto asked = std::chrono::steady_clock::now();
    sim::check_all(bystander->get(of_small, quick.keys, quick.targets, {}), 4, KeyStatus::kOk);
    BOOST_TEST((std::chrono::steady_clock::now() - asked < milliseconds(500)));
  }
  BOOST_TEST(sim::own_memory(daemon.pid()).count < memory.count + (32U << 20));

  // Its holds end, so that all of the store can be used anew: by new blocks each time, for a look
  // at what is left is a use of it.
  std::uint64_t name = 10;
  BOOST_TEST(sim::soon(seconds(8), [&] {
    bool all = true;
    for (int n = 0; n < 2; ++n) {
      sim::Batch fresh(spec(), name++, kBlocks, kBytes);
      const Completion put = bystander->put(ns, fresh.keys, fresh.sources, {});
      all = all && std::none_of(put.keys.begin(), put.keys.end(),
                                [](KeyStatus s) { return s == KeyStatus::kNoSpace; });
    }
    const Completion left = bystander->get(ns, batch.keys, batch.targets, {});
    return all && std::none_of(left.keys.begin(), left.keys.end(),
                               [](KeyStatus s) { return s == KeyStatus::kOk; });
  }));
  const auto took = std::chrono::steady_clock::now() - began;
  BOOST_TEST_MESSAGE("holds gone after " << took / milliseconds(1) << " ms");
  // A lease, and what a lease may be prolonged by for the size of a get, and the timer.
  BOOST_TEST((took < kLease + seconds(5) + seconds(2)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::slow_reader_test
