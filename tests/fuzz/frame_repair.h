// A mutator for streams of frames: what libFuzzer changed has its headers put right again, so that
// most inputs get past them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "store/limits.h"
#include "transport/frame.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace larder::fuzz {

/// Before the stream: how it is cut, see frame_fuzz.cc.
inline constexpr std::size_t kFrameScriptBytes = 5;
/// The byte of the script that has descriptors come, from that value on.
inline constexpr std::size_t kFrameScriptHow = 3;
inline constexpr std::uint8_t kFrameFds = 192;
/// The byte of the script that has many zeros follow.
inline constexpr std::size_t kFrameScriptZeros = 4;
/// Room for a few frames.
inline constexpr std::size_t kShortStream = 200;

inline std::uint32_t repaired_size(std::uint32_t value, std::size_t left, Bytes most) {
  if (value <= left) return value;
  return value % static_cast<std::uint32_t>(std::min<std::size_t>(left, most.count) + 1);
}

/// Walks from header to header; each keeps type, flags and id, and names no more than what follows,
/// and no descriptors if none come.
inline void repair_frames(std::span<std::uint8_t> stream, bool has_fds) {
  while (stream.size() >= kFrameHeaderBytes) {
    FrameHeader header;
    header.type = static_cast<FrameType>(stream[5]);
    header.flags = static_cast<std::uint16_t>(stream[6] | (stream[7] << 8));
    if (!has_fds) header.flags &= static_cast<std::uint16_t>(~kFdMask);
    std::memcpy(&header.id, &stream[8], sizeof header.id);
    std::memcpy(&header.body, &stream[16], sizeof header.body);
    std::memcpy(&header.array, &stream[20], sizeof header.array);
    std::memcpy(&header.payload, &stream[24], sizeof header.payload);
    std::size_t left = stream.size() - kFrameHeaderBytes;
    header.body = repaired_size(header.body, left, limits::kFrameBodyMax);
    left -= header.body;
    header.array = repaired_size(header.array, left, limits::kFrameArrayMax);
    left -= header.array;
    header.payload = repaired_size(header.payload, left, limits::kFramePayloadMax);
    left -= header.payload;
    encode(header, std::as_writable_bytes(stream).first<kFrameHeaderBytes>());
    stream = stream.last(left);
  }
}

/// One in eight stays as libFuzzer made it: bad headers, lengths beyond the stream's end, many
/// zeros. The others are short, and so quick.
inline std::size_t mutate_frames(std::uint8_t* data, std::size_t size, std::size_t most,
                                 unsigned seed) {
  if (seed % 32 != 1) {
    most = std::min(most, kFrameScriptBytes + kShortStream);
    size = std::min(size, most);
  }
  size = LLVMFuzzerMutate(data, size, most);
  if (size < kFrameScriptBytes || seed % 8 == 0) return size;
  data[kFrameScriptZeros] = 0;
  const bool has_fds = data[kFrameScriptHow] >= kFrameFds || seed % 8 == 1;
  repair_frames(std::span(data, size).subspan(kFrameScriptBytes), has_fds);
  return size;
}

}  // namespace larder::fuzz
