#include "actors/token_table.h"

#include <optional>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/temp_dir.h"

namespace larder::token_table_test {

namespace {

struct TokenFile {
  explicit TokenFile(const std::string& text, mode_t mode = 0600) : path(dir.file("tokens", text)) {
    ::chmod(path.c_str(), mode);
  }
  test::TempDir dir;
  std::string path;
};

std::optional<TokenTable::Grant> find(const TokenTable& table, const std::string& token) {
  return table.find(TokenTable::digest(token));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(token_table)

BOOST_AUTO_TEST_CASE(a_token_names_its_tenant) {
  const TokenFile file("# tokens\n0123456789abcdef red\nfedcba9876543210 blue admin # ops\n");
  const auto table = TokenTable::load(file.path);
  BOOST_REQUIRE(table.ok());
  BOOST_TEST(find(*table, "0123456789abcdef")->tenant == "red");
  BOOST_TEST(!find(*table, "0123456789abcdef")->admin);
  BOOST_TEST(find(*table, "fedcba9876543210")->admin);
  BOOST_TEST(!find(*table, "0123456789abcdee").has_value());
  BOOST_TEST(!find(*table, "").has_value());
}

BOOST_AUTO_TEST_CASE(a_token_may_stand_as_its_digest_and_with_the_rights_that_it_gives) {
  // SHA-256 of "0123456789abcdef".
  const TokenFile file(
      "sha256:9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f red read\n"
      "fedcba9876543210 blue write # ops\n"
      "fedcba9876543211 blue\n");
  const auto table = TokenTable::load(file.path);
  BOOST_REQUIRE(table.ok());
  const auto reader = find(*table, "0123456789abcdef");
  BOOST_REQUIRE(reader.has_value());
  BOOST_TEST((*reader == TokenTable::Grant{"red", true, false, false}));
  BOOST_TEST((*find(*table, "fedcba9876543210") == TokenTable::Grant{"blue", false, true, false}));
  BOOST_TEST((*find(*table, "fedcba9876543211") == TokenTable::Grant{"blue", true, true, false}));
  // The digest is no token itself.
  BOOST_TEST(!find(*table, "9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f"));
}

BOOST_AUTO_TEST_CASE(a_short_token_or_a_missing_tenant_is_named_by_line) {
  for (const char* text : {"short red\n", "\n0123456789abcdef\n", "0123456789abcdef red king\n",
                           "sha256:9f9f red\n", "sha256: red\n"}) {
    const TokenFile file(text);
    const auto table = TokenTable::load(file.path);
    BOOST_TEST((table.status().code() == absl::StatusCode::kInvalidArgument));
    BOOST_TEST(std::string(table.status().message()).find("line") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_tenant_that_no_slab_can_name_and_a_token_given_twice_are_refused) {
  const std::string token = "0123456789abcdef ";
  for (const std::string& text :
       {token + std::string(256, 't') + "\n", token + "red\n" + token + "blue\n"}) {
    const TokenFile file(text);
    const auto table = TokenTable::load(file.path);
    BOOST_TEST((table.status().code() == absl::StatusCode::kInvalidArgument));
    BOOST_TEST(std::string(table.status().message()).find("line") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_others_may_read_is_refused) {
  const TokenFile file("0123456789abcdef red\n", 0644);
  BOOST_TEST((TokenTable::load(file.path).status().code() == absl::StatusCode::kPermissionDenied));
}

BOOST_AUTO_TEST_CASE(a_wrong_line_is_told_which_word_is_wrong) {
  const struct {
    const char* line;
    const char* why;
  } cases[] = {
      {"short red", "token (the first word, of 5 characters): must have at least 16"},
      {"sha256:12 red", "token (the first word, of 9 characters)"},
      {"0123456789abcdef", "no tenant behind the token"},
      {"0123456789abcdef *", "tenant *: a token is of one tenant"},
      {"0123456789abcdef red reed", "right reed: must be read, write or admin"},
  };
  for (const auto& one : cases) {
    const TokenFile file(std::string("# tokens\n") + one.line + "\n");
    const std::string why(TokenTable::load(file.path).status().message());
    BOOST_TEST(why.find(" line 2: " + std::string(one.why)) != std::string::npos, why);
    BOOST_TEST(why.find("0123456789abcdef") == std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::token_table_test
