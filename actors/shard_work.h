// What a shard does with each message of an io thread, whoever is at its desk: the shard's actor,
// or the io thread itself (ShardGate).

#pragma once

#include <cstddef>
#include <memory>

#include "actors/shard_calls.h"
#include "actors/shard_desk.h"

namespace larder {

/// Blocks that an io thread works off itself, instead of waking the shard's actor for them: some
/// 20 µs, where a wake-up takes 80 to 110. Nobody waits for a note, so only what takes less time
/// than sending it is done at once.
inline constexpr std::size_t kCallHere = 32;
inline constexpr std::size_t kNoteHere = 16;

bool is_short(const ReserveCall& call);
bool is_short(const ClaimCall& call);
bool is_short(const EraseCall& call);
bool is_short(const ScanCall& call);
bool is_short(const RequestNote& note);
bool is_short(const RequestEndNote& note);
bool is_short(const TouchNote& note);
bool is_short(const AbortNote& note);
bool is_short(const DropClaimsNote& note);
bool is_short(const QuarantineNote& note);

/// Carries out a message, and answers a call (a ReserveCall may be answered later). True when it is
/// to be sent again, for the rest of it.
bool carry_out(ShardDesk& desk, const std::shared_ptr<ReserveCall>& call, Time now);
bool carry_out(ShardDesk& desk, const std::shared_ptr<ClaimCall>& call, Time now);
bool carry_out(ShardDesk& desk, const std::shared_ptr<EraseCall>& call, Time now);
/// A slice of the shard's blocks of `call->ns`.
bool carry_out(ShardDesk& desk, const std::shared_ptr<ScanCall>& call, Time now);
bool carry_out(ShardDesk& desk, const std::shared_ptr<const RequestNote>& note, Time now);
bool carry_out(ShardDesk& desk, const std::shared_ptr<const RequestEndNote>& note, Time now);
bool carry_out(ShardDesk& desk, const std::shared_ptr<const TouchNote>& note, Time now);
bool carry_out(ShardDesk& desk, const std::shared_ptr<const AbortNote>& note, Time now);
bool carry_out(ShardDesk& desk, const std::shared_ptr<const DropClaimsNote>& note, Time now);
bool carry_out(ShardDesk& desk, const std::shared_ptr<const QuarantineNote>& note, Time now);

}  // namespace larder
