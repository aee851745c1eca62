#include "policies/min_policy.h"

#include "store/assert.h"

namespace larder {

MinPolicy::Node& MinPolicy::node(PolicyId id) {
  if (nodes_.size() <= id.value()) nodes_.resize(id.value() + 1);
  return nodes_[id.value()];
}

void MinPolicy::set_next_use(PolicyId id, std::uint64_t when, std::uint32_t position) {
  LARDER_ASSERT(when <= kNever);
  Node& at = node(id);
  if (at.tracked) order_.erase({at.key, id.value()});
  at.key = when << kStampPositionBits | position;
  if (at.tracked) order_.insert({at.key, id.value()});
}

void MinPolicy::on_insert(const PolicyInsert& insert, const RequestContext* /*context*/) {
  Node& at = node(insert.id);
  LARDER_ASSERT(!at.tracked);
  at.tracked = true;
  order_.insert({at.key, insert.id.value()});
}

void MinPolicy::on_erase(PolicyId id, EraseCause /*cause*/) {
  Node& at = node(id);
  if (!at.tracked) return;
  at.tracked = false;
  order_.erase({at.key, id.value()});
}

std::optional<Victim> MinPolicy::victim(Time /*now*/, absl::FunctionRef<bool(PolicyId)> skip) {
  for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
    if (!skip(PolicyId(at->second)))
      return Victim{PolicyId(at->second), -static_cast<double>(at->first)};
  }
  return std::nullopt;
}

}  // namespace larder
