// Gets: answered here from the indexes. shm: descriptors and a lease; tcp: a stream of chunks.

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "actors/call_in_steps.h"
#include "actors/session.h"
#include "actors/session_get_stream.h"
#include "actors/session_limits.h"
#include "actors/session_lookup.h"
#include "actors/session_match.h"
#include "store/limits.h"
#include "transport/guarded_copy.h"
#include "transport/wire.pb.h"

namespace larder {

using wire::GetResult;
using wire::KeyStatus;

namespace {

Duration lease_time(const Config& config, std::uint32_t lease_ms) {
  const auto longest = std::chrono::milliseconds(config.lease_ms);
  if (lease_ms == 0) return longest;
  return std::min<Duration>(std::chrono::milliseconds(lease_ms), longest);
}

GetResult missed(KeyStatus status) {
  GetResult result;
  result.status = static_cast<std::uint16_t>(status);
  return result;
}

/// Where a slot's header stands is known once its entry is here: all of a batch are fetched at
/// once. Entries may be anybody's by then: nothing but an address is made of what they say.
void fetch_headers(const NodeStore& store, std::span<const LocatedKey> keys,
                   std::span<const EntryId> found) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (found[i] == kNoEntry) continue;
    const Entry& entry = store.indexes[keys[i].shard.value()]->entry(found[i]);
    if (word_of(entry).state != EntryState::kCommitted) continue;
    const SlotRef at = unpack_slot(entry.slot.load(std::memory_order_relaxed));
    const Slab* slab = store.slabs.find(at.slab);
    if (slab != nullptr && at.slot < slab->slots()) __builtin_prefetch(slab->header(at.slot));
  }
}

/// Leases one block and describes it; the lease is in `held` when the status is kOk.
GetResult look_up(NodeStore& store, const LocatedKey& at, EntryId entry, std::uint32_t length,
                  std::optional<HeldBlock>& held) {
  held = hold(store, at, entry);
  if (!held) {
    const auto state = entry == kNoEntry ? wire::MatchState::kAbsent : state_of(store, at, entry);
    const bool pending = state == wire::MatchState::kPending || state == wire::MatchState::kClaimed;
    return missed(pending ? KeyStatus::kPending : KeyStatus::kMiss);
  }
  GetResult result;
  result.length = held->hold.length.count;
  const Slab* slab = store.slabs.find(held->hold.slot.slab);
  const bool same_length = length == 0 || length == result.length;
  if (slab == nullptr || !same_length) {
    release(store, *held);
    held.reset();
    return missed(slab == nullptr ? KeyStatus::kMiss : KeyStatus::kSizeMismatch);
  }
  const SlotHeader* header = slab->header(held->hold.slot.slot);
  result.tier = static_cast<std::uint16_t>(Tier::kHost);
  result.slab = slab->id().value();
  result.offset = held->hold.slot.slot * slab->slot_bytes().count;
  result.generation = header->generation.load(std::memory_order_acquire);
  result.checksum = header->checksum;
  result.slot = held->hold.slot.slot;
  return result;
}

/// The keys of a get, leased a part at a time.
class GetCall : public CallInSteps {
 public:
  GetCall(Session& session, NamespaceRef ns, std::vector<wire::KeyRecord> records, GetFound found)
      : session_(session),
        ns_(std::move(ns)),
        records_(std::move(records)),
        found_(std::move(found)) {
    found_.results.reserve(records_.size());
  }
  ~GetCall() override {
    for (const HeldBlock& block : found_.held)
      release(session_.node().store, block);
  }

  bool step() override {
    NodeStore& store = session_.node().store;
    const std::size_t first = found_.results.size();
    const auto records = std::span(records_).subspan(
        first, std::min<std::size_t>(records_.size() - first, kMatchStep));
    std::vector<LocatedKey> keys;
    for (const wire::KeyRecord& record : records)
      keys.push_back(locate(*ns_, record, store.shards()));
    const std::vector<EntryId> entries = find_all(store, keys);
    fetch_headers(store, keys, entries);
    for (std::size_t i = 0; i < records.size(); ++i)
      look_at(records[i], keys[i], entries[i]);
    if (found_.results.size() < records_.size()) return false;
    session_.finish_get(records_, std::exchange(found_, {}));
    return true;
  }

 private:
  void look_at(const wire::KeyRecord& record, const LocatedKey& at, EntryId entry) {
    NodeContext& node = session_.node();
    if (const auto wrong = check_record(*ns_, record, false)) {
      found_.results.push_back(missed(*wrong));
      return;
    }
    const NamespaceMode mode = node.mode_of(*ns_);
    if (!serves(mode)) {
      const bool there = mode == NamespaceMode::kShadow && is_there(node.store, at, entry);
      if (there) count(node.metrics.shadow_get_hits);
      found_.results.push_back(missed(KeyStatus::kMiss));
      return;
    }
    std::optional<HeldBlock> one;
    found_.results.push_back(look_up(node.store, at, entry, record.length, one));
    if (!one) return;
    if (session_.shm() && !session_.announce_slab(one->hold.slot.slab)) {
      release(node.store, *one);
      found_.results.back() = missed(KeyStatus::kMiss);
      return;
    }
    found_.held.push_back(*one);
    found_.held_key.push_back(static_cast<std::uint32_t>(found_.results.size() - 1));
    found_.bytes += found_.results.back().length;
  }

  Session& session_;
  const NamespaceRef ns_;
  const std::vector<wire::KeyRecord> records_;
  GetFound found_;
};

}  // namespace

/// A get is a use of what it hits. Of a request it is one at the request's end, and held until
/// then: by the match, or from here on.
void Session::note_hits(std::uint64_t number, const std::vector<HeldBlock>& held,
                        const std::vector<wire::KeyRecord>& records,
                        const std::vector<std::uint32_t>& held_key) {
  SessionRequest* request = requests_.find(number);
  if (request == nullptr) {
    std::vector<LocatedKey> keys;
    for (const HeldBlock& block : held)
      keys.push_back(block.at);
    return touches_.add(keys);
  }
  if (request->matched) return;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const wire::KeyRecord& record = records[held_key[i]];
    if (record.rank == 0) requests_.extend(*request, held[i].at, record.position);
    if (const auto pinned = hold(node_.store, held[i].at, held[i].hold.entry)) {
      requests_.pin(*request, *pinned);
    }
  }
}

void Session::get(const Call& call) {
  wire::GetRequest body;
  if (!parse(call, body)) return;
  const NamespaceRef ns = open_or_refuse(call, body.ns());
  if (!ns) return;
  std::vector<wire::KeyRecord> records;
  if (!records_or_refuse(call, call.array, records)) return;
  if (ops_.contains(call.id) || leases_.contains(call.id)) {
    return refuse(call, absl::AlreadyExistsError(fmt::format("id: {} is in use", call.id)));
  }
  count(node_.metrics.gets);
  // One in so many gets is checked although it did not ask: rot is found before it spreads.
  const std::uint32_t sample = node_.config().verify_sample;
  gets_ += 1;
  const bool verify = body.verify() || (sample > 0 && gets_ % sample == 0);
  note_priority(body.request());
  GetFound asked{.id = call.id,
                 .request = body.request(),
                 .lease = lease_time(node_.config(), body.lease_ms()),
                 .ready = ready_,
                 .verify = verify};
  constexpr Bytes kPerKey{sizeof(wire::KeyRecord) + 2 * sizeof(GetResult) + sizeof(HeldBlock)};
  const std::size_t count_of_keys = records.size();
  run_in_steps(call, count_of_keys, kPerKey * count_of_keys, [&] {
    return std::make_unique<GetCall>(*this, ns, std::move(records), std::move(asked));
  });
}

void Session::finish_get(const std::vector<wire::KeyRecord>& records, GetFound found) {
  note_hits(found.request, found.held, records, found.held_key);
  count(node_.metrics.get_hits, found.held.size());
  count(node_.metrics.get_misses, records.size() - found.held.size());
  count(node_.metrics.get_bytes, found.bytes);
  const Call call{.id = found.id, .type = FrameType::kGet, .body = {}, .array = {}};
  auto op =
      std::make_unique<GetOp>(*this, found.id, std::move(found.results), std::move(found.held),
                              std::move(found.held_key), found.lease, found.verify);
  GetOp& started = *op;
  if (start(call, std::move(op), found.request)) started.start(found.ready);
}

void Session::release_gets(const Call& call) {
  wire::ReleaseRequest body;
  if (!parse_body(call.body, body)) return;
  for (const std::uint64_t get : body.gets())
    leases_.release(get);
}

void Session::renew(const Call& call) {
  wire::RenewRequest body;
  if (!parse(call, body)) return;
  wire::SimpleReply answer;
  std::uint64_t renewed = 0;
  for (const std::uint64_t get : body.gets()) {
    if (leases_.renew(get, now_ + lease_time(node_.config(), body.lease_ms()))) renewed += 1;
  }
  answer.set_count(renewed);
  reply(call.type, call.id, answer);
}

}  // namespace larder
