#include "actors/session_put_batch.h"

#include <algorithm>
#include <utility>

#include "actors/clock.h"
#include "actors/session_batches.h"
#include "actors/session_limits.h"
#include "store/crash_point.h"
#include "store/limits.h"

namespace larder {

using wire::KeyStatus;

PutBatch::PutBatch(Session& session, NamespaceRef ns, std::uint64_t request, std::uint64_t op)
    : session_(session), ns_(std::move(ns)), request_(request), op_(op) {
  aborts_.resize(session.node().store.shards());
}

PutBatch::~PutBatch() {
  take_back(KeyStatus::kCancelled);
  session_.node().held.give(session_.tenant_use().held, held_.count);
}

void PutBatch::ask(std::vector<wire::KeyRecord> records, Time deadline, Bytes lent) {
  NodeContext& node = session_.node();
  items_.resize(records.size());
  std::vector<LocatedKey> keys;
  keys.reserve(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    items_[i].record = records[i];
    items_[i].at = locate(*ns_, records[i], node.store.shards());
    keys.push_back(items_[i].at);
  }
  const std::vector<EntryId> found = find_all(node.store, keys);
  session_.touches().flush();
  std::optional<RequestId> request;
  if (SessionRequest* open = session_.requests().find(request_)) {
    session_.requests().announce(*open);
    request = open->context.request;
  } else {
    // A put of no request is one of its own in the node's order: what it brings is newer than what
    // came before, however deep.
    node.store.sequence.fetch_add(1, std::memory_order_relaxed);
  }
  const std::int64_t expiry = ns_->spec.ttl.count() > 0 ? wall_ns() + ns_->spec.ttl.count() : 0;

  const bool off = node.mode_of(*ns_) == NamespaceMode::kOff;
  const auto complete = [&](ReserveCall& call) {
    call.request = request;
    call.deadline = deadline;
    call.given_up = given_up_;
  };
  CallBatches<ReserveCall> calls(session_, op_, kReserveStep, complete);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    PutItem& item = items_[i];
    if (off) {
      item.status = KeyStatus::kRefused;
      continue;
    }
    if (const auto wrong = check_record(*ns_, item.record, /*length_needed=*/true)) {
      item.status = *wrong;
      continue;
    }
    bool in_flight = false;
    if (found[i] != kNoEntry) {
      // What is there already needs no slot, and so no mailbox.
      const Entry& entry = node.store.indexes[item.at.shard.value()]->entry(found[i]);
      if (is_there(node.store, item.at, found[i])) {
        item.status =
            length_of(entry) == item.record.length ? KeyStatus::kPresent : KeyStatus::kSizeMismatch;
        if (item.status == KeyStatus::kPresent) note_use(item);
        continue;
      }
      in_flight = word_of(entry).state == EntryState::kFilling;
    }
    const Bytes bytes = slot_bytes(ns_->spec.groups[item.record.group], Bytes{item.record.length});
    if (!take_share(bytes)) {
      item.status = KeyStatus::kNoSpace;
      continue;
    }
    ReserveItem ask;
    ask.key = item.at.key;
    ask.tenant = ns_->tenant;
    ask.parent = item.record.parent;
    ask.anchor = item.record.anchor;
    ask.engine_hash = item.record.engine_hash;
    ask.writer = WriterId(session_.id().value());
    ask.expiry_wall_ns = expiry;
    ask.position = item.record.position;
    ask.length = Bytes{item.record.length};
    ask.slot_bytes = bytes;
    ask.ranks = ns_->spec.ranks;
    if (!in_flight) lend(item, ask, lent);
    std::vector<ReserveItem>& asked = calls.of(item.at.shard).items;
    if (asked.empty()) asked.reserve(std::min(kReserveStep, records.size() - i));
    asked.push_back(ask);
    calls.added(item.at.shard, i);
  }
  calls_ = calls.finish();
}

/// What is being written cannot leave, no more than what is leased: a tenant has not all of it.
bool PutBatch::take_share(Bytes bytes) {
  NodeContext& node = session_.node();
  // Beside what is pinned it would not fit an empty store: nothing is to leave for it.
  const std::uint64_t capacity = node.store.budget.ledger.capacity().count;
  if (bytes.count > capacity - std::min(capacity, node.pins.pot().taken())) return false;
  if (!node.held.take(session_.tenant_use().held, bytes.count, node.held_bounds())) return false;
  held_ = held_ + bytes;
  return true;
}

void PutBatch::lend(PutItem& item, ReserveItem& ask, Bytes& left) {
  if (left.count == 0) return;
  NodeStore& store = session_.node().store;
  left = Bytes{left.count - std::min(left.count, ask.slot_bytes.count)};
  item.lent = LentSlot::lend(store.pools, store.slabs, ask.tenant, ask.slot_bytes);
  if (!item.lent) return;
  ask.lent = item.lent;
  item.data = store.slabs.data(item.lent->slot());
}

bool PutBatch::fillable() const {
  return std::all_of(items_.begin(), items_.end(), [](const PutItem& item) {
    return item.status != KeyStatus::kWanted || item.data != nullptr;
  });
}

void PutBatch::on_answer(ShardCall& call) {
  calls_ -= 1;
  if (call.lost) {
    // A shard died with the call in its mailbox: nothing was reserved by it.
    for (PutItem& item : items_) {
      if (item.status == KeyStatus::kWanted && !item.reserved && calls_ == 0) {
        item.status = KeyStatus::kUnavailable;
      }
    }
    return;
  }
  auto& answer = static_cast<ReserveCall&>(call);
  for (std::size_t i = 0; i < answer.items.size(); ++i) {
    decide(items_[answer.positions[i]], answer.items[i]);
  }
  if (abandoned_) take_back(abandoned_as_);
  if (calls_ > 0) return;
  for (PutItem& item : items_) {
    if (item.status == KeyStatus::kWanted && !item.reserved) item.status = KeyStatus::kUnavailable;
  }
}

void PutBatch::decide(PutItem& item, const ReserveItem& answer) {
  switch (answer.outcome) {
    case ReserveOutcome::kReserved:
      item.reserved = true;
      item.entry = answer.entry;
      item.entry_generation = answer.entry_generation;
      item.slot = answer.slot;
      item.data = session_.node().store.slabs.data(answer.slot);
      if (item.status != KeyStatus::kWanted) drop(item, item.status);  // given up meanwhile
      return;
    case ReserveOutcome::kPresent:
      item.status = KeyStatus::kPresent;
      note_use(item);
      return;
    case ReserveOutcome::kInFlight:
      item.status = KeyStatus::kPending;
      return;
    case ReserveOutcome::kSizeMismatch:
      item.status = KeyStatus::kSizeMismatch;
      return;
    case ReserveOutcome::kRefused:
      item.status = KeyStatus::kRefused;
      note_use(item);
      return;
    case ReserveOutcome::kNoSlot:
    case ReserveOutcome::kFull:
    case ReserveOutcome::kTooLarge:
      // A shard does not look for the room of a call that was given up.
      item.status = abandoned_ ? abandoned_as_ : KeyStatus::kNoSpace;
      return;
  }
}

void PutBatch::publish() {
  // Switched off meanwhile: nothing comes in any more.
  if (session_.node().mode_of(*ns_) == NamespaceMode::kOff) return take_back(KeyStatus::kRefused);
  for (PutItem& item : items_) {
    if (item.status == KeyStatus::kWanted && item.reserved) publish_one(item);
  }
}

void PutBatch::publish_one(PutItem& item) {
  NodeContext& node = session_.node();
  node.store.slabs.seal(item.slot, item.sum.value());
  Index& index = *node.store.indexes[item.at.shard.value()];
  item.reserved = false;
  crash_point("commit");
  if (!index.commit(item.entry, item.entry_generation)) {
    item.status = KeyStatus::kCancelled;
    return;
  }
  item.status = KeyStatus::kOk;
  if (SessionRequest* request = session_.requests().find(request_)) {
    if (const auto held = hold(node.store, item.at, item.entry)) {
      session_.requests().pin(*request, *held);
    }
  }
  note_use(item);
}

/// The prompt has this block, be it kept or not.
void PutBatch::note_use(const PutItem& item) {
  if (item.record.rank != 0) return;
  if (SessionRequest* request = session_.requests().find(request_)) {
    session_.requests().extend(*request, item.at, item.record.position);
  }
}

void PutBatch::drop(PutItem& item, KeyStatus status) {
  item.status = status;
  if (!item.reserved) return;
  item.reserved = false;
  add_abort(item);
  send_aborts();
}

void PutBatch::add_abort(const PutItem& item) {
  auto& note = aborts_[item.at.shard.value()];
  if (!note) note = std::make_shared<AbortNote>(item.at.shard, session_.inbox());
  note->items.push_back({item.entry, item.entry_generation});
  if (note->items.size() == kAbortStep) send_aborts();
}

void PutBatch::take_back(KeyStatus status) {
  abandoned_ = true;
  given_up_->store(true, std::memory_order_relaxed);  // what waits for slots waits no more
  abandoned_as_ = status;
  for (PutItem& item : items_) {
    if (item.reserved) {
      item.reserved = false;
      add_abort(item);
    }
    if (item.status == KeyStatus::kWanted) item.status = status;
  }
  send_aborts();
}

void PutBatch::send_aborts() {
  for (std::uint32_t shard = 0; shard < aborts_.size(); ++shard) {
    if (!aborts_[shard]) continue;
    session_.node().shards.send(ShardId(shard),
                                std::shared_ptr<const AbortNote>(std::move(aborts_[shard])));
    aborts_[shard] = nullptr;
  }
}

std::vector<wire::PutResult> PutBatch::results() const {
  std::vector<wire::PutResult> results;
  for (const PutItem& item : items_) {
    results.push_back(
        {static_cast<std::uint16_t>(item.status), static_cast<std::uint16_t>(item.path), 0});
  }
  return results;
}

void PutBatch::count_results() const {
  NodeMetrics& metrics = session_.node().metrics;
  for (const PutItem& item : items_) {
    if (item.status == KeyStatus::kOk) count(metrics.put_stored);
    if (item.status == KeyStatus::kPresent) count(metrics.put_present);
    if (item.status == KeyStatus::kNoSpace) count(metrics.put_no_space);
    if (item.status == KeyStatus::kCancelled) count(metrics.put_cancelled);
    if (item.status == KeyStatus::kCorrupt) count(metrics.put_corrupt);
  }
}

}  // namespace larder
