#include <boost/test/unit_test.hpp>

#include "tests/client/fixture.h"

namespace larder::view_test {
namespace {

struct Viewed : sim::Pair {
  explicit Viewed(sim::FakeServer::Options options = {})
      : sim::Pair(options), ns(*client->open_namespace(spec)), batch(spec, 1, 2, 50'000) {
    const Completion done = client->put(ns, std::span<const Key>(batch.keys).first(1),
                                        std::span<const ConstBuffer>(batch.sources).first(1), {});
    sim::check_all(done, 1, KeyStatus::kOk);
  }
  NamespaceSpec spec = sim::chain_spec("view");
  NamespaceId ns;
  sim::Batch batch;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(view)

BOOST_AUTO_TEST_CASE(a_view_shows_the_block_until_it_is_released) {
  Viewed pair;

  auto views = pair.client->view(pair.ns, pair.batch.keys, {});

  BOOST_REQUIRE(views.ok());
  BOOST_TEST(static_cast<int>((*views)[0].status()) == static_cast<int>(KeyStatus::kOk));
  BOOST_TEST(static_cast<int>((*views)[1].status()) == static_cast<int>(KeyStatus::kMiss));
  const std::span<const std::byte> bytes = (*views)[0].bytes();
  BOOST_TEST(std::equal(bytes.begin(), bytes.end(), pair.batch.blocks[0].begin(),
                        pair.batch.blocks[0].end()));
  BOOST_TEST(pair.server.leases() == 1);
  BOOST_TEST((*views)[0].release());
  BOOST_TEST((*views)[0].bytes().empty());
  BOOST_TEST(!(*views)[0].release());
  BOOST_TEST(sim::eventually([&] { return pair.server.leases() == 0; }));
}

BOOST_AUTO_TEST_CASE(a_view_whose_block_was_replaced_says_so) {
  Viewed pair;
  pair.server.faults.stale = true;

  auto views = pair.client->view(pair.ns, std::span<const Key>(pair.batch.keys).first(1), {});

  BOOST_REQUIRE(views.ok());
  BOOST_TEST(!(*views)[0].release());
}

BOOST_AUTO_TEST_CASE(a_view_held_is_renewed) {
  Viewed pair(sim::FakeServer::Options{.lease_ms = 60});

  auto views = pair.client->view(pair.ns, std::span<const Key>(pair.batch.keys).first(1), {});

  BOOST_REQUIRE(views.ok());
  BOOST_TEST(sim::eventually([&] { return pair.server.seen(FrameType::kRenew) >= 3; }));
}

BOOST_AUTO_TEST_CASE(a_view_outlives_its_connection_and_its_client) {
  Viewed pair;
  auto views = pair.client->view(pair.ns, std::span<const Key>(pair.batch.keys).first(1), {});
  BOOST_REQUIRE(views.ok());

  pair.server.stop();
  pair.client.reset();

  BOOST_TEST(((*views)[0].bytes()[0] == pair.batch.blocks[0][0]));
  BOOST_TEST((*views)[0].release());
}

BOOST_AUTO_TEST_CASE(views_need_shared_memory) {
  sim::Pair pair(sim::Path::kTcp);
  const NamespaceSpec spec = sim::chain_spec("view");
  const NamespaceId ns = *pair.client->open_namespace(spec);
  const sim::Batch batch(spec, 1, 1, 1000);

  BOOST_TEST(absl::IsFailedPrecondition(pair.client->view(ns, batch.keys, {}).status()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::view_test
