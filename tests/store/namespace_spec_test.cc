#include "store/namespace_spec.h"

#include <set>

#include <boost/test/unit_test.hpp>

#include "store/limits.h"

namespace larder::namespace_spec_test {
namespace {

using namespace literals;

NamespaceSpec good() {
  NamespaceSpec spec;
  spec.fingerprint.model = "llama";
  spec.unit_tokens = 16;
  spec.groups = {{.block_tokens = 64, .block_bytes = 64_KiB},
                 {.kind = GroupKind::kWindow, .block_tokens = 32, .window_tokens = 100}};
  return spec;
}

std::string error_of(const NamespaceSpec& spec) {
  return std::string(spec.validate().message());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(namespace_spec)

BOOST_AUTO_TEST_CASE(a_good_spec_validates) {
  BOOST_TEST(good().validate().ok());
}

BOOST_AUTO_TEST_CASE(each_bad_field_is_named_with_value_and_limit) {
  auto spec = good();
  spec.fingerprint.model = "";
  BOOST_TEST(error_of(spec) == "model is empty, must name the model");

  spec = good();
  spec.fingerprint.layout = std::string(513, 'x');
  BOOST_TEST(error_of(spec) == "layout has 513 bytes, limit 512");

  spec = good();
  spec.unit_tokens = 0;
  BOOST_TEST(error_of(spec) == "unit_tokens is 0, must be 1 to 1048576");

  spec = good();
  spec.ranks = 4097;
  BOOST_TEST(error_of(spec) == "ranks is 4097, must be 1 to 4096");

  spec = good();
  spec.groups.clear();
  BOOST_TEST(error_of(spec) == "groups is 0, must be 1 to 64");

  spec = good();
  spec.groups[0].block_tokens = 70;
  BOOST_TEST(error_of(spec) ==
             "groups[0].block_tokens is 70, must be a multiple of unit_tokens 16");

  spec = good();
  spec.groups[0].block_bytes = 255_B;
  BOOST_TEST(error_of(spec) == "groups[0].block_bytes is 255, must be 256 to 1073741824");

  spec = good();
  spec.groups[1].window_tokens = 0;
  BOOST_TEST(error_of(spec) == "groups[1].window_tokens is 0, must be at least 1 for this kind");

  spec = good();
  spec.groups[0].window_tokens = 5;
  BOOST_TEST(error_of(spec) == "groups[0].window_tokens is 5, must be 0 for this kind");

  spec = good();
  spec.groups[0].kind = static_cast<GroupKind>(9);
  BOOST_TEST(error_of(spec) == "groups[0].kind is 9, must be 0 to 2");

  spec = good();
  spec.ttl = Duration(-1);
  BOOST_TEST(error_of(spec) == "ttl is -1 ns, must be 0 or more");
}

BOOST_AUTO_TEST_CASE(names_need_no_tokens) {
  NamespaceSpec spec;
  spec.fingerprint = {.model = "cli", .flat = true};
  spec.groups = {{}};

  BOOST_TEST(spec.validate().ok());
  BOOST_TEST(spec.segment_units() == 1U);
}

BOOST_AUTO_TEST_CASE(a_segment_is_a_power_of_two_of_units) {
  auto spec = good();
  BOOST_TEST(spec.segment_units() == 32U);  // 512 tokens by default
  spec.segment_tokens = 1000;
  BOOST_TEST(spec.segment_units() == 32U);
  spec.segment_tokens = 4;
  BOOST_TEST(spec.segment_units() == 1U);
}

BOOST_AUTO_TEST_CASE(equal_fields_give_equal_ids_and_any_other_field_another) {
  const Fingerprint base{.model = "m", .revision = "r", .dtype = "d"};
  std::set<NamespaceId> ids{namespace_id("t", base)};
  const auto differs = [&](const Fingerprint& f) {
    return ids.insert(namespace_id("t", f)).second;
  };

  BOOST_TEST((namespace_id("t", base) == namespace_id("t", Fingerprint(base))));
  BOOST_TEST((namespace_id("u", base) != namespace_id("t", base)));
  BOOST_TEST(differs({.model = "n", .revision = "r", .dtype = "d"}));
  BOOST_TEST(differs({.model = "m", .revision = "s", .dtype = "d"}));
  BOOST_TEST(differs({.model = "m", .revision = "r", .dtype = "e"}));
  BOOST_TEST(differs({.model = "m", .revision = "r", .dtype = "d", .quantisation = "q"}));
  BOOST_TEST(differs({.model = "m", .revision = "r", .dtype = "d", .layout = "q"}));
  BOOST_TEST(differs({.model = "m", .revision = "r", .dtype = "d", .parallel_layout = "q"}));
  BOOST_TEST(differs({.model = "m", .revision = "r", .dtype = "d", .flat = true}));
  BOOST_TEST(differs({.model = "mr", .revision = "", .dtype = "d"}));  // lengths are part of it
}

BOOST_AUTO_TEST_CASE(a_declared_size_is_aligned_and_used_for_every_block) {
  const GroupSpec group{.block_bytes = {5000}};
  BOOST_TEST(slot_bytes(group, {5000}) == Bytes{8192});
  BOOST_TEST(slot_bytes({.block_bytes = {300}}, {300}) == Bytes{320});
  BOOST_TEST(slot_bytes({.block_bytes = 64_KiB}, 64_KiB) == Bytes{65536});
}

BOOST_AUTO_TEST_CASE(other_sizes_take_the_next_class_and_waste_little) {
  const GroupSpec any{};
  Bytes last{0};
  for (std::uint64_t length = 1; length < (1U << 30); length += 1 + length / 7) {
    const Bytes slot = slot_bytes(any, {length});
    BOOST_REQUIRE(slot.count >= length);
    BOOST_REQUIRE(slot >= last);
    BOOST_REQUIRE(slot.count % (slot < 4_KiB ? 64 : 4096) == 0);
    if (length > 65536) BOOST_REQUIRE(slot.count <= length + length * 3 / 10);
    last = slot;
  }
  BOOST_TEST(slot_bytes(any, {1}) == Bytes{256});
  for (std::uint64_t power = 256; power <= (1_GiB).count; power *= 2)
    BOOST_TEST(slot_bytes(any, {power}) == Bytes{power});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::namespace_spec_test
