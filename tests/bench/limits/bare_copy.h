#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace larder {

/// The ways in which one thread of this machine can bring a block's bytes from one place to
/// another, without and with the checksum that Larder keeps (XXH3-64).
enum class BareCopy : std::uint8_t {
  kMemcpy,             ///< the C library's
  kStreaming,          ///< stores that go past the caches
  kMemcpyThenSum,      ///< memcpy, then the checksum of what was written
  kFusedSum,           ///< piece by piece: memcpy, then the checksum while it is in the cache
  kFusedStreamingSum,  ///< piece by piece: checksum of the source, then streaming stores
  kTwiceStreamingSum,  ///< piece by piece: streaming stores and a copy in the cache, then its
                       ///< checksum
};

/// The name that reports use.
const char* name_of(BareCopy way);

/// Copies `from` to `to`; the areas do not overlap. Any thread, allocates nothing. The checksum is
/// computed and kept from being optimised away, nothing else.
void bare_copy(BareCopy way, std::span<const std::byte> from, std::byte* to);

/// A checksum that the compiler must believe to be used.
void keep_sum(std::uint64_t sum);

}  // namespace larder
