#include <boost/test/unit_test.hpp>

#include "actors/session_remove_prefix_op.h"

namespace larder {

namespace {

BlockHash hash(std::uint64_t n) {
  return {n, n * 7 + 1};
}

NamespaceInfo two_groups() {
  NamespaceInfo ns;
  ns.spec.unit_tokens = 16;
  ns.spec.groups.push_back({GroupKind::kFull, 16, 0, {}});
  ns.spec.groups.push_back({GroupKind::kFull, 64, 0, {}});
  return ns;
}

ScanCall::Row row(std::uint64_t own, std::uint64_t parent, std::uint32_t position,
                  std::uint16_t group) {
  ScanCall::Row out;
  out.key.hash = hash(own);
  out.key.group = GroupId(group);
  out.parent = parent == 0 ? BlockHash{} : hash(parent);
  out.position = position;
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(prefix_set)

BOOST_AUTO_TEST_CASE(descendants_are_found_in_any_order) {
  const NamespaceInfo ns = two_groups();
  PrefixSet set(ns, {hash(1), hash(2)});
  const std::vector<ScanCall::Row> rows = {row(5, 4, 4, 0), row(4, 3, 3, 0), row(3, 2, 2, 0),
                                           row(2, 1, 1, 0), row(1, 0, 0, 0), row(9, 1, 1, 0)};
  const auto chosen = set.select(rows);
  BOOST_TEST(chosen.size() == 4U);  // 2, 3, 4, 5; not the root, not the sibling 9
}

BOOST_AUTO_TEST_CASE(a_longer_block_that_straddles_the_end_goes_too) {
  const NamespaceInfo ns = two_groups();
  PrefixSet set(ns, {hash(1), hash(2)});
  // Units 0 to 3 in one block of group 1: it holds the prefix's last unit.
  BOOST_TEST(set.select({row(4, 0, 3, 1)}).size() == 1U);
  // Units 4 to 7 with a parent that is not of the prefix: another branch.
  BOOST_TEST(set.select({row(8, 77, 7, 1)}).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder
