// A store in which nothing can leave: everything is leased or pinned.

#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"

namespace larder {

namespace {

constexpr std::uint32_t kBlocks = 64;
constexpr std::size_t kBytes = 65'536;

NamespaceSpec spec() {
  NamespaceSpec out = sim::chain_spec("held");
  out.groups[0].block_bytes = Bytes{kBytes};
  return out;
}

std::size_t count_of(const Completion& done, KeyStatus status) {
  return static_cast<std::size_t>(std::count(done.keys.begin(), done.keys.end(), status));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_full_store)

BOOST_AUTO_TEST_CASE(a_store_full_of_leases_answers_no_space_until_they_end) {
  sim::Daemon daemon({.host_bytes = Bytes{kBlocks * kBytes},
                      .flags = {"--lease-ms", "1500"},
                      .environment = {},
                      .program = {}});
  const auto client = daemon.shm();
  const NamespaceId ns = *client->open_namespace(spec());
  sim::Batch held(spec(), 1, kBlocks, kBytes);
  sim::check_all(client->put(ns, held.keys, held.sources, {}), kBlocks, KeyStatus::kOk);
  auto views = client->view(ns, held.keys, {});
  BOOST_REQUIRE(views.ok());

  sim::Batch more(spec(), 2, 16, kBytes);
  const auto writer = daemon.tcp_client();
  const NamespaceId same = *writer->open_namespace(spec());
  const Completion full = writer->put(same, more.keys, more.sources, {});

  // One slab of the reserve may have been free.
  BOOST_TEST(count_of(full, KeyStatus::kNoSpace) >= 14U, full.message);
  BOOST_TEST(count_of(full, KeyStatus::kNoSpace) + count_of(full, KeyStatus::kOk) == 16U);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    BOOST_TEST(std::equal(held.blocks[i].begin(), held.blocks[i].end(), (*views)[i].bytes().begin(),
                          (*views)[i].bytes().end()));
    BOOST_TEST((*views)[i].release());
  }
  const Completion now = writer->put(same, more.keys, more.sources, {});
  BOOST_TEST(count_of(now, KeyStatus::kNoSpace) == 0U, now.message);
}

BOOST_AUTO_TEST_CASE(pins_have_a_quota_and_what_is_beyond_it_can_leave) {
  sim::Daemon daemon({.host_bytes = Bytes{kBlocks * kBytes},
                      .flags = {"--pin-quota-percent", "50"},
                      .environment = {},
                      .program = {}});
  const auto client = daemon.shm();
  const NamespaceId ns = *client->open_namespace(spec());
  sim::Batch batch(spec(), 1, kBlocks, kBytes);
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), kBlocks, KeyStatus::kOk);

  const Completion pinned = client->pin(ns, batch.keys, Duration(0));

  BOOST_TEST(count_of(pinned, KeyStatus::kOk) == kBlocks / 2);
  BOOST_TEST(count_of(pinned, KeyStatus::kNoSpace) == kBlocks / 2);
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

}  // namespace larder
