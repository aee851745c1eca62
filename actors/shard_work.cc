#include "actors/shard_work.h"

namespace larder {

namespace {

constexpr std::uint32_t kClaimsStep = 1'024;

void scan(Shard& shard, ScanCall& call) {
  const std::uint32_t before = call.cursor;
  const auto committed = [&call](EntryId /*id*/, const Entry& entry, const SlotHeader& header) {
    if (call.ns && header.ns != call.ns->value()) return;
    ScanCall::Row row;
    row.key = {NamespaceId(header.ns),
               {header.hash_high, header.hash_low},
               GroupId(header.group),
               Rank(header.rank)};
    row.parent = {header.parent_high, header.parent_low};
    row.length = header.length;
    row.position = header.position;
    row.checksum = header.checksum;
    row.writer = WriterId(header.writer);
    row.tenant = TenantId(entry.tenant_tier >> 8);
    row.leases = static_cast<std::uint32_t>(word_of(entry).leases);
    call.rows.push_back(row);
  };
  call.cursor = shard.scan(call.cursor, call.limit, committed);
  call.end = call.cursor <= before;
}

}  // namespace

void carry_out(ShardDesk& desk, const std::shared_ptr<ReserveCall>& call, Time now) {
  desk.reserve(call, now);
}

void carry_out(ShardDesk& desk, const std::shared_ptr<ClaimCall>& call, Time /*now*/) {
  for (const BlockKey& key : call->keys)
    call->outcomes.push_back(desk.shard().claim(key, call->session, call->deadline));
  call->answer();
}

void carry_out(ShardDesk& desk, const std::shared_ptr<EraseCall>& call, Time /*now*/) {
  for (const BlockKey& key : call->keys)
    call->erased.push_back(desk.shard().erase(key, call->cause) ? 1 : 0);
  call->answer();
}

void carry_out(ShardDesk& desk, const std::shared_ptr<ScanCall>& call, Time /*now*/) {
  scan(desk.shard(), *call);
  call->answer();
}

void carry_out(ShardDesk& desk, const std::shared_ptr<const RequestNote>& note, Time /*now*/) {
  desk.shard().on_request(note->context);
}

void carry_out(ShardDesk& desk, const std::shared_ptr<const RequestEndNote>& note, Time now) {
  desk.shard().on_request_end(note->request, note->output_tokens, note->touches);
  desk.evict_over(now);
}

void carry_out(ShardDesk& desk, const std::shared_ptr<const TouchNote>& note, Time now) {
  desk.shard().touch(note->touches, note->request);
  desk.evict_over(now);
}

void carry_out(ShardDesk& desk, const std::shared_ptr<const AbortNote>& note, Time /*now*/) {
  for (const AbortNote::Item& item : note->items)
    desk.shard().abort(item.entry, item.generation);
  note->done = true;
}

void carry_out(ShardDesk& desk, const std::shared_ptr<const QuarantineNote>& note, Time /*now*/) {
  desk.shard().quarantine(note->key);
}

bool drop_claims(ShardDesk& desk, const DropClaimsNote& note) {
  return desk.shard().drop_claims(note.session, kClaimsStep);
}

}  // namespace larder
