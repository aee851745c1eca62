#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <ostream>
#include <span>

#include "absl/status/statusor.h"

#include "store/types.h"

namespace larder {

inline constexpr std::uint32_t kFrameMagic = 0x5244524c;  // "LRDR" on the wire
inline constexpr std::uint8_t kProtocolVersion = 1;
inline constexpr std::size_t kFrameHeaderBytes = 32;

/// The operation of a frame. A reply has the type of its request and kFlagReply.
enum class FrameType : std::uint8_t {
  kHello = 1,
  kPing = 2,
  kOpenNamespace = 3,
  kRegisterRegion = 4,
  kUnregisterRegion = 5,
  kBeginRequest = 6,
  kEndRequest = 7,
  kMatch = 8,
  kGet = 9,
  kGetData = 10,  ///< server to client: a chunk of a block's bytes (tcp)
  kPut = 11,
  kPutData = 12,  ///< client to server: a chunk of a block's bytes (tcp)
  kPutStart = 13,
  kPutPart = 14,
  kPutEnd = 15,
  kWait = 16,
  kRelease = 17,
  kRenew = 18,
  kTouch = 19,
  kPin = 20,
  kUnpin = 21,
  kRemove = 22,
  kRemovePrefix = 23,
  kList = 24,
  kCancel = 25,
  kStats = 26,
  kSlabNotice = 27,   ///< server to client: a slab's two read-only descriptors (shm)
  kSlabRetired = 28,  ///< server to client: unmap this slab
  kError = 29,        ///< server to client: the session is about to be closed, and why
  kNamespaces = 30,
  kSetMode = 31,
  kPurge = 32,
  kProgress = 33,  ///< server to client: the call of this id goes on
};

inline constexpr std::uint16_t kFlagReply = 1;
/// Number of file descriptors that came with the frame, in bits 8–11.
inline constexpr int kFdShift = 8;
inline constexpr std::uint16_t kFdMask = 0xf00;

/// The fixed head of every frame, 32 bytes, little endian:
///
///    0 magic u32     4 version u8   5 type u8   6 flags u16    8 id u64
///   16 body u32     20 array u32   24 payload u32             28 reserved u32 (0)
///
/// then `body` bytes of protobuf, `array` bytes of fixed-width records, `payload` bytes of KV.
struct FrameHeader {
  FrameType type = FrameType::kError;
  std::uint8_t version = kProtocolVersion;
  std::uint16_t flags = 0;
  std::uint64_t id = 0;
  std::uint32_t body = 0;
  std::uint32_t array = 0;
  std::uint32_t payload = 0;

  bool is_reply() const { return (flags & kFlagReply) != 0; }
  int fds() const { return (flags & kFdMask) >> kFdShift; }
  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

void encode(const FrameHeader& header, std::span<std::byte, kFrameHeaderBytes> out);

/// INVALID_ARGUMENT naming field, value and limit: magic, version, body, array, payload, reserved.
/// An unknown `type` is not an error here: the session answers it with UNIMPLEMENTED.
absl::StatusOr<FrameHeader> decode(std::span<const std::byte, kFrameHeaderBytes> in);

}  // namespace larder
