// The small files that a daemon reads at its start, chosen by the first byte: the node's identity,
// its namespaces, its tokens, its tenants' limits. Whatever stands in them: no crash, no exception;
// what was accepted keeps its rules, and what is written again is read again.

#include <algorithm>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "actors/namespace_table.h"
#include "actors/runtime_dir.h"
#include "actors/tenant_limits.h"
#include "actors/token_table.h"
#include "store/assert.h"
#include "store/node_store.h"
#include "store/slab.h"
#include "tests/fuzz/reached.h"
#include "tests/temp_dir.h"

namespace larder {
namespace {

fuzz::Reached reached;

/// Empty for every input: nothing of the one before.
const test::TempDir& clean_dir() {
  static const test::TempDir dir(test::kShm);
  for (const auto& left : std::filesystem::directory_iterator(dir.path()))
    std::filesystem::remove_all(left);
  return dir;
}

void node_identity(const std::string& text) {
  const test::TempDir& dir = clean_dir();
  dir.file("node", text);
  std::string id;
  std::uint64_t starts = 0;
  {
    const auto locked = RuntimeDir::lock(dir.path());
    if (!locked.ok()) return;
    reached.past();
    id = locked->node_id();
    starts = locked->incarnation();
    LARDER_ASSERT(!RuntimeDir::lock(dir.path()).ok());  // it is ours
  }
  LARDER_ASSERT(id.size() == 36);
  LARDER_ASSERT(starts > 0);
  const auto again = RuntimeDir::lock(dir.path());
  LARDER_ASSERT(again.ok());
  LARDER_ASSERT(again->node_id() == id);
  LARDER_ASSERT(again->incarnation() == starts + 1);
}

NamespaceSpec one_more() {
  NamespaceSpec spec;
  spec.fingerprint.model = "one more";
  spec.unit_tokens = 16;
  spec.groups = {{.kind = GroupKind::kFull, .block_tokens = 16}};
  return spec;
}

void namespaces(const std::string& text) {
  const test::TempDir& dir = clean_dir();
  const std::string path = dir.file("namespaces", text);
  NodeStore store({.runtime_dir = dir.path(), .capacity = Bytes{1 << 20}});
  std::vector<NamespaceInfo> known;
  auto hooks = NamespaceTable::hooks_of(store);
  hooks.added = [&known, added = hooks.added](const NamespaceInfo& ns) {
    added(ns);
    known.push_back(ns);
  };
  auto table = NamespaceTable::load(path, hooks);
  if (!table.ok()) return;
  if (table->size() > 0) reached.past();
  for (const NamespaceInfo& ns : known) {
    LARDER_ASSERT(ns.spec.validate().ok());
    LARDER_ASSERT(!ns.tenant_name.empty() &&
                  ns.tenant_name.size() <= SlabFileHeader::kTenantNameMax);
    LARDER_ASSERT(table->directory()->find(ns.id) != nullptr);
    LARDER_ASSERT(table->directory()->tenant_name(ns.tenant) == ns.tenant_name);
    const auto opened = table->open(ns.tenant_name, ns.spec, Time{});
    if (opened.ok()) LARDER_ASSERT((*opened)->id == ns.id);
  }
  // Saves them all.
  const auto more = table->open("somebody", one_more(), Time{} + std::chrono::hours(1));
  LARDER_ASSERT(more.ok());
  const auto again = NamespaceTable::load(path, NamespaceTable::hooks_of(store));
  LARDER_ASSERT(again.ok());
  LARDER_ASSERT(again->size() == table->size());
  LARDER_ASSERT(again->directory()->find((*more)->id)->spec.groups == one_more().groups);
}

void tokens(const std::string& text) {
  const std::string path = clean_dir().file("tokens", text);
  ::chmod(path.c_str(), 0600);
  const auto table = TokenTable::load(path);
  if (!table.ok()) {
    LARDER_ASSERT(table.status().message().find("line") != std::string::npos);
    return;
  }
  if (!table->empty()) reached.past();
  const auto grant = table->find(TokenTable::digest("a-token-of-the-seeds"));
  if (!grant) return;
  LARDER_ASSERT(!grant->tenant.empty() && grant->tenant.size() <= SlabFileHeader::kTenantNameMax);
  LARDER_ASSERT(!grant->admin || (grant->read && grant->write));
  // A tenant of the file can open a namespace, which is written to disk under its name.
  const test::TempDir& dir = clean_dir();
  NodeStore store({.runtime_dir = dir.path(), .capacity = Bytes{1 << 20}});
  auto names = NamespaceTable::load(dir.path() + "/namespaces", NamespaceTable::hooks_of(store));
  LARDER_ASSERT(names.ok());
  LARDER_ASSERT(names->open(grant->tenant, one_more(), Time{}).ok());
  LARDER_ASSERT(
      NamespaceTable::load(dir.path() + "/namespaces", NamespaceTable::hooks_of(store)).ok());
}

void tenant_limits(const std::string& text) {
  const auto limits = TenantLimits::load(clean_dir().file("tenants", text));
  if (!limits.ok()) {
    LARDER_ASSERT(limits.status().message().find("line") != std::string::npos ||
                  text.size() > TenantLimits::kFileMax.count);
    return;
  }
  const TenantLimits::Limits& named = limits->of("a-tenant-of-the-seeds");
  if (named != TenantLimits::Limits{}) reached.past();
  for (const auto& one : {named, limits->of("somebody")}) {
    LARDER_ASSERT(one.share >= 1 && one.share <= TenantLimits::kShareMax);
    LARDER_ASSERT(!one.host || one.host->count <= 1ULL << 53);
  }
}

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  larder::reached.input();
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      larder::node_identity(text);
      break;
    case 1:
      larder::namespaces(text);
      break;
    case 2:
      larder::tokens(text);
      break;
    default:
      larder::tenant_limits(text);
  }
  return 0;
}
