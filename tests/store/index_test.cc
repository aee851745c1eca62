#include "store/index.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/store/store_fixture.h"

namespace larder::index_test {
namespace {

using test::key_of;

EntryId insert_committed(Index& index, const BlockKey& key) {
  const EntryId id = index.insert(key, EntryState::kFilling).value();
  const auto word = EntryWord::unpack(index.entry(id).word.load());
  BOOST_REQUIRE(index.commit(id, word.generation));
  return id;
}

/// As an eviction does it: only at zero leases.
bool evict(Index& index, EntryId id) {
  Entry& entry = index.mutable_entry(id);
  std::uint64_t word = entry.word.load();
  EntryWord next = EntryWord::unpack(word);
  if (next.leases != 0) return false;
  next.state = EntryState::kFree;
  if (!entry.word.compare_exchange_strong(word, next.pack())) return false;
  index.unlink(id);
  index.free_entry(id);
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(index_)

BOOST_DATA_TEST_CASE(agrees_with_a_map, boost::unit_test::data::xrange(20), seed) {
  std::mt19937_64 rng(static_cast<std::uint64_t>(seed));
  QuiescenceDomain domain;
  auto reader = domain.register_reader();
  Index index(domain);
  std::map<std::uint64_t, EntryId> model;
  std::map<std::uint64_t, std::uint64_t> leased;
  const std::uint64_t keys = 1'000ULL << (seed % 5 * 2);  // crowded tables and growing ones

  for (int step = 0; step < 60'000; ++step) {
    const std::uint64_t n = rng() % keys;
    const auto it = model.find(n);
    if (it == model.end()) {
      model[n] = insert_committed(index, key_of(n));
    } else if (rng() % 3 == 0) {
      const auto hold = index.lease(it->second, key_of(n));
      BOOST_REQUIRE(hold.has_value());
      leased[n] += 1;
    } else if (leased[n] > 0) {
      BOOST_REQUIRE(!evict(index, it->second));
      index.release(it->second);
      leased[n] -= 1;
    } else {
      BOOST_REQUIRE(evict(index, it->second));
      BOOST_REQUIRE(!index.lease(it->second, key_of(n)));
      model.erase(it);
    }
    if (step % 64 == 0) {
      reader->quiescent();
      index.maintain();
    }
  }

  BOOST_TEST(index.size() == model.size());
  std::vector<BlockKey> asked;
  for (std::uint64_t n = 0; n < keys; ++n)
    asked.push_back(key_of(n));
  std::vector<EntryId> found(asked.size());
  index.find_many(asked, found);
  for (std::uint64_t n = 0; n < keys; ++n) {
    const EntryId expected = model.contains(n) ? model[n] : kNoEntry;
    BOOST_REQUIRE_EQUAL(found[n], expected);
    BOOST_REQUIRE_EQUAL(index.find(asked[n]), expected);
  }
}

BOOST_AUTO_TEST_CASE(tells_apart_keys_that_share_a_hash) {
  QuiescenceDomain domain;
  Index index(domain);
  BlockKey other_namespace = key_of(1);
  other_namespace.ns = NamespaceId(8);

  const EntryId a = insert_committed(index, key_of(1));
  const EntryId b = insert_committed(index, key_of(1, 1));
  const EntryId c = insert_committed(index, key_of(1, 0, 1));

  BOOST_TEST(index.find(key_of(1)) == a);
  BOOST_TEST(index.find(key_of(1, 1)) == b);
  BOOST_TEST(index.find(key_of(1, 0, 1)) == c);
  BOOST_TEST(index.find(other_namespace) == kNoEntry);
  BOOST_TEST(!index.lease(a, other_namespace));
  BOOST_TEST(EntryWord::unpack(index.entry(a).word.load()).leases == 0U);
}

BOOST_AUTO_TEST_CASE(reuses_no_entry_before_every_reader_was_quiescent) {
  QuiescenceDomain domain;
  auto reader = domain.register_reader();
  Index index(domain);
  const EntryId id = insert_committed(index, key_of(1));

  BOOST_REQUIRE(evict(index, id));
  for (std::uint64_t n = 2; n < 50; ++n) {
    index.maintain();
    BOOST_TEST(insert_committed(index, key_of(n)) != id);
  }
  reader->quiescent();
  index.maintain();

  BOOST_TEST(insert_committed(index, key_of(50)) == id);
}

BOOST_AUTO_TEST_CASE(commits_only_the_reservation_that_was_made) {
  QuiescenceDomain domain;
  Index index(domain);
  const EntryId id = index.insert(key_of(1), EntryState::kFilling).value();
  const std::uint64_t generation = EntryWord::unpack(index.entry(id).word.load()).generation;

  BOOST_TEST(!index.lease(id, key_of(1)));
  BOOST_TEST(!index.commit(id, generation + 1));
  BOOST_TEST(index.commit(id, generation));
  BOOST_TEST(!index.commit(id, generation));
  BOOST_TEST(index.lease(id, key_of(1)).has_value());
}

BOOST_AUTO_TEST_CASE(needs_at_most_78_bytes_a_block_at_a_million) {
  QuiescenceDomain domain;
  Index index(domain);
  for (std::uint64_t n = 0; n < 1'000'000; ++n) {
    BOOST_REQUIRE(index.insert(key_of(n), EntryState::kFilling).ok());
    if (n % 256 == 0) index.maintain();
  }
  for (int i = 0; i < 5'000; ++i)
    index.maintain();

  BOOST_TEST(index.memory().count <= 78'000'000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::index_test
