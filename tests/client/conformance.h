// What every transport must do, as bodies that take a connected client: run against the fake server
// here and against a real larderd elsewhere.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <poll.h>

#include "client/client.h"
#include "store/limits.h"

namespace larder::sim {

inline NamespaceSpec chain_spec(const std::string& model, std::uint32_t ranks = 1) {
  NamespaceSpec spec;
  spec.fingerprint.model = model;
  spec.fingerprint.dtype = "bf16";
  spec.unit_tokens = 16;
  spec.ranks = ranks;
  spec.groups.push_back(
      {.kind = GroupKind::kFull, .block_tokens = 16, .window_tokens = 0, .block_bytes = {}});
  return spec;
}

/// One whose blocks all have so many bytes.
inline NamespaceSpec sized_spec(const std::string& model, std::size_t block_bytes) {
  NamespaceSpec spec = chain_spec(model);
  spec.groups[0].block_bytes = Bytes{block_bytes};
  return spec;
}

inline NamespaceSpec flat_spec(const std::string& model) {
  NamespaceSpec spec = chain_spec(model);
  spec.fingerprint.flat = true;
  return spec;
}

/// Cheap also where nothing is optimised: tests make some gigabytes of it.
inline std::vector<std::byte> pattern(std::uint64_t seed, std::size_t bytes) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;  // odd: a word comes once in 2^64 steps
  std::vector<std::uint64_t> words(bytes / 8 + 1);
  std::uint64_t word = (seed + 1) * kStep;
  for (std::uint64_t& to : words) {
    to = word ^ word >> 29;
    word += kStep;
  }
  std::vector<std::byte> out(bytes);
  std::memcpy(out.data(), words.data(), bytes);
  return out;
}

/// As ==, by memcmp: libstdc++ goes through std::byte one by one.
inline bool same_bytes(const std::vector<std::byte>& one, const std::vector<std::byte>& other) {
  return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size()) == 0;
}

inline std::vector<BlockHash> chain_of(std::uint64_t seed, std::size_t units) {
  std::mt19937_64 rng(seed);
  std::vector<BlockHash> out(units);
  for (BlockHash& hash : out)
    hash = {rng(), rng()};
  return out;
}

/// A batch of blocks: keys, bytes and buffers to put from and get into.
struct Batch {
  /// The first blocks of a chain, `bytes` each.
  Batch(const NamespaceSpec& spec, std::uint64_t seed, std::uint32_t count, std::size_t bytes)
      : chain(chain_of(seed, count)) {
    keys = chain_keys(spec, chain, GroupId(0), Rank(0), 0, count);
    for (std::uint32_t n = 0; n < count; ++n) {
      keys[n].length = static_cast<std::uint32_t>(bytes);
      blocks.push_back(pattern(seed * 1000 + n, bytes));
      places.emplace_back(bytes, std::byte{0xcc});
    }
    for (std::uint32_t n = 0; n < count; ++n) {
      sources.push_back({blocks[n].data(), bytes});
      targets.push_back({places[n].data(), bytes});
    }
  }
  bool got_all() const {
    return std::equal(places.begin(), places.end(), blocks.begin(), blocks.end(), same_bytes);
  }
  void clear() {
    for (auto& place : places)
      std::fill(place.begin(), place.end(), std::byte{0xcc});
  }
  std::vector<std::vector<ConstBuffer>> source_lists() const {
    std::vector<std::vector<ConstBuffer>> out;
    for (const ConstBuffer& buffer : sources)
      out.push_back({buffer});
    return out;
  }
  std::vector<std::vector<MutableBuffer>> target_lists() const {
    std::vector<std::vector<MutableBuffer>> out;
    for (const MutableBuffer& buffer : targets)
      out.push_back({buffer});
    return out;
  }

  std::vector<BlockHash> chain;
  std::vector<Key> keys;
  std::vector<std::vector<std::byte>> blocks, places;
  std::vector<ConstBuffer> sources;
  std::vector<MutableBuffer> targets;
};

inline void check_all(const Completion& done, std::size_t keys, KeyStatus expected) {
  BOOST_TEST_CONTEXT("message: " << done.message) {
    BOOST_TEST(static_cast<int>(done.code) == static_cast<int>(absl::StatusCode::kOk));
    BOOST_REQUIRE(done.keys.size() == keys);
    for (std::size_t n = 0; n < keys; ++n) {
      BOOST_TEST(static_cast<int>(done.keys[n]) == static_cast<int>(expected),
                 "key " << n << " has status " << static_cast<int>(done.keys[n]) << ", not "
                        << static_cast<int>(expected));
    }
  }
}

/// Absent, or still being written: no key is a hit.
inline void check_none(const Completion& done) {
  for (const KeyStatus key : done.keys)
    BOOST_TEST((key == KeyStatus::kMiss || key == KeyStatus::kPending));
}

inline void check_code(const Completion& done, absl::StatusCode code) {
  BOOST_TEST(static_cast<int>(done.code) == static_cast<int>(code), done.message);
}

/// Completions drained until `count` came (or five seconds passed).
inline std::vector<Completion> drain(Client& client, std::size_t count) {
  std::vector<Completion> out;
  for (int tries = 0; tries < 50 && out.size() < count; ++tries) {
    pollfd entry{client.event_fd(), POLLIN, 0};
    poll(&entry, 1, 100);
    for (Completion& done : client.drain_completions())
      out.push_back(std::move(done));
  }
  return out;
}

/// Blocks of this size and count come back as they went, whole and in two uneven pieces.
template <class ClientType>
void round_trip(ClientType& client, std::uint64_t seed, std::uint32_t count, std::size_t bytes) {
  const NamespaceSpec spec = chain_spec("round-trip");
  const NamespaceId ns = *client.open_namespace(spec);
  Batch batch(spec, seed, count, bytes);

  check_all(client.get(ns, batch.keys, batch.targets, {}), count, KeyStatus::kMiss);
  check_all(client.put(ns, batch.keys, batch.sources, {}), count, KeyStatus::kOk);
  check_all(client.put(ns, batch.keys, batch.sources, {}), count, KeyStatus::kPresent);
  const Completion whole = client.get(ns, batch.keys, batch.targets, {});
  check_all(whole, count, KeyStatus::kOk);
  BOOST_TEST(whole.bytes == count * bytes);
  BOOST_TEST(batch.got_all());

  batch.clear();
  std::vector<std::vector<MutableBuffer>> pieces;
  const std::size_t cut = bytes / 3 + 1;
  for (auto& place : batch.places) {
    pieces.push_back({{place.data(), cut}, {place.data() + cut, bytes - cut}});
  }
  check_all(client.get(ns, batch.keys, pieces, {.verify = true}), count, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());
}

/// A batch of hits, misses and a wrong length is answered key by key.
template <class ClientType>
void mixed_batch(ClientType& client) {
  const NamespaceSpec spec = chain_spec("mixed");
  const NamespaceId ns = *client.open_namespace(spec);
  Batch batch(spec, 77, 4, 5000);
  const std::span<const Key> keys(batch.keys);
  check_all(client.put(ns, keys.first(2), std::span<const ConstBuffer>(batch.sources).first(2), {}),
            2, KeyStatus::kOk);
  batch.targets[1].length = 4000;

  const Completion done = client.get(ns, keys, batch.targets, {});

  BOOST_REQUIRE(done.keys.size() == 4);
  BOOST_TEST((done.keys == std::vector{KeyStatus::kOk, KeyStatus::kSizeMismatch, KeyStatus::kMiss,
                                       KeyStatus::kMiss}));
  BOOST_TEST((batch.places[0] == batch.blocks[0]));
}

/// Match counts what was put, and remove takes it away.
template <class ClientType>
void match_and_remove(ClientType& client) {
  const NamespaceSpec spec = chain_spec("match");
  const NamespaceId ns = *client.open_namespace(spec);
  Batch batch(spec, 5, 10, 4096);
  check_all(client.put(ns, std::span<const Key>(batch.keys).first(6),
                       std::span<const ConstBuffer>(batch.sources).first(6), {}),
            6, KeyStatus::kOk);
  const std::span<const BlockHash> chain(batch.chain);

  auto found = client.match(ns, std::span(&chain, 1), {.details = true});

  BOOST_REQUIRE(found.ok());
  BOOST_TEST((*found)[0].usable_tokens == 96U);
  BOOST_REQUIRE((*found)[0].groups.size() == 1);
  BOOST_TEST((*found)[0].groups[0].size() == 10U);
  check_all(client.remove(ns, std::span<const Key>(batch.keys).subspan(2, 1)), 1, KeyStatus::kOk);
  found = client.match(ns, std::span(&chain, 1));
  BOOST_REQUIRE(found.ok());
  BOOST_TEST((*found)[0].usable_tokens == 32U);
}

/// Flat names: put, match as a bitmap, get.
template <class ClientType>
void flat_names(ClientType& client) {
  const NamespaceId ns = *client.open_namespace(flat_spec("flat"));
  const Key there = flat_key("there", 3000);
  const Key absent = flat_key("absent", 3000);
  const std::vector<std::byte> bytes = pattern(9, 3000);
  const ConstBuffer source{bytes.data(), bytes.size()};
  check_all(client.put(ns, std::span(&there, 1), std::span(&source, 1), {}), 1, KeyStatus::kOk);

  const BlockHash names[] = {absent.hash, there.hash};
  const auto states = client.match_flat(ns, names);

  BOOST_REQUIRE(states.ok());
  BOOST_TEST((*states == std::vector{MatchState::kAbsent, MatchState::kPresent}));
}

/// Submitted operations of many sizes end once each, in any order, with the right bytes.
template <class ClientType>
void submitted(ClientType& client) {
  const NamespaceSpec spec = chain_spec("submitted");
  const NamespaceId ns = *client.open_namespace(spec);
  std::vector<std::unique_ptr<Batch>> batches;
  std::vector<std::uint64_t> ids;
  for (std::uint32_t n = 0; n < 20; ++n) {
    batches.push_back(std::make_unique<Batch>(spec, 100 + n, 1 + n % 4, 4096U << (n % 9)));
    ids.push_back(client.submit_put(ns, batches[n]->keys, batches[n]->source_lists(), {}));
  }
  const std::vector<Completion> puts = drain(client, ids.size());
  BOOST_REQUIRE(puts.size() == ids.size());
  for (const auto& batch : batches) {
    ids.push_back(client.submit_get(ns, batch->keys, batch->target_lists(), {}));
  }
  const std::vector<Completion> gets = drain(client, batches.size());

  BOOST_REQUIRE(gets.size() == batches.size());
  for (const auto& batch : batches)
    BOOST_TEST(batch->got_all());
  std::vector<std::uint64_t> ended;
  for (const auto* list : {&puts, &gets}) {
    for (const Completion& done : *list) {
      check_code(done, absl::StatusCode::kOk);
      ended.push_back(done.id);
    }
  }
  std::sort(ended.begin(), ended.end());
  BOOST_TEST((ended == ids));
}

/// A block put in layers is visible at its end only, and never when it was aborted.
template <class ClientType>
void layer_by_layer(ClientType& client, std::size_t bytes) {
  const NamespaceSpec spec = chain_spec("layers");
  const NamespaceId ns = *client.open_namespace(spec);
  Batch batch(spec, 31, 2, bytes);
  const auto put = client.put_start(ns, batch.keys, {});
  BOOST_REQUIRE(put.ok());
  BOOST_TEST((put->keys == std::vector{KeyStatus::kWanted, KeyStatus::kWanted}));

  const std::size_t half = bytes / 2;
  for (std::size_t layer : {std::size_t{1}, std::size_t{0}}) {
    std::vector<Client::Part> parts;
    for (std::uint32_t key = 0; key < 2; ++key) {
      const std::size_t at = layer * half;
      const std::size_t n = layer == 0 ? half : bytes - half;
      parts.push_back({.key = key, .offset = at, .buffer = {batch.blocks[key].data() + at, n}});
    }
    const absl::Status part = client.put_part(put->id, parts);
    BOOST_TEST(part.ok(), part.message());
  }
  check_none(client.get(ns, batch.keys, batch.targets, {}));
  check_all(client.put_end(put->id), 2, KeyStatus::kOk);
  check_all(client.get(ns, batch.keys, batch.targets, {}), 2, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());

  Batch given_up(spec, 32, 1, bytes);
  const auto second = client.put_start(ns, given_up.keys, {});
  BOOST_REQUIRE(second.ok());
  client.put_abort(second->id);
  BOOST_TEST((client.put_end(second->id).code == absl::StatusCode::kNotFound));
  check_none(client.get(ns, given_up.keys, given_up.targets, {}));
}

/// Parts of blocks that are there already, in the same calls, do no harm to those that are not.
template <class ClientType>
void layers_of_some(ClientType& client, std::size_t bytes) {
  const NamespaceSpec spec = chain_spec("layers-of-some");
  const NamespaceId ns = *client.open_namespace(spec);
  Batch batch(spec, 33, 4, bytes);
  for (const std::size_t there : {std::size_t{0}, std::size_t{2}}) {
    check_all(client.put(ns, std::span<const Key>(batch.keys).subspan(there, 1),
                         std::span<const ConstBuffer>(batch.sources).subspan(there, 1), {}),
              1, KeyStatus::kOk);
  }
  const auto put = client.put_start(ns, batch.keys, {});
  BOOST_REQUIRE(put.ok());
  const std::vector some{KeyStatus::kPresent, KeyStatus::kWanted, KeyStatus::kPresent,
                         KeyStatus::kWanted};
  BOOST_TEST((put->keys == some));

  // What is there stays as it was, whatever comes for it.
  const std::vector<std::byte> other(bytes, std::byte{0x11});
  for (const auto& [offset, length] : {std::pair(bytes / 2, bytes - bytes / 2), {0, bytes / 2}}) {
    std::vector<Client::Part> parts;
    for (std::uint32_t key = 0; key < 4; ++key) {
      const std::byte* from = key % 2 == 0 ? other.data() : batch.blocks[key].data();
      parts.push_back({.key = key, .offset = offset, .buffer = {from + offset, length}});
    }
    const absl::Status part = client.put_part(put->id, parts);
    BOOST_TEST(part.ok(), part.message());
  }
  const Completion done = client.put_end(put->id);

  BOOST_TEST((done.keys == std::vector{KeyStatus::kPresent, KeyStatus::kOk, KeyStatus::kPresent,
                                       KeyStatus::kOk}));
  check_all(client.get(ns, batch.keys, batch.targets, {}), 4, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());
}

/// Threads that share a client disturb nobody.
template <class ClientType>
void many_threads(ClientType& client, int threads) {
  const NamespaceSpec spec = chain_spec("threads");
  const NamespaceId ns = *client.open_namespace(spec);
  std::vector<std::thread> running;
  std::atomic<int> good{0};
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (std::uint32_t n = 0; n < 20; ++n) {
        Batch batch(spec, 1000ULL * static_cast<std::uint64_t>(t + 1) + n, 3, 3000 + n * 5000);
        const Completion put = client.put(ns, batch.keys, batch.sources, {});
        const Completion get = client.get(ns, batch.keys, batch.targets, {});
        const std::span<const BlockHash> chain(batch.chain);
        const auto match = client.match(ns, std::span(&chain, 1));
        if (put.code == absl::StatusCode::kOk && get.code == absl::StatusCode::kOk &&
            batch.got_all() && match.ok() && (*match)[0].usable_tokens == 48) {
          good.fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : running)
    thread.join();
  BOOST_TEST(good.load() == threads * 20);
}

}  // namespace larder::sim
