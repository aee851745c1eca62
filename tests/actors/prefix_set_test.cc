#include <algorithm>
#include <random>
#include <set>

#include <boost/test/unit_test.hpp>

#include "actors/removal_set.h"

namespace larder::prefix_set_test {

namespace {

BlockHash hash(std::uint64_t n) {
  return {n, n * 7 + 1};
}

NamespaceRef two_groups() {
  auto ns = std::make_shared<NamespaceInfo>();
  ns->spec.unit_tokens = 16;
  ns->spec.groups.push_back({GroupKind::kFull, 16, 0, {}});
  ns->spec.groups.push_back({GroupKind::kFull, 64, 0, {}});
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

bool by_hash(const ScanCall::Row& a, const ScanCall::Row& b) {
  return a.key.hash < b.key.hash;
}

std::set<std::uint64_t> chosen_of(PrefixSet& set, const std::vector<ScanCall::Row>& rows) {
  for (const ScanCall::Row& row : rows)
    set.offer(row, ShardId(0));
  while (!set.expand(3)) {
  }
  std::set<std::uint64_t> chosen;
  for (const LocatedKey& at : set.take(1'000))
    chosen.insert(at.key.hash.high);
  return chosen;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(prefix_set)

BOOST_AUTO_TEST_CASE(descendants_are_found_in_any_order) {
  const NamespaceRef ns = two_groups();
  // 2 to 5 are a chain behind 1; 9 is a sibling of 2.
  std::vector<ScanCall::Row> rows = {row(1, 0, 0, 0), row(2, 1, 1, 0), row(3, 2, 2, 0),
                                     row(4, 3, 3, 0), row(5, 4, 4, 0), row(9, 1, 1, 0)};
  std::sort(rows.begin(), rows.end(), by_hash);
  do {
    PrefixSet set(ns, {hash(1), hash(2)});
    BOOST_TEST((chosen_of(set, rows) == std::set<std::uint64_t>{2, 3, 4, 5}));
  } while (std::next_permutation(rows.begin(), rows.end(), by_hash));
}

BOOST_AUTO_TEST_CASE(what_stands_behind_a_gap_goes_too) {
  const NamespaceRef ns = two_groups();
  // 1 (gone), 2, 3, gap at 4, 5, 6; 9 and 10 are another branch behind 1; 20 to 22 another chain,
  // 32 and 33 the rest of one: nobody knows of which.
  std::vector<ScanCall::Row> rows = {row(2, 1, 1, 0),   row(3, 2, 2, 0),   row(5, 4, 4, 0),
                                     row(6, 5, 5, 0),   row(9, 1, 1, 0),   row(10, 9, 2, 0),
                                     row(20, 0, 0, 0),  row(21, 20, 1, 0), row(22, 21, 2, 0),
                                     row(32, 31, 2, 0), row(33, 32, 3, 0)};
  for (int turn = 0; turn < 50; ++turn) {
    std::shuffle(rows.begin(), rows.end(), std::mt19937(static_cast<unsigned>(turn)));
    PrefixSet set(ns, {hash(1), hash(2)});
    BOOST_TEST((chosen_of(set, rows) == std::set<std::uint64_t>{2, 3}));
    BOOST_TEST(set.unsure());
    set.next_round();
    BOOST_TEST((chosen_of(set, rows) == std::set<std::uint64_t>{2, 3, 5, 6, 32, 33}));
    BOOST_TEST(!set.unsure());
  }
}

BOOST_AUTO_TEST_CASE(a_parent_that_came_meanwhile_is_no_gap) {
  const NamespaceRef ns = two_groups();
  PrefixSet set(ns, {hash(1), hash(2)});
  BOOST_TEST(chosen_of(set, {row(32, 31, 2, 0)}).empty());
  BOOST_TEST(set.unsure());
  set.next_round();
  BOOST_TEST(chosen_of(set, {row(30, 0, 0, 0), row(31, 30, 1, 0), row(32, 31, 2, 0)}).empty());
  BOOST_TEST(!set.unsure());
}

/// The gap grows from scan to scan: what is behind it goes all the same, and doubt ends.
BOOST_AUTO_TEST_CASE(a_gap_that_moves_is_followed) {
  const NamespaceRef ns = two_groups();
  PrefixSet set(ns, {hash(1), hash(2)});
  std::set<std::uint64_t> chosen;
  int rounds = 0;
  for (std::uint64_t gap = 3; rounds == 0 || set.unsure(); ++gap, ++rounds) {
    BOOST_REQUIRE(rounds < 10);
    if (rounds > 0) set.next_round();
    std::vector<ScanCall::Row> rows;
    for (std::uint64_t n = gap + 1; n <= 12; ++n)
      rows.push_back(row(n, n - 1, static_cast<std::uint32_t>(n - 1), 0));
    chosen = chosen_of(set, rows);
  }
  BOOST_TEST(chosen.contains(12U));
}

/// Of a window's blocks only the last ones are there; the full group's say what they descend from.
BOOST_AUTO_TEST_CASE(a_block_whose_parent_another_group_has_is_no_orphan) {
  const NamespaceRef ns = two_groups();
  PrefixSet set(ns, {hash(1), hash(2)});
  BOOST_TEST((chosen_of(set, {row(20, 0, 0, 0), row(21, 20, 1, 0), row(22, 21, 2, 0),
                              row(22, 21, 2, 1)}) == std::set<std::uint64_t>{}));
}

BOOST_AUTO_TEST_CASE(a_block_put_between_two_scans_is_found_by_its_parents_name) {
  const NamespaceRef ns = two_groups();
  PrefixSet set(ns, {hash(1), hash(2)});
  chosen_of(set, {row(2, 1, 1, 0), row(3, 2, 2, 0)});

  set.next_round();

  BOOST_TEST((chosen_of(set, {row(4, 3, 3, 0), row(9, 1, 1, 0)}) == std::set<std::uint64_t>{4}));
}

BOOST_AUTO_TEST_CASE(a_wide_and_deep_tree_is_followed_in_short_steps) {
  const NamespaceRef ns = two_groups();
  PrefixSet set(ns, {hash(1)});
  std::size_t blocks = 0;
  for (std::uint64_t depth = 0; depth < 1'000; ++depth) {  // children of 1, 2, …: five each
    for (std::uint64_t n = 0; n < 5; ++n) {
      const std::uint64_t own = n == 0 ? depth + 2 : 10'000 * n + depth;
      set.offer(row(own, depth + 1, static_cast<std::uint32_t>(depth + 1), 0), ShardId(0));
      blocks += 1;
    }
  }
  std::size_t steps = 0;
  while (!set.expand(100))
    steps += 1;

  BOOST_TEST(steps > 10U);
  BOOST_TEST(steps < 2 * blocks / 100 + 2);
  std::size_t taken = 0;
  for (auto keys = set.take(64); !keys.empty(); keys = set.take(64)) {
    BOOST_TEST(keys.size() <= 64U);
    taken += keys.size();
  }
  BOOST_TEST(taken == blocks);
}

BOOST_AUTO_TEST_CASE(a_longer_block_that_straddles_the_end_goes_too) {
  const NamespaceRef ns = two_groups();
  PrefixSet set(ns, {hash(1), hash(2)});
  // Units 0 to 3 in one block of group 1: it holds the prefix's last unit.
  BOOST_TEST(chosen_of(set, {row(4, 0, 3, 1)}).size() == 1U);
  // Units 4 to 7 with a parent that is not of the prefix: another branch.
  BOOST_TEST(chosen_of(set, {row(9, 1, 1, 0), row(77, 9, 3, 0), row(8, 77, 7, 1)}).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::prefix_set_test
