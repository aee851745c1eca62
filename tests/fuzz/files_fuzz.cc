// The small files that a daemon reads at its start, chosen by the first byte: the node's identity,
// its namespaces, its tokens, its tenants' limits. The same byte says what else is odd about the
// file, as its mode. Whatever stands there: no crash, no exception; what was accepted keeps its
// rules, and what is written again is read again.

#include <algorithm>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "actors/namespace_table.h"
#include "actors/runtime_dir.h"
#include "actors/tenant_limits.h"
#include "actors/token_table.h"
#include "store/assert.h"
#include "store/limits.h"
#include "store/node_store.h"
#include "store/slab.h"
#include "tests/fuzz/reached.h"
#include "tests/temp_dir.h"

namespace larder {
namespace {

fuzz::Reached reached;

/// What stands where a file, or its directory, should; by the input's first byte.
enum class Place : std::uint8_t { kWhole, kOpenToOthers, kMissing, kAnother };

/// Empty for every input: nothing of the one before.
const test::TempDir& clean_dir() {
  static const test::TempDir dir(test::kShm);
  for (const auto& left : std::filesystem::directory_iterator(dir.path()))
    std::filesystem::remove_all(left);
  return dir;
}

/// The directory of the node's identity; what is odd there may make it unusable.
std::string node_dir(const test::TempDir& dir, const std::string& text, Place place) {
  if (place == Place::kMissing) return dir.path() + "/made/by/larderd";
  if (place == Place::kAnother && text.empty()) return dir.file("no-directory", "") + "/below";
  dir.file("node", text);
  if (place == Place::kAnother) std::filesystem::create_directory(dir.path() + "/node.new");
  if (place == Place::kOpenToOthers) ::chmod(dir.path().c_str(), 0777);
  return dir.path();
}

void node_identity(const std::string& text, Place place) {
  const test::TempDir& dir = clean_dir();
  ::chmod(dir.path().c_str(), 0700);
  const std::string path = node_dir(dir, text, place);
  std::string id;
  std::uint64_t starts = 0;
  {
    const auto locked = RuntimeDir::lock(path);
    if (!locked.ok()) {
      LARDER_ASSERT(locked.status().message().find(dir.path()) != std::string::npos);
      return;
    }
    reached.past();
    id = locked->node_id();
    starts = locked->incarnation();
    LARDER_ASSERT(!RuntimeDir::lock(path).ok());  // it is ours
  }
  LARDER_ASSERT(id.size() == 36);
  LARDER_ASSERT(starts > 0);
  const auto again = RuntimeDir::lock(path);
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

/// A list of one namespace becomes one of more than a tenant may have: '@' is their number.
std::string many_of(const std::string& text) {
  const std::size_t begin = text.find('[');
  const std::size_t end = text.rfind(']');
  constexpr std::size_t kLongMax = 500;
  if (begin == std::string::npos || end == std::string::npos || end < begin || end > kLongMax) {
    return text;
  }
  std::string out = "[";
  for (int n = 0; n <= static_cast<int>(limits::kNamespacesPerTenantMax); ++n) {
    std::string one = text.substr(begin + 1, end - begin - 1);
    if (const std::size_t at = one.find('@'); at != std::string::npos)
      one.replace(at, 1, std::to_string(n));
    out += (n == 0 ? "" : ",") + one;
  }
  return out + "]";
}

/// Specs of the same fingerprint that differ from `spec` are refused while it is open.
void open_otherwise(NamespaceTable& table, const NamespaceInfo& ns) {
  NamespaceSpec units = ns.spec;
  units.unit_tokens += 1;
  NamespaceSpec ranks = ns.spec;
  ranks.ranks += 1;
  NamespaceSpec segments = ns.spec;
  segments.segment_tokens += 1 << 16;
  NamespaceSpec more = ns.spec;
  more.groups.push_back(more.groups.front());
  NamespaceSpec other = ns.spec;
  other.groups.front().block_bytes = other.groups.front().block_bytes + Bytes{64};
  for (const NamespaceSpec& spec : {units, ranks, more, other})
    LARDER_ASSERT(!table.open(ns.tenant_name, spec, Time{}).ok());
  const bool same = segments.segment_units() == ns.spec.segment_units();
  LARDER_ASSERT(same || !table.open(ns.tenant_name, segments, Time{}).ok());
}

void check_known(NamespaceTable& table, const NamespaceInfo& ns) {
  LARDER_ASSERT(ns.spec.validate().ok());
  LARDER_ASSERT(!ns.tenant_name.empty() && ns.tenant_name.size() <= SlabFileHeader::kTenantNameMax);
  LARDER_ASSERT(table.directory()->find(ns.id) != nullptr);
  LARDER_ASSERT(table.directory()->tenant_name(ns.tenant) == ns.tenant_name);
  const auto opened = table.open(ns.tenant_name, ns.spec, Time{});
  if (!opened.ok()) return;
  LARDER_ASSERT((*opened)->id == ns.id);
  open_otherwise(table, ns);
}

void namespaces(const std::string& text, Place place) {
  const test::TempDir& dir = clean_dir();
  const std::string path = dir.file("namespaces", place == Place::kAnother ? many_of(text) : text);
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
  const std::vector<NamespaceInfo> read = known;
  if (place != Place::kAnother) {
    for (const NamespaceInfo& ns : read)
      check_known(*table, ns);
  }
  // Saves them all.
  const std::string tenant = read.empty() ? "somebody" : read.front().tenant_name;
  const auto more = table->open(tenant, one_more(), Time{} + std::chrono::hours(1));
  LARDER_ASSERT(more.ok() || table->size() >= limits::kNamespacesPerTenantMax);
  LARDER_ASSERT(!table->set_mode(NamespaceId(1), NamespaceMode::kOff).ok());
  if (!more.ok()) return;
  LARDER_ASSERT(table->set_mode((*more)->id, NamespaceMode::kOff).ok());
  const auto again = NamespaceTable::load(path, NamespaceTable::hooks_of(store));
  LARDER_ASSERT(again.ok());
  LARDER_ASSERT(again->size() == table->size());
  const auto found = again->directory()->find((*more)->id);
  LARDER_ASSERT(found->spec.groups == (*more)->spec.groups);
  LARDER_ASSERT(found->mode->load() == NamespaceMode::kOff);
}

/// The path of a file with that text, unless it is odd.
std::string file_at(const std::string& name, const std::string& text, Place place) {
  const test::TempDir& dir = clean_dir();
  if (place == Place::kMissing) return text.empty() ? "" : dir.path() + "/none";
  std::string path = dir.path() + "/" + name;
  if (place == Place::kAnother) {
    std::filesystem::create_directory(path);
  } else {
    dir.file(name, text);
  }
  ::chmod(path.c_str(), place == Place::kOpenToOthers ? 0644 : 0600);
  return path;
}

void tokens(const std::string& text, Place place) {
  const auto table = TokenTable::load(file_at("tokens", text, place));
  if (!table.ok()) {
    LARDER_ASSERT(place != Place::kWhole ||
                  table.status().message().find("line") != std::string::npos);
    return;
  }
  LARDER_ASSERT(place != Place::kOpenToOthers);
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

void tenant_limits(std::string text, Place place) {
  // Others may read it; so that says that it is long.
  if (place == Place::kOpenToOthers) text.append(TenantLimits::kFileMax.count, '#');
  const auto limits = TenantLimits::load(file_at("tenants", text, place));
  if (!limits.ok()) {
    LARDER_ASSERT(place == Place::kMissing || place == Place::kAnother ||
                  limits.status().message().find("line") != std::string::npos ||
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
  const auto place = static_cast<larder::Place>(data[0] / 4 % 4);
  switch (data[0] % 4) {
    case 0:
      larder::node_identity(text, place);
      break;
    case 1:
      larder::namespaces(text, place);
      break;
    case 2:
      larder::tokens(text, place);
      break;
    default:
      larder::tenant_limits(text, place);
  }
  return 0;
}
