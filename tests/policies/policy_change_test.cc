// Another policy under a shard that has blocks: what it is told, and that nothing is lost.

#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "policies/make_policy.h"
#include "tests/store/store_fixture.h"

namespace larder::test::policy_change_test {
namespace {

constexpr Bytes kSlot{4096};
constexpr Bytes kCapacity = kSlot * 4'096;
constexpr std::uint32_t kStep = 7;

Time at(int seconds) {
  return kNow + std::chrono::seconds(seconds);
}

/// A prompt of the blocks `first` .. `first + count`, served at a time.
void serve(Node& node, std::uint64_t first, std::uint32_t count, int seconds) {
  Shard& shard = *node.shards[0];
  const RequestContext context{
      .request = RequestId(1), .now = at(seconds), .prompt_blocks = count, .tenant = kTenant};
  shard.on_request(context);
  for (std::uint32_t n = 0; n < count; ++n) {
    ReserveItem item = node.item(key_of(first + n), kSlot);
    if (n > 0) item.parent = key_of(first + n - 1).hash;
    item.position = n;
    for (int attempt = 0; attempt < 2; ++attempt) {
      shard.reserve({&item, 1}, context.request, context.now);
      if (item.outcome != ReserveOutcome::kNoSlot || !node.provide(item, 0)) break;
    }
    if (item.outcome == ReserveOutcome::kReserved) node.fill(item);
  }
  const std::uint64_t sequence = node.store.sequence.fetch_add(1);
  std::vector<TouchItem> touches;
  for (std::uint32_t n = count; n-- > 0;)
    touches.push_back({key_of(first + n), Stamp(sequence << kStampPositionBits | (count - 1 - n))});
  shard.on_request_end(context.request, 0, touches);
}

void change(Node& node, const PolicyFactory& to, int seconds) {
  const std::uint64_t first = node.store.sequence.fetch_add(PolicyChange::kAgesKept);
  const auto old = node.shards[0]->change_policy(
      {.make_policy = to, .sequence = first + PolicyChange::kAgesKept - 1, .now = at(seconds)});
  BOOST_TEST(old.size() == 1U);
  while (node.shards[0]->rebuild_some(kStep)) {
  }
}

/// The order in which blocks leave, by the number of their keys.
std::vector<std::uint64_t> leaving(Node& node, std::uint64_t keys) {
  std::vector<std::uint64_t> order;
  const Bytes capacity = node.store.budget.ledger.capacity();
  while (order.size() < keys) {
    node.store.set_capacity(node.store.budget.ledger.used() - kSlot);
    node.shards[0]->evict_over(kNow);
    const std::size_t before = order.size();
    for (std::uint64_t n = 0; n < keys; ++n) {
      if (!node.has(key_of(n)) && std::find(order.begin(), order.end(), n) == order.end()) {
        order.push_back(n);
      }
    }
    if (order.size() == before) break;
  }
  node.store.set_capacity(capacity);
  return order;
}

PolicyFactory named(const std::string& name) {
  return [name](TenantId) { return *make_policy(name); };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(policy_change)

BOOST_AUTO_TEST_CASE(lru_after_another_policy_has_the_order_of_last_uses) {
  Node node(kCapacity);
  serve(node, 0, 3, 10);
  serve(node, 3, 3, 20);
  serve(node, 0, 3, 30);  // comes again
  serve(node, 6, 2, 40);

  change(node, named("fifo"), 50);
  change(node, named("lru"), 60);
  serve(node, 8, 2, 70);

  const std::vector<std::uint64_t> oldest_suffix_first = {5, 4, 3, 2, 1, 0, 7, 6, 9, 8};
  BOOST_TEST(leaving(node, 10) == oldest_suffix_first);
}

BOOST_AUTO_TEST_CASE(every_policy_takes_over_and_only_leaves_leave) {
  for (const std::string& name : policy_names()) {
    Node node(kCapacity);
    for (int n = 0; n < 20; ++n)
      serve(node, static_cast<std::uint64_t>(3 * n), 3, 10 * n);

    change(node, named(name), 500);

    for (std::uint64_t n = 0; n < 60; ++n)
      BOOST_REQUIRE(node.has(key_of(n)));
    const std::vector<std::uint64_t> order = leaving(node, 60);
    BOOST_TEST(order.size() == 60U, name);
    BOOST_TEST(order.front() == 2U, name << ": the oldest suffix first");
    for (std::uint64_t n = 0; n + 1 < 60; ++n) {
      if (n % 3 == 2) continue;
      BOOST_TEST(
          (std::find(order.begin(), order.end(), n) > std::find(order.begin(), order.end(), n + 1)),
          name << " block " << n);
    }
  }
}

BOOST_AUTO_TEST_CASE(claims_ghosts_requests_and_what_is_under_way_stay) {
  Node node(kCapacity);
  Shard& shard = *node.shards[0];
  serve(node, 0, 2, 10);
  shard.erase(key_of(1), EraseCause::kRemoved);
  BOOST_TEST((shard.claim(key_of(5), SessionId(1), at(1'000)) == ClaimOutcome::kClaimed));
  const ReserveItem filling = node.reserve(node.item(key_of(6), kSlot));
  shard.on_request({.request = RequestId(9), .now = at(20), .priority = 2, .tenant = kTenant});

  change(
      node, [&](TenantId) { return std::make_unique<TestPolicy>(); }, 30);

  BOOST_TEST(shard.claims() == 1U);
  BOOST_TEST(shard.drop_claims(SessionId(1), 10));
  node.fill(filling);
  BOOST_TEST(node.has(key_of(6)));
  ReserveItem refused = node.item(key_of(7), kSlot);
  shard.reserve({&refused, 1}, RequestId(9), at(40));
  BOOST_TEST((refused.outcome == ReserveOutcome::kRefused));
}

BOOST_AUTO_TEST_CASE(what_is_told_is_the_age_and_the_uses) {
  Node node(kCapacity);
  serve(node, 0, 1, 10);
  serve(node, 0, 1, 25);
  std::vector<TestPolicy*> made;

  change(
      node,
      [&](TenantId) {
        made.push_back(new TestPolicy);
        return std::unique_ptr<EvictionPolicy>(made.back());
      },
      100);

  BOOST_REQUIRE(made.size() == 1U);
  const PolicyInsert& told = made[0]->inserted.begin()->second;
  BOOST_TEST(told.resident);
  BOOST_TEST(told.uses == 2U);
  BOOST_TEST((told.idle == std::chrono::seconds(75)));
  BOOST_TEST((told.size == kSlot));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::test::policy_change_test
