#pragma once

#include <algorithm>
#include <cstdint>

#include "actors/tenant_use.h"
#include "store/limits.h"
#include "store/types.h"

namespace larder {

/// Bytes of a streamed put that may be under way unacknowledged.
inline constexpr std::uint64_t kStreamCredits = 4 << 20;
/// Slots of one put that are filled before the shards have answered: what is copied meanwhile, and
/// a batch of usual size. The first one counts whatever its size.
inline constexpr Bytes kLentBytes{2 << 20};
/// Work of one session in one turn of its io thread: alone, and when others have turns too.
inline constexpr std::size_t kTurnBytes = 1 << 20;
inline constexpr std::size_t kSharedTurnBytes = 256 << 10;
/// A session with this much to send is not read from.
inline constexpr std::size_t kWriterPauseBytes = 8 << 20;
/// What a client must read in lease_ms of the answers that wait for it: the blocks behind them are
/// held for as long, so one that takes a few bytes now and then is as good as gone.
inline constexpr std::size_t kReadAtLeast = 1 << 20;
/// Payload that a get keeps queued ahead.
inline constexpr std::size_t kGetAheadBytes = 2 << 20;
/// Keys of one message to a shard: its work on them takes well below a millisecond, also when it
/// evicts for each and nothing is in the caches.
inline constexpr std::size_t kReserveStep = 256;
inline constexpr std::size_t kEraseStep = 512;
inline constexpr std::size_t kClaimStep = 512;
inline constexpr std::size_t kTouchStep = 1'024;
inline constexpr std::size_t kAbortStep = 512;
/// Of one step of a call in steps: keys that it looks up, hashes that it takes out of its frame;
/// and blocks of a chain that a request's end sends to be touched.
inline constexpr std::size_t kMatchStep = 1'024;
inline constexpr std::size_t kLoadStep = 16'384;
inline constexpr std::size_t kEndStep = 4'096;
/// Keys that one turn's calls may name before the others wait for the next turn.
inline constexpr std::size_t kTurnKeys = 4'096;
/// Keys of all open waits of a node: an io thread looks at every one of its sessions' again and
/// again, and must be back for others in some 20 ms.
inline constexpr std::uint64_t kNodeWaitKeysMax = 262'144;
/// Removals of prefixes, namespaces, tenants and writers under way: each remembers every block of a
/// namespace, some 100 bytes a block.
inline constexpr std::uint32_t kSessionRemovalsMax = 1;
inline constexpr std::uint32_t kNodeRemovalsMax = 4;
/// A buffer for frames below this is every session's own.
inline constexpr std::uint64_t kFrameBytesFree = 256 << 10;
/// Of all sessions together. What takes memory of its own (some 100 bytes a claim or a block of a
/// chain, 1,600 a request) is bounded by what the node has for blocks: an eighth of it for frames,
/// an eightieth for claims and for chains, each 24 to 50 MiB at least.
inline std::uint64_t common_max(Common what, Bytes host) {
  constexpr std::uint64_t kMi = 1 << 20;
  switch (what) {
    case Common::kRegions:
      return limits::kRegionsMax;
    case Common::kWaitKeys:
      return kNodeWaitKeysMax;
    case Common::kRemovals:
      return kNodeRemovalsMax;
    case Common::kFrameBytes:
      return std::clamp<std::uint64_t>(host.count / 8, 32 * kMi, 512 * kMi);
    case Common::kClaims:
      return std::clamp<std::uint64_t>(host.count / 8192, kMi / 4, 16 * kMi);
    case Common::kChainBlocks:
      return std::clamp<std::uint64_t>(host.count / 8192, kMi / 2, 16 * kMi);
    case Common::kRequests:
      return std::clamp<std::uint64_t>(host.count / 65'536, kMi / 64, kMi);
  }
  return 0;
}
/// Of a StatsReply.
inline constexpr std::uint32_t kTenantRowsMax = 1'024;
inline constexpr Duration kPutDeadlineDefault = std::chrono::seconds(10);
inline constexpr Duration kPutDeadlineMax = std::chrono::minutes(10);
inline constexpr Duration kNamespaceTtlMax = std::chrono::hours(24 * 3650);
/// Of those that are left, a tenant may have this many times as many sessions, where there are
/// tenants.
inline constexpr std::uint32_t kSessionsTimes = 7;
/// Beyond max_sessions, for administrators of this machine: they are to see why nobody comes in.
inline constexpr std::uint32_t kSessionsKept = 16;
/// Of max_sessions, those that may be open without a Hello; each io thread may have a few.
inline constexpr std::uint32_t kUnknownShare = 4;
inline constexpr std::uint32_t kUnknownMin = 8;
/// Of one that makes room when all sessions are taken: its Hello would have come.
inline constexpr Duration kUnknownAge = std::chrono::milliseconds(100);
inline constexpr Duration kHelloDeadline = std::chrono::seconds(5);

}  // namespace larder
