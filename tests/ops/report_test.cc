#include "ops/report.h"

#include <boost/test/unit_test.hpp>

#include "ops/connection.h"
#include "ops/namespace_options.h"
#include "store/chain.h"
#include "store/hash_text.h"

namespace larder::report_test {

BOOST_AUTO_TEST_SUITE(report)

BOOST_AUTO_TEST_CASE(json_keeps_types_and_order) {
  Report report;
  report.add("name", std::string("a \"b\""));
  report.add("count", std::uint64_t{18'446'744'073'709'551'615U});
  report.add("share", 0.5);
  report.add("good", true);
  report.name_rows("rows");
  report.add_row({{"n", std::uint64_t{1}}});

  BOOST_TEST(report.json() ==
             "{\"name\":\"a \\\"b\\\"\",\"count\":18446744073709551615,\"share\":0.5,"
             "\"good\":true,\"rows\":[{\"n\":1}]}\n");
}

BOOST_AUTO_TEST_CASE(an_empty_table_is_an_empty_array) {
  Report report;
  report.name_rows("blocks");
  BOOST_TEST(report.json() == "{\"blocks\":[]}\n");
  BOOST_TEST(report.text() == "");
}

BOOST_AUTO_TEST_CASE(text_aligns_values_and_columns) {
  Report report;
  report.add("a", std::uint64_t{1});
  report.add("long", true);
  report.add_row({{"name", std::string("x")}, {"n", std::uint64_t{5}}});
  report.add_row({{"name", std::string("longer")}, {"n", std::uint64_t{6}}});

  BOOST_TEST(report.text() == "a     1\nlong  yes\n\nname    n\nx       5\nlonger  6\n");
}

BOOST_AUTO_TEST_CASE(a_hash_reads_back_from_its_text) {
  const BlockHash hash = flat_hash("abc");
  BOOST_TEST(hash_text(hash) == "ba7816bf8f01cfea414140de5dae2223");
  BOOST_TEST((*parse_hash(hash_text(hash)) == hash));
  BOOST_TEST(!parse_hash("ba78").ok());
  BOOST_TEST(!parse_hash("zz7816bf8f01cfea414140de5dae2223").ok());
}

BOOST_AUTO_TEST_CASE(exit_codes_tell_input_from_absence_of_larderd) {
  BOOST_TEST((exit_code_of(absl::OkStatus()) == ExitCode::kOk));
  BOOST_TEST((exit_code_of(absl::InvalidArgumentError("")) == ExitCode::kUsage));
  BOOST_TEST((exit_code_of(absl::UnavailableError("")) == ExitCode::kUnavailable));
  BOOST_TEST((exit_code_of(absl::DeadlineExceededError("")) == ExitCode::kUnavailable));
  BOOST_TEST((exit_code_of(absl::InternalError("")) == ExitCode::kFailure));
}

BOOST_AUTO_TEST_CASE(the_default_namespace_takes_any_name_and_size) {
  const NamespaceSpec spec = NamespaceOptions{}.spec();
  BOOST_TEST(spec.validate().ok());
  BOOST_TEST(spec.fingerprint.flat);
  BOOST_TEST(spec.fingerprint.model == "cli");

  NamespaceOptions chain{.chain = true};
  BOOST_TEST(chain.spec().validate().ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::report_test
