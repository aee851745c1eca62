// A store in which nothing can leave: everything is leased or pinned.

#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/faults/process_figures.h"

namespace larder::full_store_test {

namespace {

constexpr std::uint32_t kBlocks = 64;
constexpr std::size_t kBytes = 65'536;

NamespaceSpec spec() {
  return sim::sized_spec("held", kBytes);
}

/// A store whose every slot has a block.
struct FullStore {
  explicit FullStore(std::vector<std::string> flags)
      : daemon({.host_bytes = Bytes{kBlocks * kBytes},
                .flags = std::move(flags),
                .environment = {},
                .program = {}}) {
    sim::check_all(client->put(ns, batch.keys, batch.sources, {}), kBlocks, KeyStatus::kOk);
  }
  sim::Daemon daemon;
  std::unique_ptr<Client> client = daemon.shm();
  NamespaceId ns = *client->open_namespace(spec());
  sim::Batch batch{spec(), 1, kBlocks, kBytes};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_full_store)

BOOST_AUTO_TEST_CASE(a_store_full_of_leases_answers_no_space_until_they_end) {
  const FullStore store({"--lease-ms", "1500"});
  auto views = store.client->view(store.ns, store.batch.keys, {});
  BOOST_REQUIRE(views.ok());

  sim::Batch more(spec(), 2, 16, kBytes);
  const auto writer = store.daemon.tcp_client();
  const NamespaceId same = *writer->open_namespace(spec());
  const Completion full = writer->put(same, more.keys, more.sources, {});

  // One slab of the reserve may have been free.
  BOOST_TEST(sim::count_of(full, KeyStatus::kNoSpace) >= 14U, full.message);
  BOOST_TEST(sim::count_of(full, KeyStatus::kNoSpace) + sim::count_of(full, KeyStatus::kOk) == 16U);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    BOOST_TEST(std::equal(store.batch.blocks[i].begin(), store.batch.blocks[i].end(),
                          (*views)[i].bytes().begin(), (*views)[i].bytes().end()));
    BOOST_TEST((*views)[i].release());
  }
  const Completion now = writer->put(same, more.keys, more.sources, {});
  BOOST_TEST(sim::count_of(now, KeyStatus::kNoSpace) == 0U, now.message);
}

BOOST_AUTO_TEST_CASE(pins_have_a_quota_and_what_is_beyond_it_can_leave) {
  FullStore store({"--pin-quota-percent", "50"});
  const sim::Daemon& daemon = store.daemon;
  Client* const client = store.client.get();
  const NamespaceId ns = store.ns;
  sim::Batch& batch = store.batch;

  const Completion pinned = client->pin(ns, batch.keys, Duration(0));

  BOOST_TEST(sim::count_of(pinned, KeyStatus::kOk) == kBlocks / 2);
  BOOST_TEST(sim::count_of(pinned, KeyStatus::kNoSpace) == kBlocks / 2);
  BOOST_TEST(daemon.stat("pinned_bytes") == kBlocks / 2 * kBytes);
  for (std::uint64_t n = 2; n < 6; ++n) {
    sim::Batch more(spec(), n, kBlocks / 2, kBytes);
    sim::check_all(client->put(ns, more.keys, more.sources, {}), kBlocks / 2, KeyStatus::kOk);
  }
  const Completion got = client->get(ns, batch.keys, batch.targets, {});
  for (std::size_t i = 0; i < kBlocks; ++i) {
    if (pinned.keys[i] == KeyStatus::kOk) BOOST_TEST((got.keys[i] == KeyStatus::kOk));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::full_store_test
