#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

#include "actors/latency_histogram.h"
#include "store/mutex.h"

namespace larder {

/// What is bounded over all sessions of a node, in number; see common_max().
enum class Common : std::uint8_t {
  kRegions,      ///< registered memory, mapped here
  kWaitKeys,     ///< keys of open waits
  kRemovals,     ///< RemovalOps under way
  kFrameBytes,   ///< memory of frames that are not here whole
  kClaims,       ///< keys that somebody computes, as a match said
  kChainBlocks,  ///< blocks that open requests will touch
  kRequests
};
inline constexpr std::size_t kCommons = 7;

/// What one tenant's sessions hold of what all tenants share. Any thread.
struct TenantUse {
  explicit TenantUse(std::string tenant) : name(std::move(tenant)) {}

  const std::string name;
  std::atomic<std::uint64_t> sessions{0};
  std::atomic<std::uint64_t> pinned{0};  ///< bytes of blocks
  std::atomic<std::uint64_t> held{0};  ///< likewise, by gets over shared memory and puts under way
  std::array<std::atomic<std::uint64_t>, kCommons> common{};  ///< by Common
  OperationTimes times;                                       ///< of its sessions' calls
};

/// Every tenant's, from its first session on. Any thread; one mutex, taken by a Hello.
class TenantUses {
 public:
  /// Lives as long as this. As many as token_file has tenants, and the default one.
  TenantUse& of(const std::string& tenant);
  /// All of them, by name.
  std::vector<const TenantUse*> all() const;

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<TenantUse>> uses_ ABSL_GUARDED_BY(mutex_);
};

/// Whether a tenant may hold `own` of a pot of which `left` is left for all: at most `times` as
/// much. So no tenant has the pot whole, however early it comes, and who is alone has nearly all of
/// it. (Dynamic thresholds, as for the shared buffers of switches: Choudhury and Hahne, 1998.)
inline bool leaves_room(std::uint64_t own, std::uint64_t left, std::uint64_t times) {
  return own <= times * left;
}

/// Bytes, or things counted, that all tenants take from one pot. Any thread; two atomic additions a
/// call.
class SharedPot {
 public:
  struct Bounds {
    std::uint64_t all = 0;    ///< the pot
    std::uint64_t own = 0;    ///< the tenant's
    bool tenants = false;     ///< there are others to leave room for
    std::uint64_t times = 3;  ///< what one may have of what is left: three quarters, if alone
  };
  /// `own` is the tenant's count. False, and nothing is taken, when a bound does not allow it.
  bool take(std::atomic<std::uint64_t>& own, std::uint64_t bytes, const Bounds& bounds);
  void give(std::atomic<std::uint64_t>& own, std::uint64_t bytes);
  std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> taken_{0};
};

/// A pot of each Common. Any thread.
class Commons {
 public:
  /// False, and nothing is taken, when less is left than the node has, or than one tenant may have.
  bool take(TenantUse& tenant, Common what, std::uint64_t count, const SharedPot::Bounds& bounds);
  void give(TenantUse& tenant, Common what, std::uint64_t count);
  std::string why_not(const TenantUse& tenant, Common what, const SharedPot::Bounds& bounds) const;
  std::uint64_t taken(Common what) const { return pots_[index_of(what)].taken(); }

 private:
  static std::size_t index_of(Common what) { return static_cast<std::size_t>(what); }

  std::array<SharedPot, kCommons> pots_;
};

}  // namespace larder
