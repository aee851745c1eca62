// Every bound has a name, and stands here.

#pragma once

#include <cstdint>

#include "store/types.h"

namespace larder::limits {

using namespace literals;  // NOLINT(google-build-using-namespace)

inline constexpr Bytes kBlockBytesMin = 256_B;
inline constexpr Bytes kBlockBytesMax = 1_GiB;
inline constexpr Bytes kSlabBytesMax = 64_MiB;
/// Slots below this are aligned to a cache line, others to a page (DMA, O_DIRECT).
inline constexpr Bytes kPageAlignedFrom = 4_KiB;
inline constexpr std::uint32_t kSlabsPerCapacity = 64;
/// Slabs of a tenant that has a quota are this part of it, if that is less: each slot size that it
/// uses takes one at least.
inline constexpr std::uint32_t kSlabsPerQuota = 16;
/// What slabs may take beyond capacity, because each slot size of each tenant has one at least:
/// capacity / this. With more sizes than that, they take slabs from each other.
inline constexpr std::uint64_t kBeyondShare = 4;
/// Free slots kept ahead of use: at most capacity / this, none for slots over kReserveSlotMax.
inline constexpr std::uint64_t kReserveShare = 100;
inline constexpr Bytes kReserveSlotMax = 1_MiB;
inline constexpr std::uint32_t kSlabsMax = 65'536;
/// Ids only grow; one beyond this was never handed out.
inline constexpr std::uint32_t kSlabIdMax = 1U << 31;
/// 25 bits of an index slot name the entry (the other 7 are a tag).
inline constexpr std::uint32_t kEntriesPerShardMax = 1U << 25;
/// Evicted blocks that a node remembers: as many as it has blocks, this many at least.
inline constexpr std::uint32_t kGhostsMin = 131'072;
inline constexpr std::uint32_t kShardsMax = 64;
inline constexpr std::uint32_t kIoThreadsMax = 64;

inline constexpr std::uint32_t kGroupsMax = 64;
inline constexpr std::uint32_t kRanksMax = 4'096;
inline constexpr std::uint32_t kUnitTokensMax = 1U << 20;
inline constexpr std::uint32_t kSegmentTokensDefault = 512;
inline constexpr std::uint32_t kFingerprintFieldMax = 512;  ///< bytes of one field
inline constexpr std::uint32_t kNamespacesPerTenantMax = 1'024;

inline constexpr std::uint32_t kBatchKeysMax = 4'096;
/// Hash units of all chains of one match: 4 M tokens at 16 tokens a unit.
inline constexpr std::uint32_t kMatchUnitsMax = 262'144;
inline constexpr std::uint32_t kMatchChainsMax = 1'024;
inline constexpr Bytes kFrameBodyMax = 1_MiB;
inline constexpr Bytes kFrameArrayMax = 8_MiB;
inline constexpr Bytes kFramePayloadMax = 256_KiB;
inline constexpr Bytes kInlinePutMax = 64_KiB;
inline constexpr Bytes kCopySlice = 1_MiB;

inline constexpr std::uint32_t kSessionsMax = 4'096;
inline constexpr std::uint32_t kSessionRegionsMax = 1'024;
/// Of all sessions: each is a mapping, and the kernel's vm.max_map_count (65,530) is for slabs (two
/// each), control pages, threads and the heap too. At it, an allocation fails and the daemon dies.
inline constexpr std::uint32_t kRegionsMax = 16'384;
inline constexpr Bytes kSessionRegionBytesMax = {1ULL << 42};
inline constexpr std::uint32_t kSessionRequestsMax = 4'096;
/// Blocks of all open requests' chains; those beyond are not touched when their request ends.
inline constexpr std::uint32_t kSessionChainMax = 1U << 20;
inline constexpr std::uint32_t kSessionWaitsMax = 1'024;
inline constexpr std::uint32_t kSessionWaitKeysMax = 16'384;  ///< of all open waits
inline constexpr std::uint32_t kSessionClaimsMax = 65'536;
inline constexpr std::uint32_t kSessionLeasesMax = 262'144;
inline constexpr std::uint32_t kSessionNamespacesMax = 256;
inline constexpr std::uint32_t kSessionBatchesMax = 1'024;  ///< puts and gets in flight
inline constexpr std::uint32_t kControlWords = 1'024;       ///< cancel words of a session's page
inline constexpr std::uint32_t kListPageMax = 4'096;
inline constexpr std::uint32_t kNamespacesPageMax = 128;  ///< of 5 KiB at most each
inline constexpr std::uint32_t kVictimScanMax = 4'096;

static_assert(kControlWords >= kSessionBatchesMax, "each put in flight needs a word");
static_assert(kBatchKeysMax * 72ULL <= kFrameArrayMax.count, "a full batch fits a frame");
static_assert(kMatchUnitsMax * 16ULL <= kFrameArrayMax.count, "a full match fits a frame");
static_assert(kSessionChainMax <= (1U << kStampPositionBits), "a chain fits its stamp bits");
static_assert(kMatchUnitsMax <= (1U << kStampPositionBits), "a position fits its stamp bits");

}  // namespace larder::limits
