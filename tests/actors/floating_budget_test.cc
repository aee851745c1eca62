// Capacity belongs to the node, a quota to the tenant: shards that share one by the values of their
// victims keep what one shard would keep. Desks, their mailboxes and the slab actor run in one
// thread, in an order drawn from a seed.

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <random>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "actors/inbox.h"
#include "actors/shard_desk.h"
#include "actors/slab_desk.h"
#include "ops/trace_reader.h"
#include "policies/lru_policy.h"
#include "store/chain.h"
#include "tests/sanitized.h"
#include "tests/temp_dir.h"

namespace larder::floating_budget_test {

namespace {

constexpr Time kNow = Time(std::chrono::hours(1));
constexpr TenantId kTenant{1};
constexpr Bytes kSlot{256};

/// What holds `blocks` blocks: the node, or the tenant on a node of four times as many.
enum class Holds : std::uint8_t { kByNode, kByTenant };

class Cluster {
 public:
  Cluster(std::size_t blocks, Holds holds, std::uint32_t shards)
      : rng_(shards), mailboxes_(shards) {
    const Bytes limit = kSlot * blocks;
    store_ = std::make_unique<NodeStore>(
        NodeStore::Options{.runtime_dir = dir_.path(),
                           .capacity = holds == Holds::kByNode ? limit : limit * 4,
                           .shards = shards});
    BOOST_REQUIRE(store_->open([](const std::string&) { return kTenant; }).ok());
    if (holds == Holds::kByTenant) store_->tenants.set_quota(kTenant, limit);
    for (std::uint32_t i = 0; i < shards; ++i)
      desks_.push_back(make_desk(i));
    slab_desk_ = std::make_unique<SlabDesk>(*store_, slab_hooks());
  }
  ~Cluster() {
    mailboxes_.clear();
    desks_.clear();
    store_.reset();
  }

  /// One prompt from match to end; returns its hits.
  std::size_t serve(const TraceRequest& request) {
    std::vector<std::pair<ShardId, EntryId>> pins;
    const std::size_t hits = match(request, pins);
    number_ += 1;
    for (std::uint32_t s = 0; s < desks_.size(); ++s) {
      mailboxes_[s].push_back([this, s, number = number_] {
        desks_[s]->shard().on_request(
            {.request = RequestId(number), .now = kNow, .tenant = kTenant});
      });
    }
    put(request, pins);
    end(request, pins);
    return hits;
  }
  void settle() {
    while (step()) {
    }
  }
  /// Blocks that found no slot.
  std::size_t lost() const { return lost_; }
  std::size_t used_blocks() const { return store_->budget.ledger.used().count / kSlot.count; }

 private:
  std::unique_ptr<ShardDesk> make_desk(std::uint32_t i) {
    ShardDesk::Hooks hooks;
    hooks.need_slots = [this, i](const PoolName& pool, std::uint32_t count) {
      slab_actor_.push_back([this, i, pool, count] { provide(pool, ShardId(i), count); });
    };
    hooks.poke = [this](ShardId other) {
      mailboxes_[other.value()].push_back(
          [this, other] { desks_[other.value()]->evict_over(kNow); });
    };
    return std::make_unique<ShardDesk>(
        std::make_unique<Shard>(ShardId(i), *store_,
                                [](TenantId) { return std::make_unique<LruPolicy>(); }),
        std::move(hooks));
  }
  Index& index(ShardId shard) { return *store_->indexes[shard.value()]; }
  BlockKey key_of(std::uint64_t hash) const {
    return {NamespaceId(1), {hash + 1, (hash + 1) * 0x9e3779b97f4a7c15ULL}, GroupId(0), Rank(0)};
  }
  bool is_here(const BlockKey& key) {
    const EntryId id = index(home(key)).find(key);
    return id != kNoEntry && EntryWord::unpack(index(home(key)).entry(id).word.load()).state ==
                                 EntryState::kCommitted;
  }
  ShardId home(const BlockKey& key) const { return shard_of(key.hash, store_->shards()); }

  std::size_t match(const TraceRequest& request, std::vector<std::pair<ShardId, EntryId>>& pins) {
    std::size_t hits = 0;
    bool gap = false;
    for (const std::uint64_t hash : request.hash_ids) {
      const BlockKey key = key_of(hash);
      const EntryId id = index(home(key)).find(key);
      const bool held = id != kNoEntry && index(home(key)).lease(id, key);
      if (held) pins.emplace_back(home(key), id);
      gap = gap || !held;
      hits += gap ? 0 : 1;
    }
    return hits;
  }

  void put(const TraceRequest& request, std::vector<std::pair<ShardId, EntryId>>& pins) {
    std::vector<std::shared_ptr<ReserveCall>> calls(store_->shards());
    for (std::size_t i = 0; i < request.hash_ids.size(); ++i) {
      const BlockKey key = key_of(request.hash_ids[i]);
      if (is_here(key)) continue;
      auto& call = calls[home(key).value()];
      if (!call) call = std::make_shared<ReserveCall>();
      ReserveItem item;
      item.key = key;
      item.tenant = kTenant;
      item.anchor = key.hash;
      item.position = static_cast<std::uint32_t>(i);
      if (i > 0) item.parent = key_of(request.hash_ids[i - 1]).hash;
      item.length = item.slot_bytes = kSlot;
      call->items.push_back(item);
    }
    for (std::uint32_t s = 0; s < calls.size(); ++s) {
      if (!calls[s]) continue;
      calls[s]->reply_to = &inbox_;
      calls[s]->deadline = kNow + std::chrono::seconds(1);
      mailboxes_[s].push_back([this, s, call = calls[s]] { desks_[s]->reserve(call, kNow); });
    }
    const auto answered = [&] {
      return std::all_of(calls.begin(), calls.end(), [](auto& c) { return !c || c->answered; });
    };
    while (!answered())
      BOOST_REQUIRE(step());
    inbox_.take();
    for (std::uint32_t s = 0; s < calls.size(); ++s) {
      if (!calls[s]) continue;
      for (const ReserveItem& item : calls[s]->items) {
        if (item.outcome != ReserveOutcome::kReserved) {
          lost_ += 1;
          continue;
        }
        store_->slabs.seal(item.slot, 1);
        BOOST_REQUIRE(index(ShardId(s)).commit(item.entry, item.entry_generation));
        BOOST_REQUIRE(index(ShardId(s)).lease(item.entry, item.key).has_value());
        pins.emplace_back(ShardId(s), item.entry);
      }
    }
  }

  void end(const TraceRequest& request, const std::vector<std::pair<ShardId, EntryId>>& pins) {
    const std::uint64_t sequence = store_->sequence.fetch_add(1);
    std::vector<std::vector<TouchItem>> touches(store_->shards());
    std::uint64_t from_suffix = 0;
    for (auto hash = request.hash_ids.rbegin(); hash != request.hash_ids.rend(); ++hash) {
      const BlockKey key = key_of(*hash);
      touches[home(key).value()].push_back(
          {key, Stamp(sequence << kStampPositionBits | from_suffix++)});
    }
    for (std::uint32_t s = 0; s < touches.size(); ++s) {
      auto holds = std::make_shared<NoteHolds>(*store_, ShardId(s), pinned_, own_);
      for (const auto& [shard, entry] : pins)
        if (shard.value() == s) holds->add({.entry = entry, .slot = {}, .length = {}});
      mailboxes_[s].push_back([this, s, number = number_, list = touches[s], holds] {
        desks_[s]->shard().on_request_end(RequestId(number), 0, list);
        desks_[s]->evict_over(kNow);
      });
    }
  }

  /// One message of one mailbox; false when all are empty.
  bool step() {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < mailboxes_.size(); ++i)
      if (!mailboxes_[i].empty()) ready.push_back(i);
    if (!slab_actor_.empty()) ready.push_back(mailboxes_.size());
    if (ready.empty()) return false;
    const std::size_t chosen = ready[rng_() % ready.size()];
    auto& mailbox = chosen == mailboxes_.size() ? slab_actor_ : mailboxes_[chosen];
    auto message = std::move(mailbox.front());
    mailbox.pop_front();
    message();
    return true;
  }
  void drain(std::size_t s) {
    while (!mailboxes_[s].empty()) {
      auto message = std::move(mailboxes_[s].front());
      mailboxes_[s].pop_front();
      message();
    }
  }

  void provide(const PoolName& pool, ShardId asker, std::uint32_t count) {
    const bool found = slab_desk_->provide(pool, count, kNow);
    mailboxes_[asker.value()].push_back(
        [this, asker, pool, found] { desks_[asker.value()]->refilled(pool, found, kNow); });
  }

  /// A shard answers the slab actor behind what is in its mailbox.
  Shard& behind_mailbox(std::size_t shard) {
    drain(shard);
    return desks_[shard]->shard();
  }
  SlabDesk::Hooks slab_hooks() {
    SlabDesk::Hooks hooks;
    hooks.settle = [this] {
      for (std::size_t shard = 0; shard < desks_.size(); ++shard) {
        drain(shard);
        desks_[shard]->evict_over(kNow);
      }
    };
    hooks.evict_pool = [this](ShardId shard, const PoolName& pool, std::uint32_t count) {
      return behind_mailbox(shard.value())
          .evict_from_pool(pool.tenant, pool.slot_bytes, count, kNow);
    };
    hooks.cheapest_slabs = [](const PoolName&) { return std::vector<SlabVictim>(); };
    hooks.evict_slab = [this](SlabId slab) {
      for (std::size_t shard = 0; shard < desks_.size(); ++shard) {
        std::uint32_t cursor = 0;
        behind_mailbox(shard).evict_slab(slab, &cursor, 0xffffffff);
      }
    };
    hooks.tenant_name = [](TenantId) { return "t"; };
    hooks.announce_retired = [](SlabId) {};
    hooks.log = [](const std::string&) {};
    return hooks;
  }

  std::mt19937_64 rng_;
  SharedPot pinned_;
  std::atomic<std::uint64_t> own_{0};
  std::uint64_t number_ = 0;
  std::size_t lost_ = 0;
  test::TempDir dir_{test::kShm};
  Inbox inbox_;
  std::unique_ptr<NodeStore> store_;
  std::vector<std::deque<std::function<void()>>> mailboxes_;
  std::deque<std::function<void()>> slab_actor_;
  std::vector<std::unique_ptr<ShardDesk>> desks_;
  std::unique_ptr<SlabDesk> slab_desk_;
};

enum class Messages : std::uint8_t { kSettled, kUnderWay };
using enum Messages;
constexpr std::uint64_t kAllRequests = 0;
/// Enough to turn the cache over; sanitizers take ten times as long a request.
constexpr std::uint64_t kSomeRequests = sim::kSanitized ? 1'000 : 4'000;

struct Played {
  std::size_t hits = 0;
  std::size_t references = 0;
};

/// The conversation trace (`limit` requests, or kAllRequests) at 10,000 blocks.
Played play(std::uint32_t shards, std::uint64_t limit, Messages messages,
            Holds holds = Holds::kByNode) {
  const auto trace = read_trace(std::string(LARDER_TRACES "/conversation_trace.jsonl.zst"), limit);
  BOOST_REQUIRE(trace.ok());
  Cluster cluster(10'000, holds, shards);
  Played played;
  for (const TraceRequest& request : *trace) {
    played.hits += cluster.serve(request);
    played.references += request.hash_ids.size();
    if (messages == kSettled) cluster.settle();
  }
  cluster.settle();
  BOOST_TEST(cluster.lost() == 0U);
  BOOST_TEST(cluster.used_blocks() == 10'000U);
  return played;
}

/// What one shard keeps of kSomeRequests, played once.
const Played& one_shard() {
  static const Played played = play(1, kSomeRequests, kSettled);
  return played;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(floating_budget)

BOOST_AUTO_TEST_CASE(one_shard_keeps_exactly_what_lru_keeps) {
  const Played played = play(1, kAllRequests, kSettled);
  BOOST_TEST(played.references == 288'500U);
  BOOST_TEST(played.hits == 61'046U);
}

BOOST_DATA_TEST_CASE(many_shards_keep_what_one_keeps_once_touches_are_applied,
                     boost::unit_test::data::make({2U, 4U, 16U}), shards) {
  BOOST_TEST(play(shards, kSomeRequests, kSettled).hits == one_shard().hits);
}

BOOST_DATA_TEST_CASE(many_shards_stay_within_a_thousandth_while_messages_are_under_way,
                     boost::unit_test::data::make({2U, 4U, 16U}), shards) {
  const Played many = play(shards, kSomeRequests, kUnderWay);
  const auto apart = static_cast<double>(many.hits) - static_cast<double>(one_shard().hits);
  BOOST_TEST(std::abs(apart) <= 0.001 * static_cast<double>(one_shard().references));
}

BOOST_AUTO_TEST_CASE(a_quota_keeps_what_a_capacity_of_that_size_keeps) {
  const std::uint64_t limit = sim::kSanitized ? kSomeRequests : kAllRequests;
  const std::size_t right = sim::kSanitized ? one_shard().hits : 61'046U;
  BOOST_TEST(play(1, limit, kSettled, Holds::kByTenant).hits == right);
}

BOOST_DATA_TEST_CASE(many_shards_keep_of_a_quota_what_one_keeps,
                     boost::unit_test::data::make({2U, 4U, 16U}), shards) {
  BOOST_TEST(play(shards, kSomeRequests, kSettled, Holds::kByTenant).hits == one_shard().hits);
  const Played many = play(shards, kSomeRequests, kUnderWay, Holds::kByTenant);
  const auto apart = static_cast<double>(many.hits) - static_cast<double>(one_shard().hits);
  BOOST_TEST(std::abs(apart) <= 0.001 * static_cast<double>(one_shard().references));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::floating_budget_test
