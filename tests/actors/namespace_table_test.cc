#include "actors/namespace_table.h"

#include <filesystem>
#include <fstream>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "tests/temp_dir.h"

namespace larder {

namespace {

struct TableFile {
  std::string path() const { return dir.path() + "/namespaces"; }
  test::TempDir dir;
};

NamespaceSpec spec() {
  NamespaceSpec out;
  out.fingerprint.model = "m";
  out.fingerprint.revision = "r";
  out.unit_tokens = 16;
  out.ranks = 2;
  out.groups.push_back({GroupKind::kFull, 32, 0, Bytes{65'536}});
  out.groups.push_back({GroupKind::kWindow, 16, 64, Bytes{4096}});
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(namespace_table)

BOOST_AUTO_TEST_CASE(equal_fields_give_equal_ids_and_survive_a_restart) {
  const TableFile file;
  NamespaceId id;
  {
    auto table = NamespaceTable::load(file.path());
    BOOST_REQUIRE(table.ok());
    const auto first = table->open("t", spec());
    const auto second = table->open("t", spec());
    BOOST_REQUIRE((first.ok() && second.ok()));
    BOOST_TEST(((*first)->id == (*second)->id));
    id = (*first)->id;
  }
  auto table = NamespaceTable::load(file.path());
  BOOST_REQUIRE(table.ok());
  const NamespaceRef again = table->find(id);
  BOOST_REQUIRE(again != nullptr);
  BOOST_TEST((again->spec.groups == spec().groups));
  BOOST_TEST(again->spec.ranks == 2U);
  BOOST_TEST(again->tenant_name == "t");
}

BOOST_AUTO_TEST_CASE(tenants_do_not_meet) {
  const TableFile file;
  auto table = NamespaceTable::load(file.path());
  const auto mine = table->open("a", spec());
  const auto theirs = table->open("b", spec());
  BOOST_REQUIRE((mine.ok() && theirs.ok()));
  BOOST_TEST(((*mine)->id != (*theirs)->id));
  BOOST_TEST(((*mine)->tenant != (*theirs)->tenant));
  BOOST_TEST(table->namer()((*theirs)->tenant) == "b");
}

BOOST_AUTO_TEST_CASE(another_group_table_is_refused_by_field) {
  const TableFile file;
  auto table = NamespaceTable::load(file.path());
  BOOST_REQUIRE(table->open("t", spec()).ok());
  NamespaceSpec other = spec();
  other.groups[1].window_tokens = 128;
  const auto refused = table->open("t", other);
  BOOST_TEST((refused.status().code() == absl::StatusCode::kFailedPrecondition));
  BOOST_TEST(std::string(refused.status().message()).find("group 1") != std::string::npos);
  BOOST_TEST(table->size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_table_is_an_error_with_a_remedy) {
  const TableFile file;
  std::ofstream(file.path()) << "{ not json";
  const auto table = NamespaceTable::load(file.path());
  BOOST_TEST((table.status().code() == absl::StatusCode::kDataLoss));
  BOOST_TEST(std::string(table.status().message()).find("remove the file") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder
