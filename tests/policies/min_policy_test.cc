#include "policies/min_policy.h"

#include <boost/test/unit_test.hpp>

namespace larder::min_policy_test {
namespace {

PolicyInsert insert_of(std::uint32_t id) {
  return {.id = PolicyId(id), .parent = {}, .size = {1}, .stamp = Stamp(1)};
}

std::vector<std::uint32_t> drain(MinPolicy& policy) {
  std::vector<std::uint32_t> order;
  while (const auto victim = policy.victim(Time{}, [](PolicyId) { return false; })) {
    order.push_back(victim->id.value());
    policy.on_erase(victim->id, EraseCause::kEvicted);
  }
  return order;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(min_policy)

BOOST_AUTO_TEST_CASE(who_is_used_again_last_leaves_first_and_of_one_request_the_deepest) {
  MinPolicy policy;
  for (std::uint32_t id = 0; id < 5; ++id)
    policy.on_insert(insert_of(id), nullptr);
  policy.set_next_use(PolicyId(0), 7, 0);
  policy.set_next_use(PolicyId(1), 7, 1);
  policy.set_next_use(PolicyId(2), MinPolicy::kNever, 2);
  policy.set_next_use(PolicyId(3), 3, 0);
  policy.set_next_use(PolicyId(4), 9, 5);

  BOOST_TEST(drain(policy) == (std::vector<std::uint32_t>{2, 4, 1, 0, 3}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_next_use_may_be_told_before_the_insert) {
  MinPolicy policy;
  policy.set_next_use(PolicyId(9), 2, 0);
  policy.on_insert(insert_of(9), nullptr);
  policy.on_insert(insert_of(1), nullptr);
  policy.set_next_use(PolicyId(1), 1, 0);
  BOOST_TEST(drain(policy) == (std::vector<std::uint32_t>{9, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::min_policy_test
