#include "store/usable_tokens.h"

#include <random>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace larder::usable_tokens_test {
namespace {

NamespaceSpec spec_of(std::vector<GroupSpec> groups) {
  NamespaceSpec spec;
  spec.fingerprint.model = "m";
  spec.unit_tokens = 16;
  spec.groups = std::move(groups);
  return spec;
}

bool usable_group(const GroupSpec& group, const GroupPresence& presence, std::uint32_t boundary) {
  if (boundary % group.block_tokens != 0) return false;
  for (std::uint32_t token = 0; token < boundary; ++token) {
    const std::uint32_t block = token / group.block_tokens;
    const bool present = block < presence.size() && presence[block] != 0;
    const bool needed =
        group.kind == GroupKind::kFull ||
        (group.kind == GroupKind::kWindow && token + group.window_tokens >= boundary) ||
        (group.kind == GroupKind::kState && token + 1 == boundary);
    if (needed && !present) return false;
  }
  return true;
}

/// The definition, token by token, at every boundary there is.
std::uint32_t brute_force(const NamespaceSpec& spec, const std::vector<GroupPresence>& groups,
                          std::uint32_t tokens) {
  std::uint32_t best = 0;
  for (std::uint32_t boundary = 1; boundary <= tokens; ++boundary) {
    bool usable = true;
    for (std::size_t g = 0; g < groups.size() && usable; ++g) {
      usable = usable_group(spec.groups[g], groups[g], boundary);
    }
    if (usable) best = boundary;
  }
  return best;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(usable_tokens_rule)

BOOST_AUTO_TEST_CASE(a_full_group_is_usable_to_its_first_gap) {
  const auto spec = spec_of({{.block_tokens = 16}});
  BOOST_TEST(usable_tokens(spec, std::vector<GroupPresence>{{1, 1, 0, 1}}) == 32U);
  BOOST_TEST(usable_tokens(spec, std::vector<GroupPresence>{{0, 1, 1, 1}}) == 0U);
  BOOST_TEST(usable_tokens(spec, std::vector<GroupPresence>{{}}) == 0U);
  BOOST_TEST(usable_tokens(spec, std::vector<GroupPresence>{{1, 1, 1}}) == 48U);
}

BOOST_AUTO_TEST_CASE(a_window_group_needs_only_the_last_tokens) {
  const auto spec =
      spec_of({{.block_tokens = 16},
               {.kind = GroupKind::kWindow, .block_tokens = 16, .window_tokens = 17}});
  const GroupPresence full{1, 1, 1, 1, 1};

  BOOST_TEST(usable_tokens(spec, std::vector<GroupPresence>{full, {0, 0, 0, 1, 1}}) == 80U);
  BOOST_TEST(usable_tokens(spec, std::vector<GroupPresence>{full, {1, 1, 0, 0, 1}}) == 32U);
  BOOST_TEST(usable_tokens(spec, std::vector<GroupPresence>{full, {1, 0, 1, 0, 1}}) == 16U);
}

BOOST_AUTO_TEST_CASE(a_state_group_needs_the_state_exactly_at_the_boundary) {
  const auto spec =
      spec_of({{.block_tokens = 16}, {.kind = GroupKind::kState, .block_tokens = 32}});
  const GroupPresence full{1, 1, 1, 1, 1, 1};

  BOOST_TEST(usable_tokens(spec, std::vector<GroupPresence>{full, {1, 0, 1}}) == 96U);
  BOOST_TEST(usable_tokens(spec, std::vector<GroupPresence>{full, {1, 0, 0}}) == 32U);
  BOOST_TEST(usable_tokens(spec, std::vector<GroupPresence>{full, {0, 0, 0}}) == 0U);
}

BOOST_AUTO_TEST_CASE(block_sizes_without_a_common_boundary_are_not_usable) {
  const auto spec = spec_of({{.block_tokens = 999'983},
                             {.block_tokens = 1'000'003},
                             {.block_tokens = 999'979},
                             {.block_tokens = 999'961}});
  const std::vector<GroupPresence> groups(4, GroupPresence(100, 1));
  BOOST_TEST(usable_tokens(spec, groups) == 0U);
}

BOOST_DATA_TEST_CASE(agrees_with_the_definition, boost::unit_test::data::xrange(1000), seed) {
  std::mt19937 engine(static_cast<unsigned>(seed));
  const auto rng = [&engine] { return static_cast<std::uint32_t>(engine()); };
  const std::uint32_t unit = 1U << rng() % 3;
  const std::uint32_t units = rng() % 96;
  std::vector<GroupSpec> table(1 + rng() % 5);
  std::vector<GroupPresence> groups;
  for (GroupSpec& group : table) {
    group.kind = static_cast<GroupKind>(rng() % 3);
    group.block_tokens = unit * (1 + rng() % 4);
    if (group.kind == GroupKind::kWindow) group.window_tokens = 1 + rng() % 40;
    const unsigned gaps = rng() % 30;  // percent
    GroupPresence presence(units * unit / group.block_tokens);
    for (auto& block : presence)
      block = rng() % 100 >= gaps ? 1 : 0;
    groups.push_back(std::move(presence));
  }
  NamespaceSpec spec = spec_of(table);
  spec.unit_tokens = unit;

  BOOST_TEST(usable_tokens(spec, groups) == brute_force(spec, groups, units * unit));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::usable_tokens_test
