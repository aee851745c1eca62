// What a shard does with each message of an io thread, whoever is at its desk: the shard's actor,
// or the io thread itself (ShardGate).

#pragma once

#include <cstddef>
#include <memory>

#include "actors/shard_calls.h"
#include "actors/shard_desk.h"
#include "actors/shard_gate.h"

namespace larder {

/// Whether an io thread works a message off itself instead of waking the shard's actor for it: some
/// 20 µs, where a wake-up takes 80 to 110. Nobody waits for a note, so only what takes less time
/// than sending it is done at once. What a reservation evicts is bounded by the shard.
struct IsShort {
  static constexpr std::size_t kCall = 32;  ///< blocks
  static constexpr std::size_t kNote = 16;

  bool operator()(const ReserveCall& call) const { return call.items.size() <= kCall; }
  bool operator()(const ClaimCall& call) const { return call.keys.size() <= kCall; }
  bool operator()(const EraseCall& call) const { return call.keys.size() <= kCall; }
  bool operator()(const ScanCall& /*call*/) const { return false; }
  bool operator()(const RequestNote& /*note*/) const { return true; }
  bool operator()(const RequestEndNote& note) const { return note.touches.size() <= kNote; }
  bool operator()(const TouchNote& note) const { return note.touches.size() <= kNote; }
  bool operator()(const AbortNote& note) const { return note.items.size() <= kNote; }
  bool operator()(const QuarantineNote& /*note*/) const { return true; }
};

/// Carries out a message, and answers a call (a ReserveCall may be answered later).
void carry_out(ShardDesk& desk, const std::shared_ptr<ReserveCall>& call, Time now);
void carry_out(ShardDesk& desk, const std::shared_ptr<ClaimCall>& call, Time now);
void carry_out(ShardDesk& desk, const std::shared_ptr<EraseCall>& call, Time now);
/// A slice of the shard's blocks of `call->ns`.
void carry_out(ShardDesk& desk, const std::shared_ptr<ScanCall>& call, Time now);
void carry_out(ShardDesk& desk, const std::shared_ptr<const RequestNote>& note, Time now);
void carry_out(ShardDesk& desk, const std::shared_ptr<const RequestEndNote>& note, Time now);
void carry_out(ShardDesk& desk, const std::shared_ptr<const TouchNote>& note, Time now);
void carry_out(ShardDesk& desk, const std::shared_ptr<const AbortNote>& note, Time now);
void carry_out(ShardDesk& desk, const std::shared_ptr<const QuarantineNote>& note, Time now);
/// In steps: false when claims of the session are left.
bool drop_claims(ShardDesk& desk, const DropClaimsNote& note);

inline bool is_quick(ShardDesk& desk, const ReserveCall& /*call*/, Time now) {
  return desk.shard().reserves_quickly(now);
}
template <class Message>
bool is_quick(ShardDesk& /*desk*/, const Message& /*message*/, Time /*now*/) {
  return true;
}

/// Carries `message` out on this thread, if it is short, nobody is at the desk or waits for it, and
/// the shard does not expect it to take long.
template <class Message>
bool carry_out_here(ShardGate& gate, const Message& message, Time now) {
  if (!IsShort()(*message)) return false;
  bool done = false;
  gate.try_here([&](ShardDesk& desk) {
    if (!is_quick(desk, *message, now)) return;
    carry_out(desk, message, now);
    done = true;
  });
  return done;
}

}  // namespace larder
