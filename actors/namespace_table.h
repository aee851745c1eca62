#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"

#include "actors/namespace_directory.h"
#include "store/namespace_spec.h"
#include "store/node_store.h"
#include "store/types.h"

namespace larder {

/// Tenants and namespaces of a node, kept in a file of the runtime directory so that a restart
/// knows the group table and ranks of what it re-adopts. One that no session has open and no block
/// is of is forgotten when its tenant needs the room, or when it is opened with another group
/// table.
///
/// Not thread-safe: the tenant actor owns it (and main, before that actor runs).
class NamespaceTable {
 public:
  struct Hooks {
    /// Told of every namespace, read or opened, before anyone else knows it.
    std::function<void(const NamespaceInfo&)> added = [](const NamespaceInfo&) {};
    /// Told of every tenant once the directory has it, before anything of it is stored.
    std::function<void(TenantId, const std::string& name)> tenant_added = [](TenantId,
                                                                             const std::string&) {};
    /// Told of every namespace that is forgotten.
    std::function<void(NamespaceId)> forgotten = [](NamespaceId) {};
    /// Every namespace that a block is of, one being written included. Slow: looks at all blocks.
    std::function<absl::flat_hash_set<NamespaceId>()> with_blocks = [] {
      return absl::flat_hash_set<NamespaceId>();
    };
  };
  /// Those of a node's store, which outlives the table.
  static Hooks hooks_of(NodeStore& store);
  /// Blocks are looked at for what may be forgotten at most once in this time.
  static constexpr Duration kSweepInterval = std::chrono::seconds(1);

  /// Reads `file` if it is there. DATA_LOSS, naming the remedy, when it cannot be parsed or its
  /// checksum is wrong.
  static absl::StatusOr<NamespaceTable> load(std::string file, Hooks hooks);

  /// Equal fingerprints give the same namespace. `spec.ttl` is of what this opener puts.
  /// FAILED_PRECONDITION when the group table (or unit, ranks) differs from the one in use;
  /// RESOURCE_EXHAUSTED past limits::kNamespacesPerTenantMax in use. A new one is on disk when this
  /// returns.
  absl::StatusOr<NamespaceRef> open(const std::string& tenant, const NamespaceSpec& spec, Time now);
  TenantId tenant_id(const std::string& name);
  /// In force when this returns, for every session; NOT_FOUND. RESOURCE_EXHAUSTED when it cannot
  /// be written down: it ends with the daemon then. One that has a mode of its own is not
  /// forgotten.
  absl::Status set_mode(NamespaceId id, NamespaceMode mode);
  /// For other threads; outlives the table and follows it.
  std::shared_ptr<const NamespaceDirectory> directory() const { return directory_; }
  std::size_t size() const { return by_id_.size(); }

 private:
  struct Known {
    NamespaceRef info;
    std::weak_ptr<const void> opened;  ///< alive while a session has it open
  };

  absl::Status read(std::istream& in);
  absl::Status save() const;
  NamespaceId add(const std::string& tenant, const NamespaceSpec& spec,
                  NamespaceMode mode = NamespaceMode::kDefault);
  void forget(NamespaceId id);
  NamespaceRef hand_out(Known& known, Duration ttl);
  absl::Status room_for_one(const std::string& tenant, Time now);
  void sweep(Time now, std::optional<NamespaceId> even = std::nullopt);

  std::string file_;
  Hooks hooks_;
  Time next_sweep_;
  std::map<std::string, TenantId> tenants_;
  std::shared_ptr<NamespaceDirectory> directory_ = std::make_shared<NamespaceDirectory>();
  std::map<NamespaceId, Known> by_id_;
};

}  // namespace larder
