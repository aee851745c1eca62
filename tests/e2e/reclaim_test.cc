// Capacity: sizes that give way to each other, and what is full.

#include <boost/test/unit_test.hpp>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"

namespace larder::reclaim_test {

BOOST_AUTO_TEST_SUITE(larderd_capacity)

BOOST_AUTO_TEST_CASE(slabs_go_from_small_blocks_to_large_ones) {
  sim::Daemon daemon(
      {.host_bytes = Bytes{128 << 20}, .flags = {}, .environment = {}, .program = {}});
  const auto client = daemon.shm(std::chrono::seconds(10));
  const NamespaceSpec spec = sim::chain_spec("sizes");
  const NamespaceId ns = *client->open_namespace(spec);
  for (std::uint64_t n = 0; n < 3; ++n) {
    sim::Batch small(spec, 100 + n, 1000, 64 << 10);
    sim::check_all(client->put(ns, small.keys, small.sources, {}), 1000, KeyStatus::kOk);
  }
  sim::Batch large(spec, 200, 12, 4 << 20);
  sim::check_all(client->put(ns, large.keys, large.sources, {}), 12, KeyStatus::kOk);
  sim::check_all(client->get(ns, large.keys, large.targets, {}), 12, KeyStatus::kOk);
  BOOST_TEST(large.got_all());
  BOOST_TEST(daemon.stat("used_bytes") <= 128 << 20);
}

BOOST_AUTO_TEST_CASE(capacity_is_exact_to_the_slot) {
  sim::Daemon daemon(
      {.host_bytes = Bytes{1000 * 65'536}, .flags = {}, .environment = {}, .program = {}});
  const auto client = daemon.shm();
  NamespaceSpec spec = sim::chain_spec("exact");
  spec.groups[0].block_bytes = Bytes{65'536};  // else a size class, which is larger
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch batch(spec, 1, 1000, 65'536);
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 1000, KeyStatus::kOk);
  BOOST_TEST(daemon.stat("blocks") == 1000);
  BOOST_TEST(daemon.stat("evictions") == 0);
  sim::Batch more(spec, 2, 10, 65'536);
  sim::check_all(client->put(ns, more.keys, more.sources, {}), 10, KeyStatus::kOk);
  BOOST_TEST(daemon.stat("blocks") == 1000);
}

BOOST_AUTO_TEST_CASE(puts_of_no_request_leave_in_the_order_they_came) {
  sim::Daemon daemon({.host_bytes = Bytes{64 * 65'536},
                      .shards = 1,
                      .flags = {},
                      .environment = {},
                      .program = {}});
  const auto client = daemon.shm();
  NamespaceSpec spec = sim::chain_spec("order");
  spec.groups[0].block_bytes = Bytes{65'536};
  const NamespaceId ns = *client->open_namespace(spec);
  for (std::uint64_t n = 1; n <= 10; ++n) {
    sim::Batch batch(spec, n, 16, 65'536);
    sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 16, KeyStatus::kOk);
  }
  for (std::uint64_t n = 7; n <= 10; ++n) {
    sim::Batch batch(spec, n, 16, 65'536);
    sim::check_all(client->get(ns, batch.keys, batch.targets, {}), 16, KeyStatus::kOk);
  }
}

BOOST_AUTO_TEST_CASE(a_store_full_of_pins_answers_no_space) {
  sim::Daemon daemon({.host_bytes = Bytes{100 * 65'536},
                      .flags = {"--pin-quota-percent", "100"},
                      .environment = {},
                      .program = {}});
  const auto client = daemon.shm(std::chrono::seconds(15));
  NamespaceSpec spec = sim::chain_spec("pins");
  spec.groups[0].block_bytes = Bytes{65'536};
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch batch(spec, 1, 100, 65'536);
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 100, KeyStatus::kOk);
  sim::check_all(client->pin(ns, batch.keys, std::chrono::minutes(1)), 100, KeyStatus::kOk);
  sim::Batch more(spec, 2, 4, 65'536);
  const Completion full = client->put(ns, more.keys, more.sources, {});
  BOOST_REQUIRE(full.keys.size() == 4U);
  BOOST_TEST(std::count(full.keys.begin(), full.keys.end(), KeyStatus::kNoSpace) >= 3);
  sim::check_all(client->unpin(ns, batch.keys), 100, KeyStatus::kOk);
  const Completion now = client->put(ns, more.keys, more.sources, {});
  BOOST_TEST(std::none_of(now.keys.begin(), now.keys.end(),
                          [](KeyStatus s) { return s == KeyStatus::kNoSpace; }));
}

BOOST_AUTO_TEST_CASE(remove_prefix_takes_every_branch_behind_it) {
  sim::Daemon daemon;
  const auto client = daemon.shm();
  const NamespaceSpec spec = sim::chain_spec("prefix");
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch trunk(spec, 1, 32, 4096);
  sim::check_all(client->put(ns, trunk.keys, trunk.sources, {}), 32, KeyStatus::kOk);
  // A branch that leaves behind unit 20, one that leaves at unit 5, and an unrelated prompt.
  std::vector<std::vector<BlockHash>> branches;
  for (const std::uint32_t at : {20U, 5U}) {
    std::vector<BlockHash> chain(trunk.chain.begin(), trunk.chain.begin() + at);
    for (const BlockHash& hash : sim::chain_of(at, 10))
      chain.push_back(hash);
    auto keys = chain_keys(spec, chain, GroupId(0), Rank(0), static_cast<std::uint32_t>(at), 10);
    for (Key& key : keys)
      key.length = 4096;
    sim::check_all(client->put(ns, keys, std::vector<ConstBuffer>(10, trunk.sources[0]), {}), 10,
                   KeyStatus::kOk);
    branches.push_back(std::move(chain));
  }
  sim::Batch other(spec, 2, 8, 4096);
  sim::check_all(client->put(ns, other.keys, other.sources, {}), 8, KeyStatus::kOk);

  const auto removed =
      client->remove_prefix(ns, std::span(trunk.chain).first(11));  // units 0 to 10
  BOOST_REQUIRE(removed.ok());

  BOOST_TEST(*removed == 22U + 10U);  // units 10 to 31 of the trunk, and the branch behind 20
  const std::span<const BlockHash> chains[] = {trunk.chain, branches[0], branches[1], other.chain};
  const auto found = client->match(ns, chains, {});
  BOOST_REQUIRE(found.ok());
  BOOST_TEST((*found)[0].usable_units == 10U);
  BOOST_TEST((*found)[1].usable_units == 10U);
  BOOST_TEST((*found)[2].usable_units == 15U);
  BOOST_TEST((*found)[3].usable_units == 8U);
}

BOOST_AUTO_TEST_CASE(a_claim_makes_others_wait_until_the_block_is_there) {
  sim::Daemon daemon;
  const auto first = daemon.shm();
  const auto second = daemon.tcp_client();
  const NamespaceSpec spec = sim::chain_spec("claims");
  const NamespaceId ns = *first->open_namespace(spec);
  BOOST_REQUIRE(second->open_namespace(spec).ok());
  sim::Batch batch(spec, 1, 4, 4096);
  const std::span<const BlockHash> chains[] = {batch.chain};
  MatchOptions claim;
  claim.claim = true;

  const auto mine = first->match(ns, chains, claim);
  const auto theirs = second->match(ns, chains, claim);
  BOOST_REQUIRE((mine.ok() && theirs.ok()));
  BOOST_TEST((*mine)[0].claimed == 4U);
  BOOST_TEST((*theirs)[0].claimed == 0U);
  BOOST_TEST((*second->match(ns, chains, {}))[0].pending_tokens == 64U);

  const Completion early = second->wait(ns, batch.keys, std::chrono::milliseconds(50));
  BOOST_REQUIRE(early.keys.size() == 4U);
  BOOST_TEST((early.keys[0] == KeyStatus::kPending));
  sim::check_all(first->put(ns, batch.keys, batch.sources, {}), 4, KeyStatus::kOk);
  sim::check_all(second->wait(ns, batch.keys, std::chrono::seconds(2)), 4, KeyStatus::kOk);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::reclaim_test
