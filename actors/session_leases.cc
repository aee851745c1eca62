#include "actors/session_leases.h"

#include <utility>

#include "store/limits.h"

namespace larder {

bool LeaseBook::add(std::uint64_t get, std::vector<HeldBlock> held, Time deadline) {
  if (blocks_ + held.size() > limits::kSessionLeasesMax) return false;
  std::uint64_t bytes = 0;
  for (const HeldBlock& block : held)
    bytes += block.hold.length.count;
  if (!node_.held.take(tenant_->held, bytes, node_.held_bounds())) return false;
  blocks_ += held.size();
  gets_.emplace(get, Batch{std::move(held), deadline, bytes});
  return true;
}

void LeaseBook::release(std::uint64_t get) {
  const auto found = gets_.find(get);
  if (found == gets_.end()) return;
  drop(found->second);
  gets_.erase(found);
}

bool LeaseBook::renew(std::uint64_t get, Time deadline) {
  const auto found = gets_.find(get);
  if (found == gets_.end()) return false;
  found->second.deadline = deadline;
  return true;
}

void LeaseBook::expire(Time now) {
  std::vector<std::uint64_t> late;
  for (const auto& [get, batch] : gets_) {
    if (batch.deadline <= now) late.push_back(get);
  }
  for (const std::uint64_t get : late) {
    count(node_.metrics.leases_expired);
    release(get);
  }
}

void LeaseBook::release_all() {
  for (const auto& [get, batch] : gets_)
    drop(batch);
  gets_.clear();
}

void LeaseBook::drop(const Batch& batch) {
  for (const HeldBlock& held : batch.held)
    larder::release(node_.store, held);
  node_.held.give(tenant_->held, batch.bytes);
  blocks_ -= batch.held.size();
}

}  // namespace larder
