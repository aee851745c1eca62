// The scrub finds a flipped bit before anyone asks for the block, and nothing else.

#include "actors/scrubber.h"

#include <boost/test/unit_test.hpp>

#include "store/chain.h"
#include "store/checksum.h"
#include "tests/session/lone_session.h"
#include "transport/namespace_wire.h"
#include "transport/wire.pb.h"

namespace larder::scrubber_test {
namespace {

constexpr std::uint32_t kLength = 4096;

struct Fixture {
  Fixture() {
    wire::HelloRequest hello;
    hello.set_version_min(1);
    hello.set_version_max(1);
    const auto open = to_wire(spec());
    client.add({.type = FrameType::kHello, .id = ++ids, .body = &hello});
    client.add({.type = FrameType::kOpenNamespace, .id = ++ids, .body = &open});
    work();
    for (std::uint64_t n = 1; n <= 20; ++n)
      put(n);
    scrubber.emplace(node.context());
  }

  static NamespaceSpec spec() {
    NamespaceSpec out;
    out.fingerprint.model = "m";
    out.fingerprint.flat = true;
    out.groups.push_back({GroupKind::kFull, 0, 0, {}});
    return out;
  }
  static BlockKey key(std::uint64_t n) {
    return {namespace_id("default", spec().fingerprint), {n, n}, GroupId(0), Rank(0)};
  }
  void work() {
    client.send_all(now);
    client.settle(now);
    (void)client.replies();
  }
  void put(std::uint64_t n) {
    wire::PutRequest body;
    body.set_ns(key(n).ns.value());
    const std::vector<std::byte> bytes(kLength, static_cast<std::byte>(n));
    body.add_inline_checksums(checksum(bytes));
    wire::KeyRecord record;
    record.hash = record.anchor = {n, n};
    record.length = kLength;
    record.flags = wire::kKeyFlat;
    client.add({.type = FrameType::kPut,
                .id = ++ids,
                .body = &body,
                .array = std::as_bytes(std::span(&record, 1))},
               bytes);
    work();
  }
  std::pair<Index*, EntryId> find(std::uint64_t n) {
    for (const auto& index : node.store().indexes) {
      if (const EntryId id = index->find(key(n)); id != kNoEntry) return {index.get(), id};
    }
    return {nullptr, kNoEntry};
  }
  bool there(std::uint64_t n) {
    const auto [index, id] = find(n);
    if (index == nullptr) return false;
    const auto state = EntryWord::unpack(index->entry(id).word.load()).state;
    return state == EntryState::kCommitted;
  }
  std::byte& first_byte(std::uint64_t n) {
    const auto [index, id] = find(n);
    return *node.store().slabs.data(unpack_slot(index->entry(id).slot.load()));
  }
  void scrub_all() {
    for (int n = 0; n < 60; ++n) {
      scrubber->step();
      node.shards().run_all();
    }
  }

  Time now = Time(std::chrono::hours(1));
  std::uint64_t ids = 0;
  sim::SessionNode node{{.capacity = Bytes{1 << 20}, .shards = 2, .now = [this] { return now; }}};
  sim::LoneSession client{node, {.id = 1, .is_unix = false}, now};
  std::optional<Scrubber> scrubber;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(scrub, Fixture)

BOOST_AUTO_TEST_CASE(a_flipped_bit_is_quarantined_and_all_else_stays) {
  scrub_all();
  BOOST_TEST(node.metrics().blocks_quarantined == 0U);
  BOOST_TEST(node.metrics().scrubbed_blocks >= 20U);

  first_byte(7) ^= std::byte{0x10};
  scrub_all();

  BOOST_TEST(node.metrics().blocks_quarantined == 1U);
  BOOST_REQUIRE(node.log().size() == 1U);
  BOOST_TEST(node.log()[0].find("found_by=scrub") != std::string::npos);
  for (std::uint64_t n = 1; n <= 20; ++n)
    BOOST_TEST(there(n) == (n != 7), "block " << n);
  BOOST_TEST(sim::held_in(node.store()).leases == 0U);
}

/// The client that doubts a block is gone before the daemon has looked.
BOOST_AUTO_TEST_CASE(a_doubt_outlives_its_session_and_needs_no_rate) {
  Config config = node.context().config();
  config.scrub_mib_s = 0;
  node.set_config(config);
  first_byte(7) ^= std::byte{0x10};
  scrub_all();
  BOOST_TEST(node.metrics().blocks_quarantined == 0U);

  const LocatedKey doubted{key(7), shard_of(key(7).hash, node.store().shards())};
  const LocatedKey good{key(8), shard_of(key(8).hash, node.store().shards())};
  node.context().suspects.add(good);
  node.context().suspects.add(doubted);
  scrub_all();

  BOOST_TEST(node.metrics().blocks_quarantined == 1U);
  BOOST_TEST(!there(7));
  BOOST_TEST(there(8));
}

BOOST_AUTO_TEST_CASE(a_verifying_get_whose_session_ends_leaves_its_blocks_to_the_scrub) {
  wire::GetRequest body;
  body.set_ns(key(7).ns.value());
  body.set_verify(true);
  // More than is verified in one turn, the doubted one last.
  std::vector<wire::KeyRecord> records(1000);
  for (wire::KeyRecord& record : records) {
    record.hash = record.anchor = {8, 8};
    record.flags = wire::kKeyFlat;
  }
  records.back().hash = records.back().anchor = {7, 7};
  client.add({.type = FrameType::kGet,
              .id = ++ids,
              .body = &body,
              .array = std::as_bytes(std::span(records))});
  client.send_all(now);
  BOOST_TEST(!node.context().suspects.take().has_value());
  client.end();
  std::optional<LocatedKey> last;
  while (const auto left = node.context().suspects.take())
    last = left;
  BOOST_REQUIRE(last.has_value());
  BOOST_TEST((last->key == key(7)));
  BOOST_TEST(sim::held_in(node.store()).leases == 0U);
}

BOOST_AUTO_TEST_CASE(the_thread_goes_round_by_itself_and_stops_at_once) {
  first_byte(3) ^= std::byte{1};
  BOOST_REQUIRE(scrubber->start().ok());
  for (int n = 0; n < 5000 && node.metrics().blocks_quarantined == 0U; ++n)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  scrubber->stop();
  node.shards().run_all();
  BOOST_TEST(node.metrics().blocks_quarantined >= 1U);
  BOOST_TEST(!there(3));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::scrubber_test
