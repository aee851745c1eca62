#include "actors/namespace_table.h"

#include <filesystem>
#include <fstream>
#include <optional>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "store/limits.h"
#include "tests/sanitized.h"
#include "tests/temp_dir.h"

namespace larder::namespace_table_test {

namespace {

const Time kNow = Time(std::chrono::hours(1));

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
    auto table = NamespaceTable::load(file.path(), {});
    BOOST_REQUIRE(table.ok());
    const auto first = table->open("t", spec(), kNow);
    const auto second = table->open("t", spec(), kNow);
    BOOST_REQUIRE((first.ok() && second.ok()));
    BOOST_TEST(((*first)->id == (*second)->id));
    id = (*first)->id;
  }
  auto table = NamespaceTable::load(file.path(), {});
  BOOST_REQUIRE(table.ok());
  const NamespaceRef again = table->directory()->find(id);
  BOOST_REQUIRE(again != nullptr);
  BOOST_TEST((again->spec.groups == spec().groups));
  BOOST_TEST(again->spec.ranks == 2U);
  BOOST_TEST(again->tenant_name == "t");
}

BOOST_AUTO_TEST_CASE(tenants_do_not_meet) {
  const TableFile file;
  auto table = NamespaceTable::load(file.path(), {});
  const auto mine = table->open("a", spec(), kNow);
  const auto theirs = table->open("b", spec(), kNow);
  BOOST_REQUIRE((mine.ok() && theirs.ok()));
  BOOST_TEST(((*mine)->id != (*theirs)->id));
  BOOST_TEST(((*mine)->tenant != (*theirs)->tenant));
  BOOST_TEST(table->directory()->tenant_name((*theirs)->tenant) == "b");
}

BOOST_AUTO_TEST_CASE(another_group_table_is_refused_by_field) {
  const TableFile file;
  auto table = NamespaceTable::load(file.path(), {});
  const auto opened = table->open("t", spec(), kNow);
  BOOST_REQUIRE(opened.ok());
  NamespaceSpec other = spec();
  other.groups[1].window_tokens = 128;
  const auto refused = table->open("t", other, kNow);
  BOOST_TEST((refused.status().code() == absl::StatusCode::kFailedPrecondition));
  BOOST_TEST(std::string(refused.status().message()).find("group 1") != std::string::npos);
  BOOST_TEST(table->size() == 1U);
}

/// A table whose blocks the test invents.
struct UsedTable {
  UsedTable() {
    NamespaceTable::Hooks hooks;
    hooks.forgotten = [this](NamespaceId ns) { forgotten.push_back(ns); };
    hooks.with_blocks = [this] {
      sweeps += 1;
      return with_blocks;
    };
    table.emplace(*NamespaceTable::load(file.path(), std::move(hooks)));
  }
  TableFile file;
  absl::flat_hash_set<NamespaceId> with_blocks;
  std::vector<NamespaceId> forgotten;
  int sweeps = 0;
  std::optional<NamespaceTable> table;
};

/// With a namespace open, and another group table for it.
struct OpenedTable {
  OpenedTable() {
    other.groups[1].window_tokens = 128;
    BOOST_REQUIRE(opened.ok());
    id = (*opened)->id;
  }
  UsedTable used;
  NamespaceSpec other = spec();
  absl::StatusOr<NamespaceRef> opened = used.table->open("t", spec(), kNow);
  NamespaceId id;
};

BOOST_FIXTURE_TEST_CASE(a_group_table_that_nothing_uses_gives_way, OpenedTable) {
  BOOST_TEST(!used.table->open("t", other, kNow).ok());  // a session has it open
  BOOST_TEST(used.sweeps == 0);
  opened = absl::UnknownError("closed");
  used.with_blocks.insert(id);
  BOOST_TEST(!used.table->open("t", other, kNow).ok());  // it has blocks
  used.with_blocks.clear();
  // Looked at a moment ago: it costs too much to look at every block again.
  BOOST_TEST(!used.table->open("t", other, kNow).ok());
  BOOST_TEST(used.sweeps == 1);

  const auto changed = used.table->open("t", other, kNow + NamespaceTable::kSweepInterval);

  BOOST_REQUIRE(changed.ok());
  BOOST_TEST(((*changed)->id == id));
  BOOST_TEST((*changed)->spec.groups[1].window_tokens == 128U);
  BOOST_TEST((used.forgotten == std::vector{id}));
  const auto again = NamespaceTable::load(used.file.path(), {});
  BOOST_REQUIRE(again.ok());
  BOOST_TEST(again->directory()->find(id)->spec.groups[1].window_tokens == 128U);
}

BOOST_FIXTURE_TEST_CASE(a_mode_is_of_the_fingerprint_and_outlives_another_group_table,
                        OpenedTable) {
  BOOST_REQUIRE(used.table->set_mode(id, NamespaceMode::kShadow).ok());
  opened = absl::UnknownError("closed");

  const auto changed = used.table->open("t", other, kNow);

  BOOST_REQUIRE_MESSAGE(changed.ok(), changed.status());
  BOOST_TEST(((*changed)->mode->load() == NamespaceMode::kShadow));
  BOOST_TEST((*changed)->spec.groups[1].window_tokens == 128U);
  const auto again = NamespaceTable::load(used.file.path(), {});
  BOOST_REQUIRE(again.ok());
  BOOST_TEST((again->directory()->find(id)->mode->load() == NamespaceMode::kShadow));
}

BOOST_AUTO_TEST_CASE(a_tenant_at_its_limit_loses_what_nothing_uses) {
  if (sim::kSanitized) return;  // writes the table a thousand times: minutes, and nothing new
  UsedTable used;
  std::vector<NamespaceRef> open;
  const auto named = [](std::uint32_t n) {
    NamespaceSpec out = spec();
    out.fingerprint.model = "m" + std::to_string(n);
    return out;
  };
  for (std::uint32_t n = 0; n < limits::kNamespacesPerTenantMax; ++n) {
    const auto one = used.table->open("t", named(n), kNow);
    BOOST_REQUIRE(one.ok());
    if (n % 2 == 0) open.push_back(*one);
    if (n % 4 == 1) used.with_blocks.insert((*one)->id);
  }
  const auto next = used.table->open("t", named(5000), kNow);
  BOOST_REQUIRE(next.ok());
  BOOST_TEST(used.table->size() == limits::kNamespacesPerTenantMax * 3 / 4 + 1);
  for (const NamespaceRef& one : open)
    BOOST_TEST(used.table->directory()->find(one->id) != nullptr);
  for (const NamespaceId& one : used.with_blocks)
    BOOST_TEST(used.table->directory()->find(one) != nullptr);
}

BOOST_AUTO_TEST_CASE(each_opener_has_its_own_time_to_live) {
  UsedTable used;
  NamespaceSpec brief = spec();
  brief.ttl = std::chrono::seconds(5);
  const auto one = used.table->open("t", spec(), kNow);
  const auto two = used.table->open("t", brief, kNow);
  BOOST_REQUIRE((one.ok() && two.ok()));
  BOOST_TEST(((*one)->spec.ttl == Duration{0}));
  BOOST_TEST(((*two)->spec.ttl == brief.ttl));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_table_is_an_error_with_a_remedy) {
  const TableFile file;
  std::ofstream(file.path()) << "{ not json";
  const auto table = NamespaceTable::load(file.path(), {});
  BOOST_TEST((table.status().code() == absl::StatusCode::kDataLoss));
  BOOST_TEST(std::string(table.status().message()).find("remove the file") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::namespace_table_test
