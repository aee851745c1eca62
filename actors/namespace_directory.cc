#include "actors/namespace_directory.h"

#include <algorithm>
#include <utility>

namespace larder {

std::optional<TenantId> NamespaceDirectory::tenant_id(const std::string& name) const {
  MutexLock lock(&mutex_);
  const auto found = std::find(tenants_.begin(), tenants_.end(), name);
  if (found == tenants_.end()) return std::nullopt;
  return TenantId(static_cast<std::uint32_t>(found - tenants_.begin()));
}

std::string NamespaceDirectory::tenant_name(TenantId id) const {
  MutexLock lock(&mutex_);
  return tenants_.at(id.value());
}

std::vector<std::string> NamespaceDirectory::tenants() const {
  MutexLock lock(&mutex_);
  return tenants_;
}

NamespaceRef NamespaceDirectory::find(NamespaceId id) const {
  MutexLock lock(&mutex_);
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

std::vector<NamespaceRef> NamespaceDirectory::from(NamespaceId first, const std::string& tenant,
                                                   std::size_t limit) const {
  MutexLock lock(&mutex_);
  std::vector<NamespaceRef> out;
  for (auto at = by_id_.lower_bound(first); at != by_id_.end() && out.size() < limit; ++at) {
    if (tenant.empty() || at->second->tenant_name == tenant) out.push_back(at->second);
  }
  return out;
}

void NamespaceDirectory::add_tenant(const std::string& name) {
  MutexLock lock(&mutex_);
  tenants_.push_back(name);
}

void NamespaceDirectory::set(NamespaceRef info) {
  MutexLock lock(&mutex_);
  by_id_[info->id] = std::move(info);
}

void NamespaceDirectory::remove(NamespaceId id) {
  MutexLock lock(&mutex_);
  by_id_.erase(id);
}

}  // namespace larder
