#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"

#include "store/mutex.h"
#include "store/namespace_spec.h"
#include "store/types.h"

namespace larder {

/// An open namespace. Immutable; shared by the sessions that opened it.
struct NamespaceInfo {
  NamespaceId id;
  TenantId tenant;
  std::string tenant_name;
  NamespaceSpec spec;
  std::uint32_t segment_units = 1;
};
using NamespaceRef = std::shared_ptr<const NamespaceInfo>;

/// Tenants and namespaces of a node, kept in a file of the runtime directory so that a restart
/// knows the group table and ranks of what it re-adopts.
///
/// Not thread-safe: the tenant actor owns it (and main, before that actor runs).
class NamespaceTable {
 public:
  /// Told of every namespace, read or opened, before anyone else knows it.
  using Added = std::function<void(const NamespaceInfo&)>;

  /// Reads `file` if it is there. DATA_LOSS when it cannot be parsed.
  static absl::StatusOr<NamespaceTable> load(std::string file, Added added = nullptr);

  /// Equal fingerprints give the same namespace; FAILED_PRECONDITION when the group table (or unit,
  /// ranks) differs from the one open; RESOURCE_EXHAUSTED past limits::kNamespacesPerTenantMax. A
  /// new one is on disk when this returns.
  absl::StatusOr<NamespaceRef> open(const std::string& tenant, const NamespaceSpec& spec);
  TenantId tenant_id(const std::string& name);
  /// Name of a tenant's id, for other threads: they get a copy that grows with the table.
  std::function<std::string(TenantId)> namer() const;
  /// Null when unknown.
  NamespaceRef find(NamespaceId id) const;
  std::size_t size() const { return by_id_.size(); }

 private:
  absl::Status save() const;
  NamespaceRef add(const std::string& tenant, const NamespaceSpec& spec);

  std::string file_;
  Added added_;
  /// Names by id, shared with namer(); the only part that other threads read.
  struct Names {
    Mutex mutex;
    std::vector<std::string> by_id ABSL_GUARDED_BY(mutex);
  };

  std::map<std::string, TenantId> tenants_;
  std::shared_ptr<Names> names_ = std::make_shared<Names>();
  std::map<NamespaceId, NamespaceRef> by_id_;
};

}  // namespace larder
