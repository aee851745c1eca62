// What becomes of a put when its session unregisters the region that it reads from.

#include <fstream>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "actors/session_lookup.h"
#include "tests/session/lone_fixture.h"

namespace larder::region_test {
namespace {

using wire::KeyStatus;

constexpr std::uint32_t kRegion = 7;
constexpr const char* kName = "larder-region-test";

struct Fixture : sim::LoneFixture {
  Fixture() : memfd(*make_sealed_memfd(kName, Bytes{bytes.size()})) {
    BOOST_REQUIRE(::pwrite(memfd.get(), bytes.data(), bytes.size(), 0) ==
                  static_cast<ssize_t>(bytes.size()));
    register_as(kRegion, 5);
    BOOST_REQUIRE((codes(5) == std::vector{absl::StatusCode::kOk}));
  }

  void register_as(std::uint32_t region, std::uint64_t id) {
    wire::RegisterRegionRequest body;
    body.set_region(region);
    body.set_bytes(bytes.size());
    const int fd = memfd.get();
    client->add_with_fds({.type = FrameType::kRegisterRegion, .id = id, .body = &body},
                         std::span(&fd, 1), now);
    client->pump(now);
  }
  void put(std::uint64_t id, std::uint64_t n) {
    const wire::KeyRecord records[] = {key(n)};
    const wire::PutSource sources[] = {{.key = 0, .region = kRegion, .length = sim::kLength}};
    std::vector<std::byte> array;
    wire::append(array, std::span<const wire::KeyRecord>(records));
    wire::append(array, std::span<const wire::PutSource>(sources));
    const auto word = static_cast<std::uint32_t>(id);
    wire::PutRequest body;
    body.set_ns(ns());
    body.set_sources(1);
    body.set_control_word(word);
    client->control_page()->activate(word, id);
    client->add({.type = FrameType::kPut, .id = id, .body = &body, .array = array});
  }
  void unregister() {
    wire::UnregisterRegionRequest body;
    body.set_region(kRegion);
    client->add({.type = FrameType::kUnregisterRegion, .id = 6, .body = &body});
  }
  std::vector<KeyStatus> statuses(std::uint64_t id) {
    std::vector<KeyStatus> out;
    for (const auto& reply : client->replies()) {
      std::vector<wire::PutResult> results;
      if (reply.header.id != id || !wire::parse(reply.array, results)) continue;
      for (const wire::PutResult& result : results)
        out.push_back(static_cast<KeyStatus>(result.status));
    }
    return out;
  }
  /// Whether this process, which is the daemon, has the region mapped.
  static bool mapped() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(kName) != std::string::npos) return true;
    }
    return false;
  }

  std::vector<std::byte> bytes = std::vector<std::byte>(sim::kLength, std::byte{0x5a});
  Fd memfd;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(region, Fixture)

BOOST_AUTO_TEST_CASE(a_put_under_way_reads_it_although_it_was_unregistered) {
  put(10, 1);
  unregister();
  client->send_all(now);  // its shard has not answered: not a byte was read
  BOOST_TEST((codes(6) == std::vector{absl::StatusCode::kOk}));
  BOOST_TEST(mapped());

  client->settle(now);
  BOOST_TEST((statuses(10) == std::vector{KeyStatus::kOk}));
  BOOST_TEST(!mapped());
  const Index& index = *node.store().indexes[0];
  const EntryId found = index.find({NamespaceId(ns()), key(1).hash, GroupId(0), Rank(0)});
  BOOST_REQUIRE((found != kNoEntry));
  const SlotRef slot = unpack_slot(index.entry(found).slot.load());
  BOOST_TEST(checksum({node.store().slabs.data(slot), sim::kLength}) == checksum(bytes));
}

BOOST_AUTO_TEST_CASE(a_part_that_waits_reads_it_although_it_was_unregistered) {
  const wire::KeyRecord keys[] = {key(1)};
  put_start(10, keys);
  work(*client);
  (void)client->replies();
  wire::PutPartRequest body;
  body.set_put(10);
  body.set_sources(1);
  body.set_control_word(11);
  client->control_page()->activate(11, 11);
  const wire::PutSource source{.key = 0, .region = kRegion, .length = sim::kLength};
  const std::uint64_t offset = 0;
  std::vector<std::byte> array;
  wire::append(array, std::span<const wire::PutSource>(&source, 1));
  wire::append(array, std::span<const std::uint64_t>(&offset, 1));
  client->add({.type = FrameType::kPutPart, .id = 11, .body = &body, .array = array});
  unregister();  // read in the same turn, before any byte is
  wire::PutEndRequest end;
  end.set_put(10);
  end.set_control_word(12);
  client->control_page()->activate(12, 12);
  client->add({.type = FrameType::kPutEnd, .id = 12, .body = &end});
  work(*client);

  BOOST_TEST((statuses(12) == std::vector{KeyStatus::kOk}));
  BOOST_TEST(!mapped());
}

BOOST_AUTO_TEST_CASE(a_put_that_comes_after_names_nothing) {
  unregister();
  put(10, 1);
  work(*client);

  BOOST_TEST((statuses(10) == std::vector{KeyStatus::kInvalid}));
  BOOST_TEST(!mapped());
  BOOST_TEST((sim::held_in(node.store()) == sim::Held{}));
}

BOOST_AUTO_TEST_CASE(it_counts_as_registered_until_the_last_put_has_read_it) {
  NodeContext& context = node.context();
  TenantUse& owner = context.tenant_uses.of("book");
  const std::uint64_t before = context.commons.taken(Common::kRegions);
  RegionBook book(context);
  book.belong_to(owner);
  BOOST_REQUIRE(book.add(kRegion, memfd, Bytes{bytes.size()}).ok());
  HeldRegions held;
  const wire::PutSource source{.key = 0, .region = kRegion, .length = 1};
  held.hold(book, std::span(&source, 1));

  BOOST_TEST(book.remove(kRegion).ok());
  BOOST_TEST(absl::IsNotFound(book.remove(kRegion)));
  BOOST_TEST(book.find(kRegion) == nullptr);
  BOOST_TEST(held.at(kRegion, 0, bytes.size()) != nullptr);
  BOOST_TEST(held.at(kRegion, 1, bytes.size()) == nullptr);
  BOOST_TEST(book.mapped_bytes() == bytes.size());

  held = HeldRegions();
  BOOST_TEST(book.mapped_bytes() == 0U);
  BOOST_TEST(context.commons.taken(Common::kRegions) == before);
}

BOOST_AUTO_TEST_CASE(numbers_that_mean_something_else_are_no_regions) {
  for (const std::uint32_t number : {wire::PutSource::kAttach, wire::PutSource::kStream}) {
    register_as(number, 50);
    BOOST_TEST((codes(50) == std::vector{absl::StatusCode::kInvalidArgument}));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::region_test
