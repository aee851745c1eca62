#include "actors/namespace_table.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "store/checksum.h"
#include "store/limits.h"
#include "store/slab.h"
#include "store/status_macros.h"

namespace larder {

namespace {

using nlohmann::json;

json to_json(const NamespaceInfo& info) {
  const NamespaceSpec& spec = info.spec;
  json groups = json::array();
  for (const GroupSpec& group : spec.groups) {
    groups.push_back({{"kind", static_cast<int>(group.kind)},
                      {"block_tokens", group.block_tokens},
                      {"window_tokens", group.window_tokens},
                      {"block_bytes", group.block_bytes.count}});
  }
  return {{"tenant", info.tenant_name},
          {"model", spec.fingerprint.model},
          {"revision", spec.fingerprint.revision},
          {"dtype", spec.fingerprint.dtype},
          {"quantisation", spec.fingerprint.quantisation},
          {"layout", spec.fingerprint.layout},
          {"parallel_layout", spec.fingerprint.parallel_layout},
          {"flat", spec.fingerprint.flat},
          {"unit_tokens", spec.unit_tokens},
          {"segment_tokens", spec.segment_tokens},
          {"ranks", spec.ranks},
          {"ttl_ns", spec.ttl.count()},
          {"mode", name_of(info.mode->load(std::memory_order_relaxed))},
          {"groups", groups}};
}

/// A whole number of 0 or more; one that does not fit becomes the largest that does, which
/// NamespaceSpec::validate() refuses where it matters. Throws json's error for anything else.
template <class Number>
Number number(const json& from, const char* field) {
  const auto value = from.at(field).get_ref<const json::number_unsigned_t&>();
  return static_cast<Number>(std::min<std::uint64_t>(value, std::numeric_limits<Number>::max()));
}

NamespaceSpec spec_from_json(const json& from) {
  NamespaceSpec spec;
  spec.fingerprint = {from.at("model"),        from.at("revision"), from.at("dtype"),
                      from.at("quantisation"), from.at("layout"),   from.at("parallel_layout"),
                      from.at("flat")};
  spec.unit_tokens = number<std::uint32_t>(from, "unit_tokens");
  spec.segment_tokens = number<std::uint32_t>(from, "segment_tokens");
  spec.ranks = number<std::uint32_t>(from, "ranks");
  spec.ttl = Duration(number<std::int64_t>(from, "ttl_ns"));
  for (const json& group : from.at("groups")) {
    spec.groups.push_back({static_cast<GroupKind>(number<std::uint8_t>(group, "kind")),
                           number<std::uint32_t>(group, "block_tokens"),
                           number<std::uint32_t>(group, "window_tokens"),
                           Bytes{number<std::uint64_t>(group, "block_bytes")}});
  }
  return spec;
}

absl::Status check_tenant(const std::string& name) {
  if (!name.empty() && name.size() <= SlabFileHeader::kTenantNameMax) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("tenant of {} bytes, must have 1 to {}",
                                                name.size(), SlabFileHeader::kTenantNameMax));
}

/// Of the list as it is written: a flipped digit must not change a group table.
std::string checksum_of(const json& list) {
  const std::string text = list.dump();
  return fmt::format("{:016x}", checksum(std::as_bytes(std::span(text))));
}

/// The list of namespaces in the file's text; a bare one is of a version that had no checksum.
absl::StatusOr<json> list_of(std::istream& in) {
  json all = json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (all.is_array()) return all;
  if (!all.is_object() || !all["namespaces"].is_array()) {
    return absl::DataLossError("not a list of namespaces");
  }
  if (all["checksum"] != checksum_of(all["namespaces"])) {
    return absl::DataLossError("its checksum is wrong");
  }
  return std::move(all["namespaces"]);
}

/// Names the first field in which two specs of one fingerprint differ.
std::string difference(const NamespaceSpec& open, const NamespaceSpec& asked) {
  if (open.unit_tokens != asked.unit_tokens) {
    return fmt::format("unit_tokens {} (open: {})", asked.unit_tokens, open.unit_tokens);
  }
  if (open.ranks != asked.ranks) {
    return fmt::format("ranks {} (open: {})", asked.ranks, open.ranks);
  }
  if (open.segment_units() != asked.segment_units()) {
    return fmt::format("segment_tokens {} (open: {})", asked.segment_tokens, open.segment_tokens);
  }
  if (open.groups.size() != asked.groups.size()) {
    return fmt::format("{} groups (open: {})", asked.groups.size(), open.groups.size());
  }
  const auto [mine, theirs] =
      std::mismatch(open.groups.begin(), open.groups.end(), asked.groups.begin());
  if (mine == open.groups.end()) return {};
  return fmt::format(
      "group {}: kind {} block_tokens {} window_tokens {} block_bytes {} "
      "(open: {} {} {} {})",
      mine - open.groups.begin(), static_cast<int>(theirs->kind), theirs->block_tokens,
      theirs->window_tokens, theirs->block_bytes.count, static_cast<int>(mine->kind),
      mine->block_tokens, mine->window_tokens, mine->block_bytes.count);
}

/// Files of older daemons have none.
NamespaceMode mode_from_json(const json& from) {
  return parse_namespace_mode(from.value("mode", "default")).value_or(NamespaceMode::kDefault);
}

}  // namespace

NamespaceTable::Hooks NamespaceTable::hooks_of(NodeStore& store) {
  Hooks hooks;
  hooks.added = [&store](const NamespaceInfo& ns) {
    store.unit_shapes.set(ns.id, unit_shape(ns.spec));
  };
  hooks.forgotten = [&store](NamespaceId ns) { store.unit_shapes.remove(ns); };
  hooks.with_blocks = [&store] { return store.namespaces_in_use(); };
  return hooks;
}

absl::StatusOr<NamespaceTable> NamespaceTable::load(std::string file, Hooks hooks) {
  NamespaceTable table;
  table.file_ = std::move(file);
  table.hooks_ = std::move(hooks);
  std::ifstream in(table.file_);
  if (!in) return table;
  const absl::Status read = table.read(in);
  if (read.ok()) return table;
  return absl::DataLossError(
      fmt::format("{}: {}; remove the file (blocks stay, group tables are sent again)", table.file_,
                  std::string(read.message())));
}

/// All of them or none: a table read in part would let group tables of the rest differ.
absl::Status NamespaceTable::read(std::istream& in) {
  LARDER_ASSIGN_OR_RETURN(const json list, list_of(in));
  struct Row {
    std::string tenant;
    NamespaceSpec spec;
    NamespaceMode mode;
  };
  std::vector<Row> all;
  try {
    for (const json& one : list)
      all.push_back({one.at("tenant"), spec_from_json(one), mode_from_json(one)});
  } catch (const json::exception& e) {
    return absl::DataLossError(e.what());
  }
  for (const Row& row : all) {
    LARDER_RETURN_IF_ERROR(check_tenant(row.tenant));
    LARDER_RETURN_IF_ERROR(row.spec.validate());
  }
  for (const Row& row : all)
    add(row.tenant, row.spec, row.mode);
  return absl::OkStatus();
}

absl::StatusOr<NamespaceRef> NamespaceTable::open(const std::string& tenant,
                                                  const NamespaceSpec& spec, Time now) {
  LARDER_RETURN_IF_ERROR(spec.validate());
  const NamespaceId id = namespace_id(tenant, spec.fingerprint);
  auto mode = NamespaceMode::kDefault;  // goes with the fingerprint, whatever the group table
  if (auto found = by_id_.find(id); found != by_id_.end()) {
    const std::string why = difference(found->second.info->spec, spec);
    if (why.empty()) return hand_out(found->second, spec.ttl);
    mode = found->second.info->mode->load(std::memory_order_relaxed);
    if (found->second.opened.expired()) sweep(now, id);
    if (by_id_.contains(id)) {
      return absl::FailedPreconditionError(
          fmt::format("namespace {:016x} is in use with another group table: {}", id.value(), why));
    }
  }
  LARDER_RETURN_IF_ERROR(room_for_one(tenant, now));
  add(tenant, spec, mode);
  if (absl::Status saved = save(); !saved.ok()) {
    by_id_.erase(id);
    forget(id);
    return saved;
  }
  return hand_out(by_id_.at(id), spec.ttl);
}

NamespaceRef NamespaceTable::hand_out(Known& known, Duration ttl) {
  std::shared_ptr<const void> opened = known.opened.lock();
  if (opened == nullptr) {
    opened = std::make_shared<char>();
    known.opened = opened;
  }
  auto mine = std::make_shared<NamespaceInfo>(*known.info);
  mine->spec.ttl = ttl;
  mine->opened = std::move(opened);
  return mine;
}

absl::Status NamespaceTable::room_for_one(const std::string& tenant, Time now) {
  const auto of_tenant = [&] {
    return std::count_if(by_id_.begin(), by_id_.end(),
                         [&](const auto& item) { return item.second.info->tenant_name == tenant; });
  };
  if (of_tenant() >= limits::kNamespacesPerTenantMax) sweep(now);
  const auto left = of_tenant();
  if (left < limits::kNamespacesPerTenantMax) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      fmt::format("tenant {} has {} namespaces that are open or have blocks, the limit is {}",
                  tenant, left, limits::kNamespacesPerTenantMax));
}

/// Forgets what nobody has open and no block is of; with a mode of its own only `even` is.
void NamespaceTable::sweep(Time now, std::optional<NamespaceId> even) {
  if (now < next_sweep_) return;
  next_sweep_ = now + kSweepInterval;
  const absl::flat_hash_set<NamespaceId> used = hooks_.with_blocks();
  std::erase_if(by_id_, [&](const auto& item) {
    if (!item.second.opened.expired() || used.contains(item.first)) return false;
    const NamespaceMode mode = item.second.info->mode->load(std::memory_order_relaxed);
    if (mode != NamespaceMode::kDefault && item.first != even) return false;
    forget(item.first);
    return true;
  });
}

/// For everybody but the table's own map.
void NamespaceTable::forget(NamespaceId id) {
  hooks_.forgotten(id);
  directory_->remove(id);
}

NamespaceId NamespaceTable::add(const std::string& tenant, const NamespaceSpec& spec,
                                NamespaceMode mode) {
  auto info = std::make_shared<NamespaceInfo>();
  info->id = namespace_id(tenant, spec.fingerprint);
  info->tenant = tenant_id(tenant);
  info->tenant_name = tenant;
  info->spec = spec;
  info->segment_units = spec.segment_units();
  info->mode = std::make_shared<std::atomic<NamespaceMode>>(mode);
  hooks_.added(*info);
  directory_->set(info);
  const NamespaceId id = info->id;
  by_id_[id] = {.info = std::move(info), .opened = {}};
  return id;
}

TenantId NamespaceTable::tenant_id(const std::string& name) {
  const auto next = TenantId(static_cast<std::uint32_t>(tenants_.size()));
  const auto [found, added] = tenants_.try_emplace(name, next);
  if (added) {
    directory_->add_tenant(name);
    hooks_.tenant_added(next, name);
  }
  return found->second;
}

absl::Status NamespaceTable::set_mode(NamespaceId id, NamespaceMode mode) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) {
    return absl::NotFoundError(fmt::format("namespace {:016x} is not known", id.value()));
  }
  found->second.info->mode->store(mode, std::memory_order_relaxed);
  return save();
}

absl::Status NamespaceTable::save() const {
  json all = json::array();
  for (const auto& [id, known] : by_id_)
    all.push_back(to_json(*known.info));
  const std::string temporary = file_ + ".new";
  ::unlink(temporary.c_str());  // a link that stands there is not followed
  {
    std::ofstream out(temporary, std::ios::trunc);
    const std::string sum = checksum_of(all);
    out << json{{"checksum", sum}, {"namespaces", std::move(all)}}.dump(1) << '\n';
    if (!out.flush()) {
      return absl::ResourceExhaustedError(fmt::format("cannot write {}", temporary));
    }
  }
  if (std::rename(temporary.c_str(), file_.c_str()) != 0) {
    return absl::InternalError(fmt::format("cannot rename {} to {}", temporary, file_));
  }
  return absl::OkStatus();
}

}  // namespace larder
