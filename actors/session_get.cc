// Gets: answered here from the indexes. shm: descriptors and a lease; tcp: a stream of chunks.

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "actors/session.h"
#include "actors/session_get_stream.h"
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
  std::vector<LocatedKey> keys;
  for (const wire::KeyRecord& record : records) {
    keys.push_back(locate(*ns, record, node_.store.shards()));
  }
  const std::vector<EntryId> found = find_all(node_.store, keys);
  std::vector<GetResult> results;
  std::vector<HeldBlock> held;
  std::vector<std::uint32_t> held_key;
  std::uint64_t bytes = 0;
  const NamespaceMode mode = node_.mode_of(*ns);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (const auto wrong = check_record(*ns, records[i], false)) {
      results.push_back(missed(*wrong));
      continue;
    }
    if (!serves(mode)) {
      const bool there = mode == NamespaceMode::kShadow && is_there(node_.store, keys[i], found[i]);
      if (there) count(node_.metrics.shadow_get_hits);
      results.push_back(missed(KeyStatus::kMiss));
      continue;
    }
    std::optional<HeldBlock> one;
    results.push_back(look_up(node_.store, keys[i], found[i], records[i].length, one));
    if (!one) continue;
    if (shm() && !announce_slab(one->hold.slot.slab)) {
      larder::release(node_.store, *one);
      results.back() = missed(KeyStatus::kMiss);
      continue;
    }
    held.push_back(*one);
    held_key.push_back(static_cast<std::uint32_t>(i));
    bytes += results.back().length;
  }
  note_hits(body.request(), held, records, held_key);
  count(node_.metrics.get_hits, held.size());
  count(node_.metrics.get_misses, records.size() - held.size());
  count(node_.metrics.get_bytes, bytes);
  auto op = std::make_unique<GetOp>(*this, call.id, std::move(results), std::move(held),
                                    std::move(held_key),
                                    lease_time(node_.config(), body.lease_ms()), verify);
  GetOp& started = *op;
  if (!start(call, std::move(op), body.request())) return;
  started.start();
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
