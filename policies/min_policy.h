#pragma once

#include <set>
#include <utility>
#include <vector>

#include "store/eviction_policy.h"

namespace larder {

/// The optimum: who is used again last leaves first (Belady 1966). For the simulator alone: it is
/// told when each block is used next, which no daemon knows.
///
/// Of blocks used next by one request the deepest leaves first, so that no block outlives its
/// parent: a parent's next use never comes after its child's. Owns about 80 bytes a block. Not
/// thread-safe. O(log n) a call.
class MinPolicy final : public EvictionPolicy {
 public:
  static constexpr std::uint64_t kNever = ~0ULL >> 24;

  /// From now on `id`, at `position`, is used next at `when`, or kNever.
  void set_next_use(PolicyId id, std::uint64_t when, std::uint32_t position);

  void on_request(const RequestContext& /*context*/) override {}
  void on_request_end(const RequestContext& /*context*/, std::uint32_t /*output*/) override {}
  bool admit(const PolicyInsert& /*candidate*/, const RequestContext* /*context*/,
             double /*cheapest*/) override {
    return true;
  }
  void on_insert(const PolicyInsert& insert, const RequestContext* context) override;
  void on_hit(PolicyId /*id*/, Stamp /*stamp*/, const RequestContext* /*context*/) override {}
  void on_erase(PolicyId id, EraseCause cause) override;
  std::optional<Victim> victim(Time now, absl::FunctionRef<bool(PolicyId)> skip) override;

 private:
  struct Node {
    std::uint64_t key = 0;
    bool tracked = false;
  };
  Node& node(PolicyId id);

  std::vector<Node> nodes_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> order_;  // key, id
};

}  // namespace larder
