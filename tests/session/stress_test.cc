// Real sessions, io threads, shards and clients at once: every byte that a client gets is the
// block's, and what dies, in whatever moment, leaves nothing held.

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>

#include "actors/clock.h"
#include "client/client.h"
#include "policies/make_policy.h"
#include "store/assert.h"
#include "tests/session/session_node.h"
#include "transport/frame_head.h"
#include "transport/guarded_copy.h"
#include "transport/socket.h"
#include "transport/wire.pb.h"

namespace larder::stress_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kRun = std::chrono::seconds(4);
constexpr std::uint64_t kChains = 48;
constexpr std::uint32_t kBlocks = 8;
/// By chain: below and above the inline limit, and above a slab of the small store.
constexpr std::array<std::uint32_t, 5> kLengths = {1'000, 4'096, 20'000, 70'000, 300'000};

NamespaceSpec spec() {
  NamespaceSpec out;
  out.fingerprint.model = "stress";
  out.unit_tokens = 16;
  out.groups.push_back(
      {.kind = GroupKind::kFull, .block_tokens = 16, .window_tokens = 0, .block_bytes = {}});
  return out;
}

/// A block's content is a function of its hash.
void fill(const BlockHash& hash, std::byte* out, std::size_t length) {
  std::uint64_t word = hash.low;
  for (std::size_t at = 0; at < length; at += 8) {
    std::memcpy(out + at, &word, std::min<std::size_t>(8, length - at));
    word += 0x9e3779b97f4a7c15ULL;
  }
}
bool same(const BlockHash& hash, const std::byte* in, std::size_t length) {
  std::vector<std::byte> wanted(length);
  fill(hash, wanted.data(), length);
  return std::memcmp(wanted.data(), in, length) == 0;
}

struct Chain {
  explicit Chain(std::uint64_t number) : length(kLengths[number % kLengths.size()]) {
    std::mt19937_64 rng(number);
    for (std::uint32_t i = 0; i < kBlocks; ++i)
      hashes.push_back({rng(), rng()});
    keys = chain_keys(spec(), hashes, GroupId(0), Rank(0), 0, kBlocks);
    for (Key& key : keys)
      key.length = length;
  }
  std::uint32_t length;
  std::vector<BlockHash> hashes;
  std::vector<Key> keys;
};

struct Counts {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> wrong{0}, corrupt{0}, refused{0}, hits{0}, stored{0}, views{0},
      layers{0}, failed{0};
};

enum class Path { kAttach, kRegion, kStaged, kTcp };

Client::Options options_of(const sim::SessionNode& node, Path path) {
  Client::Options options;
  options.server = path == Path::kTcp ? node.tcp() : node.socket();
  options.allow_attach = path == Path::kAttach;
  options.deadline = std::chrono::seconds(20);
  options.connect_deadline = std::chrono::seconds(10);
  return options;
}

/// One client that does everything, one random operation after the other.
class Worker {
 public:
  Worker(const sim::SessionNode& node, Path path, std::uint64_t seed, Counts& counts)
      : path_(path), rng_(seed), counts_(counts), memory_(kBlocks * kLengths.back()) {
    auto client = Client::connect(options_of(node, path));
    LARDER_ASSERT(client.ok());  // Boost's checks are for one thread
    client_ = *std::move(client);
    ns_ = *client_->open_namespace(spec());
    if (path == Path::kRegion) {
      const auto region = client_->allocate_region(memory_.size());
      LARDER_ASSERT(region.ok());
      sources_ = *region;
    } else {
      own_.resize(memory_.size());
      sources_ = own_;
    }
  }

  void run() {
    while (!counts_.stop.load(std::memory_order_relaxed))
      step();
  }

  void step() {
    const Chain chain(rng_() % kChains);
    std::uint64_t request = 0;
    if (rng_() % 2 == 0) request = client_->begin_request(ns_);
    switch (rng_() % 12) {
      case 0:
      case 1:
        match(chain, request);
        get(chain, request);
        break;
      case 2:
      case 3:
        get(chain, request);
        break;
      case 4:
      case 5:
      case 6:
        put(chain, request);
        break;
      case 7:
        layer_put(chain, request);
        break;
      case 8:
        view(chain);
        break;
      case 9:
        (void)client_->wait(ns_, chain.keys, milliseconds(1 + rng_() % 5));
        break;
      case 10:
        remove(chain);
        break;
      case 11:
        upkeep(chain, request);
        break;
    }
    if (request != 0 && rng_() % 4 != 0) (void)client_->end_request(request, 10);
  }

  /// Leaves operations under way.
  void submit_some() {
    const Chain chain(rng_() % kChains);
    const auto targets = target_lists(chain);
    client_->submit_get(ns_, chain.keys, targets, {});
    fill_sources(chain);
    client_->submit_put(ns_, chain.keys, source_lists(chain), {});
    const std::span<const BlockHash> span(chain.hashes);
    if (rng_() % 2 == 0) (void)client_->match(ns_, {&span, 1}, {.claim = true});
    if (rng_() % 2 == 0) (void)client_->put_start(ns_, Chain(rng_() % kChains).keys, {});
  }

 private:
  void match(const Chain& chain, std::uint64_t request) {
    const std::span<const BlockHash> span(chain.hashes);
    const auto found = client_->match(
        ns_, {&span, 1}, {.request = request, .claim = rng_() % 4 == 0, .claim_ms = 50});
    if (!found.ok()) counts_.failed += 1;
  }

  std::vector<std::vector<MutableBuffer>> target_lists(const Chain& chain) {
    std::vector<std::vector<MutableBuffer>> lists;
    for (std::uint32_t i = 0; i < kBlocks; ++i)
      lists.push_back({{memory_.data() + i * chain.length, chain.length}});
    return lists;
  }
  std::vector<std::vector<ConstBuffer>> source_lists(const Chain& chain) {
    std::vector<std::vector<ConstBuffer>> lists;
    const std::size_t cut = chain.length / 3;
    for (std::uint32_t i = 0; i < kBlocks; ++i) {
      const std::byte* data = sources_.data() + i * chain.length;
      lists.push_back({{data, cut}, {data + cut, chain.length - cut}});
    }
    return lists;
  }
  void fill_sources(const Chain& chain) {
    for (std::uint32_t i = 0; i < kBlocks; ++i)
      fill(chain.hashes[i], sources_.data() + i * chain.length, chain.length);
  }

  void get(const Chain& chain, std::uint64_t request) {
    const bool verify = rng_() % 4 == 0;
    const Completion got = client_->get(ns_, chain.keys, target_lists(chain),
                                        {.request = request, .deadline = {}, .verify = verify});
    if (got.code != absl::StatusCode::kOk) counts_.failed += 1;
    for (std::uint32_t i = 0; i < got.keys.size(); ++i) {
      if (got.keys[i] == KeyStatus::kCorrupt) counts_.corrupt += 1;
      if (got.keys[i] != KeyStatus::kOk) continue;
      counts_.hits += 1;
      if (!same(chain.hashes[i], memory_.data() + i * chain.length, chain.length)) {
        counts_.wrong += 1;
      }
    }
  }

  void put(const Chain& chain, std::uint64_t request) {
    fill_sources(chain);
    const Completion put = client_->put(ns_, chain.keys, source_lists(chain),
                                        {.request = request, .deadline = {}, .verify = false});
    // What the call was given is the caller's again.
    std::memset(sources_.data(), 0x55, sources_.size());
    if (put.code != absl::StatusCode::kOk) counts_.failed += 1;
    for (const KeyStatus key : put.keys) {
      if (key == KeyStatus::kOk) counts_.stored += 1;
      if (key == KeyStatus::kCorrupt || key == KeyStatus::kInvalid) counts_.refused += 1;
    }
  }

  void layer_put(const Chain& chain, std::uint64_t request) {
    const auto put =
        client_->put_start(ns_, chain.keys, {.request = request, .deadline = {}, .verify = false});
    if (!put.ok()) {
      counts_.failed += 1;
      return;
    }
    fill_sources(chain);
    const std::uint32_t half = chain.length / 2;
    for (const std::uint32_t layer : {1U, 0U}) {
      std::vector<Client::Part> parts;
      for (std::uint32_t i = 0; i < kBlocks; ++i) {
        if (put->keys[i] != KeyStatus::kWanted) continue;
        const std::uint32_t at = layer * half;
        const std::uint32_t length = layer == 0 ? half : chain.length - half;
        const std::byte* data = sources_.data() + i * chain.length + at;
        parts.push_back({.key = i, .offset = at, .buffer = {data, length}});
      }
      if (!parts.empty()) (void)client_->put_part(put->id, parts);
    }
    if (rng_() % 4 == 0) return client_->put_abort(put->id);
    const Completion end = client_->put_end(put->id);
    for (const KeyStatus key : end.keys) {
      if (key == KeyStatus::kOk) counts_.layers += 1;
    }
  }

  void view(const Chain& chain) {
    if (path_ == Path::kTcp) return;
    auto views = client_->view(ns_, chain.keys, {});
    if (!views.ok()) return;
    for (std::uint32_t i = 0; i < views->size(); ++i) {
      View& one = (*views)[i];
      if (one.status() != KeyStatus::kOk) continue;
      std::vector<std::byte> copy(chain.length);
      if (!copy_guarded(copy.data(), one.bytes().data(), chain.length)) continue;
      if (!one.release()) continue;
      counts_.views += 1;
      if (!same(chain.hashes[i], copy.data(), chain.length)) counts_.wrong += 1;
    }
  }

  void remove(const Chain& chain) {
    if (rng_() % 2 == 0) {
      (void)client_->remove(ns_, std::span(chain.keys).subspan(rng_() % kBlocks));
    } else {
      const std::span<const BlockHash> hashes(chain.hashes);
      (void)client_->remove_prefix(ns_, hashes.first(1 + rng_() % kBlocks));
    }
  }

  void upkeep(const Chain& chain, std::uint64_t request) {
    (void)client_->touch(ns_, chain.keys, request);
    (void)client_->pin(ns_, std::span(chain.keys).first(1), milliseconds(20));
    (void)client_->list(ns_, 0, 50);
    (void)client_->unpin(ns_, std::span(chain.keys).first(1));
    (void)client_->server_stats();
  }

  Path path_;
  std::mt19937_64 rng_;
  Counts& counts_;
  NamespaceId ns_;
  std::vector<std::byte> memory_, own_;
  std::span<std::byte> sources_;
  std::unique_ptr<Client> client_;  ///< goes first: its operations use the memory
};

/// A session by hand that ends in the middle of a streamed put, its last chunk torn.
void die_in_a_stream(const sim::SessionNode& node, std::uint64_t seed) {
  const auto at = parse_address(seed % 2 == 0 ? node.tcp() : node.socket());
  const auto socket = connect_to(*at, std::chrono::seconds(5));
  if (!socket.ok()) return;
  wire::HelloRequest hello;
  hello.set_version_min(1);
  hello.set_version_max(1);
  wire::OpenNamespaceRequest open;
  open.set_model("stress");
  open.set_unit_tokens(16);
  open.set_ranks(1);
  open.add_groups()->set_block_tokens(16);
  wire::PutRequest put;
  put.set_ns(namespace_id("default", spec().fingerprint).value());
  Chain chain(seed % kChains);
  for (Key& key : chain.keys)
    key.length = 300'000;
  const auto keys = std::as_bytes(std::span<const Key>(chain.keys));
  wire::ChunkRecord chunk;
  std::vector<std::byte> out;
  const auto add = [&out](const FrameParts& parts) {
    const std::vector<std::byte> head = make_head(parts);
    out.insert(out.end(), head.begin(), head.end());
  };
  add({.type = FrameType::kHello, .id = 1, .body = &hello});
  add({.type = FrameType::kOpenNamespace, .id = 2, .body = &open});
  const iovec first{out.data(), out.size()};
  (void)send_message(socket->get(), {&first, 1});
  std::this_thread::sleep_for(milliseconds(seed % 4));
  out.clear();
  add({.type = FrameType::kPut, .id = 3, .body = &put, .array = keys});
  add({.type = FrameType::kPutData,
       .id = 3,
       .array = std::as_bytes(std::span(&chunk, 1)),
       .payload = 200'000});
  out.resize(out.size() + seed % 5'000);
  const iovec second{out.data(), out.size()};
  (void)send_message(socket->get(), {&second, 1});
  std::this_thread::sleep_for(milliseconds(seed % 3));
}

void live_and_die(const sim::SessionNode& node, Counts& counts) {
  for (std::uint64_t n = 0; !counts.stop.load(std::memory_order_relaxed); ++n) {
    if (n % 3 == 0) {
      die_in_a_stream(node, n);
      continue;
    }
    Worker mortal(node, static_cast<Path>(n % 4), 10'000 + n, counts);
    for (std::uint64_t step = 0; step < n % 5; ++step)
      mortal.step();
    mortal.submit_some();
  }
}

/// Within the second that invariant 12 allows; ten of them, for a slow machine.
void check_nothing_is_held(sim::SessionNode& node) {
  const auto until = steady_clock::now() + std::chrono::seconds(10);
  sim::Held held;
  do {
    std::this_thread::sleep_for(milliseconds(10));
    held = sim::held_in(node.store());
    held.claimed = 0;  // dropped below, with the sessions
  } while ((node.context().sessions.load() != 0 || held != sim::Held{}) &&
           steady_clock::now() < until);
  BOOST_TEST(node.context().sessions.load() == 0U);
  BOOST_TEST(held.leases == 0U);
  BOOST_TEST(held.filling == 0U);
  BOOST_TEST(held.removed == 0U);
  BOOST_TEST(node.context().pins.pot().taken() == 0U);

  // All of it can be had: nothing is charged that is not a block.
  node.stop();
  BOOST_TEST(sim::held_in(node.store()).claimed == 0U);
  BOOST_TEST(sim::whole_bytes(node.store()).count == node.store().budget.ledger.used().count);
  node.evict_all(Time());
  BOOST_TEST(node.store().budget.ledger.used().count == 0U);
  for (const SlotPools::Usage& pool : node.store().pools.usage())
    BOOST_TEST(pool.free == pool.slots);
}

struct Faults {
  bool kill_shards = false;
  bool change_policy = false;
  bool calls_fail = false;  ///< sessions are ended for not reading: a slow client's calls fail
};

void change_policy(sim::SessionNode& node, std::uint32_t turn) {
  static constexpr std::array kNames = {"haz", "lru", "haz", "s3fifo", "haz", "sieve"};
  const std::uint64_t first = node.store().sequence.fetch_add(PolicyChange::kAgesKept);
  node.shards().change_policy({.make_policy = *policy_factory(kNames[turn % kNames.size()]),
                               .sequence = first + PolicyChange::kAgesKept - 1,
                               .now = now()});
}

void run_all(sim::SessionNode& node, const Faults& faults) {
  Counts counts;
  std::vector<std::thread> threads;
  const Path paths[] = {Path::kAttach, Path::kRegion, Path::kStaged, Path::kTcp, Path::kTcp};
  std::uint64_t seed = 1;
  for (const Path path : paths) {
    threads.emplace_back(
        [&node, &counts, path, own = seed] { Worker(node, path, own, counts).run(); });
    seed += 1;
  }
  threads.emplace_back([&node, &counts] { live_and_die(node, counts); });
  const auto until = steady_clock::now() + kRun;
  for (std::uint32_t n = 0; steady_clock::now() < until; ++n) {
    std::this_thread::sleep_for(milliseconds(50));
    if (faults.change_policy && n % 5 == 0) change_policy(node, n / 5);
    if (faults.kill_shards) node.shards().kill_shard(ShardId(n % node.store().shards()));
  }
  counts.stop = true;
  for (std::thread& thread : threads)
    thread.join();

  BOOST_TEST(counts.wrong.load() == 0U);
  BOOST_TEST(counts.corrupt.load() == 0U);
  BOOST_TEST(counts.refused.load() == 0U);
  if (!faults.calls_fail) BOOST_TEST(counts.failed.load() == 0U);
  BOOST_TEST(counts.hits.load() > 0U);
  BOOST_TEST(counts.stored.load() > 0U);
  BOOST_TEST(counts.layers.load() > 0U);
  BOOST_TEST(counts.views.load() > 0U);
  BOOST_TEST_MESSAGE("hits " << counts.hits << " stored " << counts.stored << " layers "
                             << counts.layers << " views " << counts.views);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(session_stress)

BOOST_AUTO_TEST_CASE(every_byte_is_right_and_nothing_stays_held_under_pressure) {
  sim::SessionNode node({});
  node.start();
  run_all(node, {});
  check_nothing_is_held(node);
}

BOOST_AUTO_TEST_CASE(leases_that_lapse_in_the_middle_change_no_byte) {
  sim::SessionNode node({.capacity = Bytes{4 << 20}, .lease_ms = 2, .now = {}});
  node.start();
  run_all(node, {.calls_fail = true});
  check_nothing_is_held(node);
}

BOOST_AUTO_TEST_CASE(shards_that_die_change_no_byte_and_leave_nothing_held) {
  sim::SessionNode node({});
  node.start();
  run_all(node, {.kill_shards = true});
  check_nothing_is_held(node);
}

/// Shards learn together, refuse, die and change their minds.
BOOST_AUTO_TEST_CASE(policies_that_change_beside_dying_shards_change_no_byte) {
  sim::SessionNode node({.capacity = Bytes{4 << 20}, .now = {}});
  node.start();
  run_all(node, {.kill_shards = true, .change_policy = true});
  check_nothing_is_held(node);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::stress_test
