#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "store/types.h"

namespace larder {

/// How much of a group's past a reader needs: all of it, the last W tokens, or one state exactly at
/// the boundary.
enum class GroupKind : std::uint8_t { kFull = 0, kWindow = 1, kState = 2 };

/// Layers with one cache rule.
struct GroupSpec {
  GroupKind kind = GroupKind::kFull;
  std::uint32_t block_tokens = 0;   ///< tokens of one block; a multiple of the hash unit
  std::uint32_t window_tokens = 0;  ///< kWindow only
  Bytes block_bytes{};              ///< exact size of every block; 0: any, held in a size class
  friend bool operator==(const GroupSpec&, const GroupSpec&) = default;
};

/// Everything that the block hash does not cover. Blocks of different fingerprints never meet.
struct Fingerprint {
  std::string model{};
  std::string revision{};
  std::string dtype{};
  std::string quantisation{};
  std::string layout{};
  std::string parallel_layout{};
  bool flat = false;  ///< keys are any names; else chains
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

/// What a client sends to open a namespace.
struct NamespaceSpec {
  Fingerprint fingerprint;
  std::uint32_t unit_tokens = 0;     ///< tokens of one hash unit
  std::uint32_t segment_tokens = 0;  ///< longest segment; 0: limits::kSegmentTokensDefault
  std::uint32_t ranks = 1;
  std::vector<GroupSpec> groups;
  Duration ttl{0};  ///< 0: blocks do not expire

  /// INVALID_ARGUMENT naming the field, its value and the limit.
  absl::Status validate() const;
  /// Hash units of the longest segment: a power of two, at least 1.
  std::uint32_t segment_units() const;
};

/// Deterministic 64-bit id of (tenant name, fingerprint): XXH3-64 over length-prefixed fields. The
/// group table is not in it: the same fingerprint with another table is an error at open.
NamespaceId namespace_id(const std::string& tenant, const Fingerprint& fingerprint);

/// Bytes that a slot for a block of `length` takes: the group's declared size (aligned), else the
/// next size class, four a doubling (steps of 1.25 at most). Below 4 KiB aligned to 64 bytes, from
/// there on to 4 KiB.
Bytes slot_bytes(const GroupSpec& group, Bytes length);

}  // namespace larder
