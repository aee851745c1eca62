#include "store/shard.h"

#include <utility>

#include "store/assert.h"

namespace larder {

Shard::Shard(ShardId id, NodeStore& store, PolicyFactory make_policy)
    : id_(id),
      store_(store),
      index_(*store.indexes[id.value()]),
      make_policy_(std::move(make_policy)) {
  // A tenant whose last block here left with the actor before this one would wait for it for ever.
  store_.budget.withdraw(id);
  store_.tenants.withdraw(id);
}

Shard::~Shard() = default;

Shard::OfTenant& Shard::of_tenant(TenantId tenant) {
  OfTenant& found = tenants_[tenant];
  if (found.policy == nullptr) found = {make_policy_(tenant), &store_.tenants.of(tenant)};
  return found;
}

const RequestContext* Shard::context_of(std::optional<RequestId> request) const {
  if (!request) return nullptr;
  const auto it = requests_.find(*request);
  return it == requests_.end() ? nullptr : &it->second;
}

Stamp Shard::stamp_now(std::uint32_t position) const {
  // Within a request the suffix is the older: leaves go first.
  constexpr std::uint64_t kPositions = 1ULL << kStampPositionBits;
  const std::uint64_t from_end = kPositions - 1 - (position & (kPositions - 1));
  // After every touch of the requests that have ended, before those of the next one to end: else
  // the new blocks of a request would stay younger than the prefix they extend.
  const std::uint64_t ended = store_.sequence.load(std::memory_order_relaxed) - 1;
  return Stamp(ended << kStampPositionBits | from_end);
}

void Shard::on_request(const RequestContext& context) {
  requests_[context.request] = context;
  policy_of(context.tenant).on_request(context);
}

void Shard::on_request_end(RequestId request, std::uint32_t output_tokens,
                           std::span<const TouchItem> touches) {
  const RequestContext* context = context_of(request);
  if (context != nullptr) policy_of(context->tenant).on_request_end(*context, output_tokens);
  touch_all(touches, context);
  requests_.erase(request);
}

void Shard::touch(std::span<const TouchItem> touches, std::optional<RequestId> request) {
  touch_all(touches, context_of(request));
}

void Shard::touch_all(std::span<const TouchItem> touches, const RequestContext* context) {
  std::uint64_t sequence = 0;
  touched_.clear();
  for (const TouchItem& item : touches) {
    if (const std::uint64_t of = item.stamp.value() >> kStampPositionBits; of != sequence) {
      touched_.clear();
      sequence = of;
    }
    const EntryId id = index_.find(item.key);
    if (id == kNoEntry) continue;
    const Entry& entry = index_.entry(id);
    const EntryState state = word_of(entry).state;
    if (state == EntryState::kGhost) note_use(id, context);
    if (state == EntryState::kClaimed || state == EntryState::kGhost) continue;
    if (!touched_.insert(entry.unit).second) continue;
    note_use(EntryId(entry.unit), context);
    policy_of(TenantId(entry.tenant_tier >> 8)).on_hit(PolicyId(entry.unit), item.stamp, context);
    counters_.hits += 1;
  }
}

}  // namespace larder
