// The words of the domain: ids, units, keys. Every other folder may include this file, and this
// file includes nothing of ours.

#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <utility>

namespace larder {

/// An integer that cannot be mistaken for another one. No arithmetic: ids are compared, hashed and
/// printed. `Tag` only makes the type distinct.
template <class Tag, class Rep>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(Id, Id) = default;
  friend std::ostream& operator<<(std::ostream& out, Id id) { return out << +id.value_; }

  template <class H>
  friend H AbslHashValue(H state, Id id) {  // NOLINT(readability-identifier-naming)
    return H::combine(std::move(state), id.value_);
  }

 private:
  Rep value_{};
};

using TenantId = Id<struct TenantTag, std::uint32_t>;        ///< local to a node
using NamespaceId = Id<struct NamespaceTag, std::uint64_t>;  ///< equal fields give equal ids
using GroupId = Id<struct GroupTag, std::uint16_t>;
using Rank = Id<struct RankTag, std::uint16_t>;
using ShardId = Id<struct ShardTag, std::uint32_t>;
using SlabId =
    Id<struct SlabTag, std::uint32_t>;  ///< never reused while a daemon's directory lives
using EntryId = Id<struct EntryTag, std::uint32_t>;  ///< dense number in one shard's index
using SessionId = Id<struct SessionTag, std::uint64_t>;
using RequestId = Id<struct RequestTag, std::uint64_t>;  ///< one prompt being served
using WriterId = Id<struct WriterTag, std::uint64_t>;    ///< who put a block (its session)

/// Orders touches over a whole node: request end sequence in the high 44 bits, then the position
/// counted from the suffix in the low 20. Larger is more recent.
using Stamp = Id<struct StampTag, std::uint64_t>;
inline constexpr int kStampPositionBits = 20;
/// Of a block whose use is not known: older than every touch, the root the most recent.
inline constexpr Stamp stamp_unused(std::uint32_t position) {
  constexpr std::uint64_t kPositions = 1ULL << kStampPositionBits;
  return Stamp(kPositions - 1 - (position & (kPositions - 1)));
}

/// A size or an offset in bytes; adds and subtracts, and prints its unit.
struct Bytes {
  std::uint64_t count = 0;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return {a.count * n}; }
  friend std::ostream& operator<<(std::ostream& out, Bytes b) { return out << b.count << " B"; }
};

namespace literals {
// clang-format off
constexpr Bytes operator""_B(unsigned long long n) { return {n}; }        // NOLINT
constexpr Bytes operator""_KiB(unsigned long long n) { return {n << 10}; }  // NOLINT
constexpr Bytes operator""_MiB(unsigned long long n) { return {n << 20}; }  // NOLINT
constexpr Bytes operator""_GiB(unsigned long long n) { return {n << 30}; }  // NOLINT
// clang-format on
}  // namespace literals

/// Digest of a block's tokens and of every token before it (16 bytes, as on the wire: `high` is the
/// first 8 bytes, `low` the last 8, little endian). Already uniform: never hashed again.
struct BlockHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const BlockHash&, const BlockHash&) = default;
  friend std::ostream& operator<<(std::ostream& out, const BlockHash& h) {
    return out << std::hex << h.high << ':' << h.low << std::dec;
  }
  template <class H>
  friend H AbslHashValue(H state, const BlockHash& h) {  // NOLINT(readability-identifier-naming)
    return H::combine(std::move(state), h.low, h.high);
  }
};

/// Names one block across the cluster.
struct BlockKey {
  NamespaceId ns;
  BlockHash hash;
  GroupId group;
  Rank rank;
  friend constexpr auto operator<=>(const BlockKey&, const BlockKey&) = default;
  friend std::ostream& operator<<(std::ostream& out, const BlockKey& k) {
    return out << k.ns << '/' << k.group << '/' << k.rank << '/' << k.hash;
  }
  template <class H>
  friend H AbslHashValue(H state, const BlockKey& k) {  // NOLINT(readability-identifier-naming)
    return H::combine(std::move(state), k.ns, k.hash, k.group, k.rank);
  }
};

/// Where a block's bytes stand on this node.
struct SlotRef {
  SlabId slab;
  std::uint32_t slot = 0;
  friend constexpr auto operator<=>(const SlotRef&, const SlotRef&) = default;
  friend std::ostream& operator<<(std::ostream& out, const SlotRef& s) {
    return out << s.slab << '[' << s.slot << ']';
  }
};

enum class Tier : std::uint8_t { kNone = 0, kGpu = 1, kHost = 2, kDisk = 3, kCold = 4 };

/// Monotonic time. Always passed in, never read: nothing below actors/ calls a clock.
using Duration = std::chrono::nanoseconds;
using Time = std::chrono::time_point<std::chrono::steady_clock, Duration>;

}  // namespace larder
