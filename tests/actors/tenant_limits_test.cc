#include "actors/tenant_limits.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "store/slab.h"
#include "tests/temp_dir.h"

namespace larder::tenant_limits_test {

namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using Limits = TenantLimits::Limits;

absl::StatusOr<TenantLimits> load(const std::string& text) {
  const test::TempDir dir;
  return TenantLimits::load(dir.file("tenants", text));
}

/// The message of a refusal, with the line that it must name.
void refused(const std::string& text, int line, const std::string& why) {
  const auto limits = load(text);
  BOOST_TEST_CONTEXT("file: " << text.substr(0, 60)) {
    BOOST_TEST((limits.status().code() == absl::StatusCode::kInvalidArgument));
    const std::string message(limits.status().message());
    BOOST_TEST(message.starts_with("tenant_file /"), message);
    BOOST_TEST(message.ends_with(" line " + std::to_string(line) + ": " + why), message);
  }
}

std::string times(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t n = 0; n < count; ++n)
    all += text;
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tenant_limits)

BOOST_AUTO_TEST_CASE(a_line_gives_a_tenants_quota_and_share) {
  const auto limits = load(
      "# who may take what\n"
      "red host=1.5GiB share=4   # the first\n"
      "\n"
      "\tblue\tshare=1000\n"
      "green host=0\n"
      "grün share=1 host=4096");
  BOOST_REQUIRE(limits.ok());
  BOOST_TEST((limits->of("red") == Limits{1536_MiB, 4}));
  BOOST_TEST((limits->of("blue") == Limits{std::nullopt, 1'000}));
  BOOST_TEST((limits->of("green") == Limits{0_B, 1}));
  BOOST_TEST((limits->of("grün") == Limits{4'096_B, 1}));
  BOOST_TEST((limits->of("others") == Limits{}));
  BOOST_TEST((limits->of("") == Limits{}));
}

BOOST_AUTO_TEST_CASE(a_star_is_every_tenant_without_a_line_of_its_own) {
  const auto limits = load("red share=2\n* host=1M share=3\nblue host=2M\n");
  BOOST_REQUIRE(limits.ok());
  BOOST_TEST((limits->of("others") == Limits{1_MiB, 3}));
  // A line of its own takes nothing from the star's.
  BOOST_TEST((limits->of("red") == Limits{std::nullopt, 2}));
  BOOST_TEST((limits->of("blue") == Limits{2_MiB, 1}));
}

BOOST_AUTO_TEST_CASE(no_path_and_an_empty_file_give_no_limits) {
  const auto none = TenantLimits::load("");
  BOOST_REQUIRE(none.ok());
  BOOST_TEST((none->of("red") == Limits{}));
  const auto empty = load("");
  BOOST_REQUIRE(empty.ok());
  BOOST_TEST((empty->of("red") == Limits{}));
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named_with_line_field_value_and_limit) {
  const std::string size = "must be a number of bytes, with K M G T or KiB MiB GiB TiB behind it";
  const std::string share = "must be a whole number, 1 to 1000";
  const struct {
    const char* text;
    int line;
    std::string why;
  } lines[] = {
      {"\nred\n", 2, "tenant = red: must be followed by host=SIZE or share=N"},
      {"red # host=1\n", 1, "tenant = red: must be followed by host=SIZE or share=N"},
      {"host=1 share=2\n", 1,
       "tenant = host=1: is a limit; the line must begin with the tenant's name"},
      {"share=1\n", 1, "tenant = share=1: is a limit; the line must begin with the tenant's name"},
      {"red hosts=1\n", 1, "word = hosts=1: must be host=SIZE or share=N"},
      {"red host=1 disk=1\n", 1, "word = disk=1: must be host=SIZE or share=N"},
      {"red host=1 GiB\n", 1, "word = GiB: must be host=SIZE or share=N"},
      {"red Host=1\n", 1, "word = Host=1: must be host=SIZE or share=N"},
      {"red host\n", 1, "word = host: must be host=SIZE or share=N"},
      {"red host=\n", 1, "host = : " + size},
      {"red host=-1\n", 1, "host = -1: " + size},
      {"red host=nan\n", 1, "host = nan: " + size},
      {"red host=1X\n", 1, "host = 1X: " + size},
      {"red host=0.5\n", 1, "host = 0.5: must be whole bytes"},
      {"red host=16384T\n", 1, "host = 16384T: must be at most 2^53 bytes"},
      {"red host=1 host=1\n", 1, "host = 1: stands twice in the line"},
      {"red share=\n", 1, "share = : " + share},
      {"red share=0\n", 1, "share = 0: " + share},
      {"red share=1001\n", 1, "share = 1001: " + share},
      {"red share=-1\n", 1, "share = -1: " + share},
      {"red share=2x\n", 1, "share = 2x: " + share},
      {"red share=99999999999\n", 1, "share = 99999999999: " + share},
      {"red share=1 share=1\n", 1, "share = 1: stands twice in the line"},
      {"red share=1\nblue share=1\nred host=1\n", 3, "tenant = red: stands in an earlier line"},
      {"* share=1\n* host=1\n", 2, "tenant = *: stands in an earlier line"},
      {"caf\xe9 share=1\n", 1, "tenant = caf\\xe9: must be UTF-8"},
  };
  for (const auto& [text, line, why] : lines)
    refused(text, line, why);
  const std::string name(SlabFileHeader::kTenantNameMax, 't');
  BOOST_TEST(load(name + " share=2\n")->of(name).share == 2U);
  refused(name + "t share=1\n", 1,
          "tenant = " + name.substr(0, 40) + "…: has " + std::to_string(name.size() + 1) +
              " bytes, must have at most " + std::to_string(name.size()));
}

BOOST_AUTO_TEST_CASE(lines_and_bytes_have_bounds) {
  BOOST_TEST(load(times("#\n", TenantLimits::kLinesMax)).ok());
  refused(times("#\n", TenantLimits::kLinesMax) + "red host=1\n", TenantLimits::kLinesMax + 1,
          "the file must have at most 4096 lines");
  BOOST_TEST(load(std::string(1 << 20, '#')).ok());
  const auto large = load(std::string((1 << 20) + 1, '#'));
  BOOST_TEST((large.status().code() == absl::StatusCode::kResourceExhausted));
  BOOST_TEST(
      std::string(large.status().message()).ends_with(" has 1048577 bytes, the limit is 1048576"));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_or_is_no_file_is_named) {
  const test::TempDir dir;
  for (const std::string& path : {dir.path() + "/none", dir.path()}) {
    const auto limits = TenantLimits::load(path);
    BOOST_TEST((limits.status().code() == absl::StatusCode::kNotFound));
    BOOST_TEST(std::string(limits.status().message()) == "tenant_file " + path + " cannot be read");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::tenant_limits_test
