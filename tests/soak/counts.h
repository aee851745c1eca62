#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace larder::soak {

/// What workers do and see.
enum class Count : std::uint8_t {
  kGets,       ///< blocks asked for
  kHits,       ///< and compared byte for byte
  kPuts,       ///< blocks stored
  kLayerPuts,  ///< blocks stored layer by layer
  kViews,      ///< blocks read in place, valid to the end
  kMatches,
  kClaims,
  kWaits,
  kPins,
  kTouches,
  kRemoved,   ///< blocks
  kPrefixes,  ///< prefixes removed
  kLists,
  kUnavailable,  ///< calls that a fault cut off
  kHolders,      ///< workers that held things open and did no more
  kEnd
};
inline constexpr const char* kCountNames[] = {
    "gets", "hits",    "puts",    "layer_puts", "views", "matches",     "claims", "waits",
    "pins", "touches", "removed", "prefixes",   "lists", "unavailable", "holders"};
static_assert(std::size(kCountNames) == static_cast<std::size_t>(Count::kEnd));

/// Counters in a file that the run and all of its workers map, so that a worker that is killed has
/// counted until then. Any process, any thread.
class Counts {
 public:
  /// Maps `file`, made when absent. Ends the process when that fails.
  explicit Counts(const std::string& file);
  ~Counts();
  Counts(const Counts&) = delete;
  Counts& operator=(const Counts&) = delete;

  void add(Count what, std::uint64_t n = 1) { of(what) += n; }
  std::uint64_t get(Count what) const { return of(what); }
  std::uint64_t total() const;
  /// Workers end when they see it.
  std::atomic<bool>& stop() const { return shared_->stop; }

 private:
  struct Shared {
    std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Count::kEnd)> counts;
    std::atomic<bool> stop;
  };
  std::atomic<std::uint64_t>& of(Count what) const {
    return shared_->counts[static_cast<std::size_t>(what)];
  }
  Shared* shared_;
};

}  // namespace larder::soak
