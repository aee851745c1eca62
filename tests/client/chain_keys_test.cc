#include <cstdlib>

#include <boost/test/unit_test.hpp>

#include "client/client.h"
#include "store/chain.h"
#include "tests/client/conformance.h"

namespace larder::chain_keys_test {
namespace {

NamespaceSpec two_unit_blocks() {
  NamespaceSpec spec;
  spec.fingerprint.model = "m";
  spec.unit_tokens = 16;
  spec.segment_tokens = 64;
  spec.groups.push_back(
      {.kind = GroupKind::kFull, .block_tokens = 32, .window_tokens = 0, .block_bytes = {8192}});
  return spec;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chain_key)

BOOST_AUTO_TEST_CASE(a_block_is_named_by_its_last_unit_and_knows_its_parent) {
  const NamespaceSpec spec = two_unit_blocks();
  const std::vector<BlockHash> chain = sim::chain_of(1, 9);

  const std::vector<Key> keys = chain_keys(spec, chain, GroupId(0), Rank(2), 0, 100);

  BOOST_REQUIRE(keys.size() == 4);  // the ninth unit is half a block
  for (std::uint32_t n = 0; n < 4; ++n) {
    BOOST_TEST(keys[n].hash == chain[2 * n + 1]);
    BOOST_TEST(keys[n].parent == (n == 0 ? BlockHash{} : chain[2 * n - 1]));
    BOOST_TEST(keys[n].anchor == anchor_of(chain, 2 * n + 1, spec.segment_units()));
    BOOST_TEST(keys[n].position == 2 * n + 1);
    BOOST_TEST(keys[n].length == 8192U);
    BOOST_TEST(keys[n].rank == 2);
    BOOST_TEST(keys[n].flags == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_part_of_the_chain_has_the_same_keys_as_the_whole) {
  const NamespaceSpec spec = two_unit_blocks();
  const std::vector<BlockHash> chain = sim::chain_of(2, 20);
  const std::vector<Key> whole = chain_keys(spec, chain, GroupId(0), Rank(0), 0, 10);

  const std::vector<Key> part = chain_keys(spec, chain, GroupId(0), Rank(0), 3, 2);

  BOOST_REQUIRE(part.size() == 2);
  BOOST_TEST(part[0].hash == whole[3].hash);
  BOOST_TEST(part[0].parent == whole[2].hash);
  BOOST_TEST(part[1].anchor == whole[4].anchor);
  BOOST_TEST(chain_keys(spec, chain, GroupId(0), Rank(0), 10, 5).empty());
}

BOOST_AUTO_TEST_CASE(a_flat_key_is_its_own_anchor) {
  const Key key = flat_key("some/name@7", 100);

  BOOST_TEST(key.hash == flat_hash("some/name@7"));
  BOOST_TEST(key.anchor == key.hash);
  BOOST_TEST(key.flags == wire::kKeyFlat);
  BOOST_TEST(key.length == 100U);
}

BOOST_AUTO_TEST_CASE(the_default_server_stands_in_the_runtime_directory) {
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  BOOST_TEST(default_server() == "/run/user/7/larder/larderd.sock");

  unsetenv("XDG_RUNTIME_DIR");
  BOOST_TEST(default_server().ends_with("larderd.sock"));
  BOOST_TEST(default_server().front() == '/');
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::chain_keys_test
