// Every message an actor of ours sends or answers. All are local to the process (shared pointers to
// descriptors); nothing of this crosses a node.

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <caf/all.hpp>

#include "actors/shard_calls.h"
#include "actors/shard_desk.h"

namespace larder {

using TickAtom = caf::atom_constant<caf::atom("tick")>;
using EvictOverAtom = caf::atom_constant<caf::atom("evictover")>;
using CheapestSlabAtom = caf::atom_constant<caf::atom("cheapslab")>;
using EvictPoolAtom = caf::atom_constant<caf::atom("evictpool")>;
using EvictSlabAtom = caf::atom_constant<caf::atom("evictslab")>;
using NeedSlotsAtom = caf::atom_constant<caf::atom("needslots")>;
using SettleAtom = caf::atom_constant<caf::atom("settle")>;
using RebuildAtom = caf::atom_constant<caf::atom("rebuild")>;
using RefilledAtom = caf::atom_constant<caf::atom("refilled")>;

using PolicyChangePtr = std::shared_ptr<const PolicyChange>;
/// What a change of policy has left over: whoever gets it frees it, which takes long.
using OldPoliciesPtr = std::shared_ptr<const std::vector<std::unique_ptr<EvictionPolicy>>>;

using ReserveCallPtr = std::shared_ptr<ReserveCall>;
using ClaimCallPtr = std::shared_ptr<ClaimCall>;
using EraseCallPtr = std::shared_ptr<EraseCall>;
using ScanCallPtr = std::shared_ptr<ScanCall>;
using RequestNotePtr = std::shared_ptr<const RequestNote>;
using RequestEndNotePtr = std::shared_ptr<const RequestEndNote>;
using TouchNotePtr = std::shared_ptr<const TouchNote>;
using AbortNotePtr = std::shared_ptr<const AbortNote>;
using DropClaimsNotePtr = std::shared_ptr<const DropClaimsNote>;
using QuarantineNotePtr = std::shared_ptr<const QuarantineNote>;

using ShardHandle = caf::typed_actor<
    caf::reacts_to<ReserveCallPtr>, caf::reacts_to<ClaimCallPtr>, caf::reacts_to<EraseCallPtr>,
    caf::reacts_to<ScanCallPtr>, caf::reacts_to<RequestNotePtr>, caf::reacts_to<RequestEndNotePtr>,
    caf::reacts_to<TouchNotePtr>, caf::reacts_to<AbortNotePtr>, caf::reacts_to<DropClaimsNotePtr>,
    caf::reacts_to<QuarantineNotePtr>, caf::reacts_to<TickAtom>, caf::reacts_to<RebuildAtom>,
    caf::reacts_to<EvictOverAtom>, caf::reacts_to<RefilledAtom, PoolName, bool>,
    caf::reacts_to<PolicyChangePtr>, caf::replies_to<SettleAtom>::with<bool>,
    caf::replies_to<EvictPoolAtom, PoolName, std::uint32_t>::with<std::uint32_t>,
    caf::replies_to<CheapestSlabAtom, PoolName>::with<std::optional<SlabVictim>>,
    caf::replies_to<EvictSlabAtom, SlabId, std::uint32_t>::with<std::uint32_t>>;

/// Answer to EvictSlabAtom (slab, cursor) when the shard has looked at all of the slab; else where
/// to go on.
inline constexpr std::uint32_t kSlabDone = 0xffffffff;

/// Makes, reclaims and retires slabs; takes (NeedSlotsAtom, PoolName, ShardId
/// asker, count), and OldPoliciesPtr. A blocking actor, so untyped.
using SlabHandle = caf::actor;

}  // namespace larder

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::PolicyChangePtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::OldPoliciesPtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::PoolName)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::SlabId)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::optional<larder::SlabVictim>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::ShardId)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::ReserveCallPtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::ClaimCallPtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::EraseCallPtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::ScanCallPtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::RequestNotePtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::RequestEndNotePtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::TouchNotePtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::AbortNotePtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::DropClaimsNotePtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::QuarantineNotePtr)
