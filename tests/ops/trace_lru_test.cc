#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "ops/trace_reader.h"
#include "policies/lru_policy.h"

namespace larder::trace_lru_test {
namespace {

/// A cache of `capacity` blocks around the policy, with no store: what a request finds is judged
/// when it arrives, its chain is pinned while it is served, and touched suffix-first at its end.
class Cache {
 public:
  explicit Cache(std::size_t capacity) : capacity_(capacity) {}

  std::size_t serve(const TraceRequest& request) {
    std::size_t hits = 0;
    while (hits < request.hash_ids.size() && ids_.contains(request.hash_ids[hits]))
      hits += 1;
    for (const std::uint64_t hash : request.hash_ids) {
      if (!ids_.contains(hash)) insert(hash);
    }
    touch_suffix_first(request);
    while (ids_.size() > capacity_)
      evict();
    return hits;
  }

  bool contains(std::uint64_t hash) const { return ids_.contains(hash); }

 private:
  void insert(std::uint64_t hash) {
    PolicyId id(static_cast<std::uint32_t>(hashes_.size()));
    if (free_.empty()) {
      hashes_.push_back(hash);
    } else {
      id = free_.back();
      free_.pop_back();
      hashes_[id.value()] = hash;
    }
    ids_[hash] = id;
    policy_.on_insert({.id = id, .parent = {}, .size = {1}, .stamp = stamp(0), .position = 0},
                      nullptr);
  }

  void touch_suffix_first(const TraceRequest& request) {
    sequence_ += 1;
    std::uint64_t from_suffix = 0;
    for (auto hash = request.hash_ids.rbegin(); hash != request.hash_ids.rend(); ++hash) {
      policy_.on_hit(ids_.at(*hash), stamp(from_suffix++), nullptr);
    }
    policy_.on_request_end({}, request.output_length);
  }

  void evict() {
    const auto victim = policy_.victim(Time{}, [](PolicyId) { return false; });
    BOOST_REQUIRE(victim.has_value());
    policy_.on_erase(victim->id, EraseCause::kEvicted);
    ids_.erase(hashes_[victim->id.value()]);
    free_.push_back(victim->id);
  }

  Stamp stamp(std::uint64_t position) const {
    return Stamp(sequence_ << kStampPositionBits | position);
  }

  std::size_t capacity_;
  LruPolicy policy_;
  absl::flat_hash_map<std::uint64_t, PolicyId> ids_;
  std::vector<std::uint64_t> hashes_;  // by id
  std::vector<PolicyId> free_;
  std::uint64_t sequence_ = 1;
};

struct Known {
  const char* trace;
  std::size_t capacity;
  std::size_t hits;
  std::size_t references;
};
std::ostream& operator<<(std::ostream& out, const Known& known) {
  return out << known.trace << " at " << known.capacity;
}

const std::vector<Known> kKnown = {
    {"conversation_trace.jsonl.zst", 10'000, 61'046, 288'500},
    {"conversation_trace.jsonl.zst", 18'279, 80'466, 288'500},
    {"synthetic_trace.jsonl.zst", 10'000, 51'669, 121'877},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(trace_lru)

BOOST_DATA_TEST_CASE(hits_are_exactly_those_of_the_references, boost::unit_test::data::make(kKnown),
                     known) {
  const auto trace = read_trace(std::string(LARDER_TRACES "/") + known.trace, 0);
  BOOST_REQUIRE(trace.ok());
  Cache cache(known.capacity);
  std::size_t hits = 0, references = 0;
  for (const TraceRequest& request : *trace) {
    hits += cache.serve(request);
    references += request.hash_ids.size();
    bool parent = true;
    for (const std::uint64_t hash : request.hash_ids) {  // no block outlives its parent
      const bool here = cache.contains(hash);
      BOOST_REQUIRE((parent || !here));
      parent = here;
    }
  }

  BOOST_TEST(references == known.references);
  BOOST_TEST(hits == known.hits);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::trace_lru_test
