// What holds for every policy a shard can run.

#include <map>
#include <random>
#include <set>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "policies/make_policy.h"
#include "store/limits.h"

namespace larder::policies_test {
namespace {

using Names = std::vector<std::string>;

std::unique_ptr<EvictionPolicy> made(const std::string& name) {
  return *make_policy(name);
}

/// What a store knows of its blocks, with no thought for cost.
class Model {
 public:
  struct Block {
    std::optional<std::uint32_t> parent{};
    std::uint32_t children = 0;
  };

  bool contains(std::uint32_t id) const { return blocks_.contains(id); }
  bool leaf(std::uint32_t id) const { return blocks_.at(id).children == 0; }
  std::size_t size() const { return blocks_.size(); }
  void insert(std::uint32_t id, std::optional<std::uint32_t> parent) {
    blocks_[id] = {.parent = parent};
    if (parent) blocks_.at(*parent).children += 1;
  }
  void erase(std::uint32_t id) {
    const auto parent = blocks_.at(id).parent;
    if (parent) blocks_.at(*parent).children -= 1;
    blocks_.erase(id);
  }
  std::optional<std::uint32_t> any_unpinned_leaf(const std::set<std::uint32_t>& pinned) const {
    for (const auto& [id, block] : blocks_) {
      if (block.children == 0 && !pinned.contains(id)) return id;
    }
    return std::nullopt;
  }
  const std::map<std::uint32_t, Block>& blocks() const { return blocks_; }

 private:
  std::map<std::uint32_t, Block> blocks_;
};

/// A policy and the model beside it, driven by requests from a seed.
class Game {
 public:
  Game(const std::string& name, unsigned seed) : policy_(made(name)), rng_(seed) {}

  void request() {
    sequence_ += 1;
    time_ += std::chrono::milliseconds(rng_() % 4'000);
    if (rng_() % 50 == 0) time_ -= std::chrono::seconds(100);
    const std::vector<std::uint32_t> chain = draw_chain();
    const RequestContext context{.request = RequestId(sequence_),
                                 .now = time_,
                                 .prompt_blocks = static_cast<std::uint32_t>(chain.size()),
                                 .known_blocks = static_cast<std::uint32_t>(rng_() % chain.size()),
                                 .continuing = rng_() % 2 == 0,
                                 .last_gap = std::chrono::seconds(rng_() % 500),
                                 .hint_positions = static_cast<std::uint32_t>(rng_() % 8),
                                 .has_hint = rng_() % 2 == 0};
    policy_->on_request(context);
    const std::set<std::uint32_t> pinned(chain.begin(), chain.end());
    insert(chain, context, pinned);
    policy_->on_request_end(context, static_cast<std::uint32_t>(rng_() % 900));
    std::uint64_t from_suffix = 0;
    for (auto id = chain.rbegin(); id != chain.rend(); ++id) {
      policy_->on_hit(PolicyId(*id), Stamp(sequence_ << kStampPositionBits | from_suffix++),
                      &context);
    }
  }
  /// Evicts until nothing is left.
  void drain() {
    while (model_.size() > 0)
      evict({});
    BOOST_TEST(!policy_->victim(time_, [](PolicyId) { return false; }).has_value());
  }
  /// Removes a block that may have children, as a client may.
  void remove_any() {
    if (model_.size() == 0) return;
    auto at = model_.blocks().begin();
    std::advance(at, rng_() % model_.size());
    if (at->second.children != 0) return;
    policy_->on_erase(PolicyId(at->first), EraseCause::kRemoved);
    model_.erase(at->first);
  }

 private:
  /// A path in a tree of 400 blocks: the parent of n is n / 3.
  std::vector<std::uint32_t> draw_chain() {
    std::vector<std::uint32_t> chain;
    for (std::uint32_t id = 1 + static_cast<std::uint32_t>(rng_() % 400); id > 0; id /= 3)
      chain.insert(chain.begin(), id);
    return chain;
  }

  void insert(const std::vector<std::uint32_t>& chain, const RequestContext& context,
              const std::set<std::uint32_t>& pinned) {
    std::optional<std::uint32_t> parent;
    for (std::uint32_t position = 0; position < chain.size(); ++position) {
      const std::uint32_t id = chain[position];
      if (!model_.contains(id)) {
        PolicyInsert in{.id = PolicyId(id),
                        .parent = {},
                        .size = {1 + rng_() % 3'000},
                        .stamp = Stamp((sequence_ - 1) << kStampPositionBits | (4'000 - position)),
                        .position = position,
                        .uses = uses_[id]};
        if (parent) in.parent = PolicyId(*parent);
        if (model_.size() >= kCapacity && !evict(pinned)) return;
        if (!policy_->admit(in, &context, rng_() % 8 == 0 ? 1e9 : EvictionPolicy::kRoom)) return;
        policy_->on_insert(in, &context);
        model_.insert(id, parent);
      }
      uses_[id] = std::min(uses_[id] + 1, 255U);
      parent = id;
    }
  }

  bool evict(const std::set<std::uint32_t>& pinned) {
    const auto skip = [&](PolicyId id) { return pinned.contains(id.value()); };
    auto victim = policy_->victim(time_, skip);
    for (int looks = 0; looks < 3 && !victim; ++looks)  // where a search had reached its end
      victim = policy_->victim(time_, skip);
    BOOST_REQUIRE(victim.has_value() == model_.any_unpinned_leaf(pinned).has_value());
    if (!victim) return false;
    const std::uint32_t id = victim->id.value();
    BOOST_REQUIRE(model_.contains(id));
    BOOST_REQUIRE(model_.leaf(id));
    BOOST_REQUIRE(!pinned.contains(id));
    policy_->on_erase(victim->id, EraseCause::kEvicted);
    model_.erase(id);
    return true;
  }

  static constexpr std::size_t kCapacity = 60;
  std::unique_ptr<EvictionPolicy> policy_;
  std::mt19937 rng_;
  Model model_;
  std::map<std::uint32_t, std::uint32_t> uses_;
  std::uint64_t sequence_ = 1;
  Time time_{std::chrono::seconds(1'000)};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(policies)

BOOST_AUTO_TEST_CASE(an_unknown_name_is_refused_with_all_names) {
  const auto policy = make_policy("mru");
  BOOST_REQUIRE(!policy.ok());
  BOOST_TEST(std::string(policy.status().message()) ==
             "policy is mru, must be one of haz, lru, s3fifo, sieve, lfu, fifo, watermark");
}

BOOST_DATA_TEST_CASE(victims_are_unpinned_leaves_whatever_happens,
                     boost::unit_test::data::make(policy_names()) *
                         boost::unit_test::data::xrange(8),
                     name, seed) {
  Game game(name, static_cast<unsigned>(seed));
  for (int step = 0; step < 400; ++step) {
    game.request();
    if (step % 7 == 0) game.remove_any();
  }
  game.drain();
}

BOOST_DATA_TEST_CASE(what_is_not_tracked_is_ignored, boost::unit_test::data::make(policy_names()),
                     name) {
  const auto policy = made(name);
  policy->on_hit(PolicyId(5), Stamp(1), nullptr);
  policy->on_erase(PolicyId(100'000), EraseCause::kRemoved);
  BOOST_TEST(!policy->victim(Time{}, [](PolicyId) { return false; }).has_value());
}

/// Once skipped is not for ever: pins end.
BOOST_DATA_TEST_CASE(many_pinned_blocks_are_crossed_and_found_again,
                     boost::unit_test::data::make(policy_names()), name) {
  constexpr std::uint32_t kPinned = 5 * limits::kVictimScanMax / 2;
  const auto policy = made(name);
  for (std::uint32_t id = 0; id <= kPinned; ++id) {
    policy->on_insert({.id = PolicyId(id), .parent = {}, .size = {1}, .stamp = Stamp(id + 1)},
                      nullptr);
  }
  const auto pinned = [&](PolicyId id) { return id.value() < kPinned; };
  std::optional<Victim> victim = policy->victim(Time{}, pinned);
  for (int calls = 0; calls < 10 && !victim && policy->has_more(); ++calls)
    victim = policy->victim(Time{}, pinned);
  BOOST_REQUIRE(victim.has_value());
  BOOST_TEST((victim->id == PolicyId(kPinned)));

  policy->on_request_end({}, 1);
  std::set<std::uint32_t> seen;
  for (int n = 0; n < 600; ++n) {
    const auto free = policy->victim(Time{}, [](PolicyId) { return false; });
    if (!free) continue;
    seen.insert(free->id.value());
    policy->on_erase(free->id, EraseCause::kEvicted);
  }
  BOOST_TEST(seen.contains(0));
}

/// Of two blocks that differ in size alone the larger one leaves, where values are known.
BOOST_DATA_TEST_CASE(a_larger_block_is_worth_less_a_byte,
                     boost::unit_test::data::make(Names{"haz", "lfu"}), name) {
  const auto policy = made(name);
  const RequestContext context{.request = RequestId(1), .now = Time{}, .prompt_blocks = 1};
  policy->on_request(context);
  policy->on_insert({.id = PolicyId(1), .parent = {}, .size = {4096}, .stamp = Stamp(1)}, &context);
  const RequestContext longer{.request = RequestId(2), .now = Time{}, .prompt_blocks = 50};
  policy->on_insert({.id = PolicyId(2), .parent = {}, .size = {65536}, .stamp = Stamp(2)}, &longer);

  const auto victim = policy->victim(Time{}, [](PolicyId) { return false; });

  BOOST_TEST((victim->id == PolicyId(2)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::policies_test
