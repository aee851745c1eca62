// tick and scan: a bounded slice of what is due.

#include <algorithm>

#include "store/assert.h"
#include "store/shard.h"

namespace larder {

namespace {

constexpr std::uint32_t kClaimsStep = 1'024;
constexpr std::uint32_t kEntriesStep = 1'024;

}  // namespace

void Shard::tick(Time now, std::int64_t wall_ns) {
  wall_ns_ = wall_ns;
  expire_claims(now);
  expire_blocks(wall_ns);
  free_removed(kRemovedStep);
  trim_ghosts(kEntriesStep);
  index_.maintain();
  publish_cheapest(now);
}

bool Shard::upkeep_due() const {
  const bool over = store_.budget.ledger.over() ||
                    std::any_of(tenants_.begin(), tenants_.end(),
                                [](const auto& item) { return item.second.budget->ledger.over(); });
  return over || expiring_ > 0 || !claims_.empty() || !removed_.empty();
}

void Shard::expire_claims(Time now) {
  for (std::uint32_t step = 0; step < kClaimsStep && !claims_.empty(); ++step) {
    const auto [deadline, id] = *claims_.begin();
    if (deadline > now) return;
    end_claim(id);
  }
}

void Shard::expire_blocks(std::int64_t wall_ns) {
  if (expiring_ == 0) return;
  std::vector<BlockKey> expired;
  expiry_cursor_ = scan(expiry_cursor_, kEntriesStep,
                        [&](EntryId /*id*/, const Entry& /*entry*/, const SlotHeader& header) {
                          if (header.expiry_wall_ns == 0 || header.expiry_wall_ns > wall_ns) return;
                          expired.push_back({.ns = NamespaceId(header.ns),
                                             .hash = {header.hash_high, header.hash_low},
                                             .group = GroupId(header.group),
                                             .rank = Rank(header.rank)});
                        });
  for (const BlockKey& key : expired)
    erase(key, EraseCause::kExpired);
}

void Shard::free_removed(std::size_t limit) {
  for (std::size_t left = std::min(limit, removed_.size()); left > 0; --left) {
    if (removed_cursor_ >= removed_.size()) removed_cursor_ = 0;
    EntryId& at = removed_[removed_cursor_];
    if (word_of(index_.entry(at)).leases != 0) {
      removed_cursor_ += 1;
      continue;
    }
    free_block(at);
    at = removed_.back();
    removed_.pop_back();
  }
}

std::uint32_t Shard::scan(std::uint32_t cursor, std::uint32_t limit,
                          absl::FunctionRef<void(EntryId, const Entry&, const SlotHeader&)> fn) {
  const std::uint32_t entries = index_.entry_limit();
  const auto end =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(entries, std::uint64_t{cursor} + limit));
  for (; cursor < end; ++cursor) {
    const Entry& entry = index_.entry(EntryId(cursor));
    if (word_of(entry).state == EntryState::kCommitted) {
      fn(EntryId(cursor), entry, header_of(entry));
    }
  }
  return cursor < entries ? cursor : 0;
}

}  // namespace larder
