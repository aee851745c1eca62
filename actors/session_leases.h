#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "actors/node_context.h"
#include "actors/session_lookup.h"

namespace larder {

/// The leases of one session by the get that took them. One io thread.
class LeaseBook {
 public:
  explicit LeaseBook(NodeContext& node) : node_(node) {}

  /// Whose they are, before the first; it outlives the book.
  void belong_to(TenantUse& tenant) { tenant_ = &tenant; }

  /// False past limits::kSessionLeasesMax, and when the tenant would leave others no room (nothing
  /// is kept then: the caller releases).
  bool add(std::uint64_t get, std::vector<HeldBlock> held, Time deadline);
  bool contains(std::uint64_t get) const { return gets_.contains(get); }
  void release(std::uint64_t get);
  /// False when the lease has lapsed.
  bool renew(std::uint64_t get, Time deadline);
  void expire(Time now);
  void release_all();
  std::size_t size() const { return blocks_; }

 private:
  struct Batch {
    std::vector<HeldBlock> held;
    Time deadline;
    std::uint64_t bytes = 0;
  };
  void drop(const Batch& batch);

  NodeContext& node_;
  TenantUse* tenant_ = nullptr;
  absl::flat_hash_map<std::uint64_t, Batch> gets_;
  std::size_t blocks_ = 0;
};

}  // namespace larder
