#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "store/mutex.h"
#include "store/namespace_mode.h"
#include "store/namespace_spec.h"
#include "store/types.h"

namespace larder {

/// An open namespace, as one of its sessions opened it. Immutable but for its mode.
struct NamespaceInfo {
  NamespaceId id;
  TenantId tenant;
  std::string tenant_name;
  NamespaceSpec spec;
  std::uint32_t segment_units = 1;
  /// One for all sessions that have the namespace open; relaxed: it orders nothing.
  std::shared_ptr<std::atomic<NamespaceMode>> mode;
  /// Kept by every session that has the namespace open: who is alone with it may forget it.
  std::shared_ptr<const void> opened;
};
using NamespaceRef = std::shared_ptr<const NamespaceInfo>;

/// What all threads may know of the namespace table: names of tenants, namespaces and their modes.
///
/// Any thread; a mutex for a few moves. The table alone writes.
class NamespaceDirectory {
 public:
  /// None when nothing of it is known.
  std::optional<TenantId> tenant_id(const std::string& name) const;
  /// Of an id that the table gave.
  std::string tenant_name(TenantId id) const;
  /// All that the table gave an id, by it.
  std::vector<std::string> tenants() const;
  /// Null when unknown.
  NamespaceRef find(NamespaceId id) const;
  /// In order of ids, from `first` on, `limit` at most; of one tenant, or of all for "".
  std::vector<NamespaceRef> from(NamespaceId first, const std::string& tenant,
                                 std::size_t limit) const;

  void add_tenant(const std::string& name);
  void set(NamespaceRef info);
  void remove(NamespaceId id);

 private:
  mutable Mutex mutex_;
  std::vector<std::string> tenants_ ABSL_GUARDED_BY(mutex_);
  std::map<NamespaceId, NamespaceRef> by_id_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace larder
