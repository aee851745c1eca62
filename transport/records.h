// The fixed-width records of frame arrays: packed, little endian, copied by memcpy.

#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "store/types.h"

namespace larder::wire {

/// What became of one key. Numbers are the wire's.
enum class KeyStatus : std::uint16_t {
  kOk = 0,            ///< get: hit; put: stored now; remove, touch, pin: done
  kMiss = 1,          ///< absent (or foreign: the same answer)
  kPending = 2,       ///< being computed or written by another
  kPresent = 3,       ///< put: was there already
  kSizeMismatch = 4,  ///< the block has another length than asked for or given
  kRefused = 5,       ///< put: admission said no
  kNoSpace = 6,       ///< put: all is leased or pinned, or over quota
  kCorrupt = 7,       ///< put: checksum of what arrived differs; nothing was stored
  kInvalid = 8,       ///< this key's group, rank, length or source is out of bounds
  kCancelled = 9,
  kBusy = 10,         ///< too many leases on it
  kFault = 11,        ///< the client's memory could not be read
  kUnavailable = 12,  ///< client only: the connection died
  kDeadline = 13,     ///< client only: no progress within the deadline
  kWanted = 14,       ///< tcp put above the inline limit: send this key's bytes
};

inline constexpr std::uint32_t kKeyFlat = 1;  ///< KeyRecord::flags

/// A key as every operation but Match sends it.
struct KeyRecord {
  BlockHash hash;
  BlockHash parent;  ///< block before it in the same group; zero at the root
  BlockHash anchor;  ///< chain hash of its run's first unit; flat: equal to `hash`
  std::uint64_t engine_hash = 0;
  std::uint32_t position = 0;  ///< its last unit
  std::uint32_t length = 0;    ///< put: bytes; get: expected bytes, 0 for any
  std::uint16_t group = 0;
  std::uint16_t rank = 0;
  std::uint32_t flags = 0;
};
static_assert(sizeof(KeyRecord) == 72);

/// A piece of a block to be put, in order of key, then offset. Pieces of a key are joined.
struct PutSource {
  static constexpr std::uint32_t kAttach = 0xffffffff;  ///< region: `address` is in the client
  static constexpr std::uint32_t kStream = 0xfffffffe;  ///< region: bytes follow on the stream
  std::uint32_t key = 0;                                ///< index into the batch
  std::uint32_t region = 0;                             ///< registered region, or one of the above
  std::uint64_t address = 0;  ///< offset in the region, or the client's address
  std::uint64_t length = 0;
};
static_assert(sizeof(PutSource) == 24);

struct GetResult {
  std::uint16_t status = 0;  ///< KeyStatus
  std::uint16_t tier = 0;
  std::uint32_t slab = 0;
  std::uint64_t offset = 0;      ///< of the block's first byte in the slab's file
  std::uint64_t length = 0;      ///< bytes of the block
  std::uint64_t generation = 0;  ///< of its slot; re-read after the copy
  std::uint64_t checksum = 0;    ///< XXH3-64
  std::uint32_t slot = 0;        ///< number of its header in the slab's header file
  std::uint32_t reserved = 0;
};
static_assert(sizeof(GetResult) == 48);

struct PutResult {
  std::uint16_t status = 0;  ///< KeyStatus
  std::uint16_t path = 0;    ///< PutPath
  std::uint32_t reserved = 0;
};
static_assert(sizeof(PutResult) == 8);
/// How the bytes of a put travelled.
enum class PutPath : std::uint16_t { kNone = 0, kRegion = 1, kAttach = 2, kStream = 3 };

/// Array of kGetData and kPutData: where this chunk belongs. The last chunk of a put's key carries
/// the checksum of the whole block.
struct ChunkRecord {
  std::uint32_t key = 0;
  std::uint32_t last = 0;
  std::uint64_t offset = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(ChunkRecord) == 24);

/// One block position of one group in a match's answer, folded over all ranks.
struct MatchRecord {
  std::uint8_t state = 0;  ///< MatchState
  std::uint8_t tier = 0;
  std::uint16_t node = 0;
};
static_assert(sizeof(MatchRecord) == 4);
enum class MatchState : std::uint8_t { kAbsent = 0, kPresent = 1, kPending = 2, kClaimed = 3 };

struct ListRecord {
  BlockHash hash;
  BlockHash parent;
  std::uint64_t ns = 0;
  std::uint32_t length = 0;
  std::uint32_t position = 0;
  std::uint16_t group = 0;
  std::uint16_t rank = 0;
  std::uint32_t leases = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(ListRecord) == 64);

/// Appends `records` as bytes / reads them back; `parse` is false when the length lies.
template <class Record>
void append(std::vector<std::byte>& out, std::span<const Record> records) {
  const auto bytes = std::as_bytes(records);
  out.insert(out.end(), bytes.begin(), bytes.end());
}
template <class Record>
bool parse(std::span<const std::byte> in, std::vector<Record>& out) {
  if (in.size() % sizeof(Record) != 0) return false;
  out.resize(in.size() / sizeof(Record));
  if (!in.empty()) std::memcpy(out.data(), in.data(), in.size());
  return true;
}

}  // namespace larder::wire
