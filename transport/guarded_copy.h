#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "store/checksum.h"

namespace larder {

// Copies between memory of which one side is another process's file: a peer can truncate it or
// punch holes into it, and then touching it raises SIGBUS. A process-wide handler turns a fault
// inside these functions into `false`, and hands every other SIGBUS to the handler that was there
// before. Any thread; the copies allocate nothing.

/// Installs the handler, or puts it back over one that was installed since (a debugger's, a
/// language runtime's). The copies below install it at their first call ever; call this once a
/// batch. One system call.
void guard_sigbus();

/// Blocks from this size on are written past the caches: nobody reads them back at once.
inline constexpr std::size_t kStreamingCopyMin = 256 << 10;

/// The same with a checksum, which reads the bytes elsewhere.
inline constexpr std::size_t kStreamingSumMin = 32 << 10;

/// store/'s running checksum, over raw memory. Plain memory, no destructor: safe to jump out of.
class Checksum {
 public:
  void reset() { stream_.reset(); }
  void update(const void* data, std::size_t length) {
    stream_.update({static_cast<const std::byte*>(data), length});
  }
  std::uint64_t value() const { return stream_.digest(); }

 private:
  ChecksumStream stream_;
};

/// In one go.
inline std::uint64_t checksum_of(const void* data, std::size_t length) {
  return checksum({static_cast<const std::byte*>(data), length});
}

/// kStreaming is for pieces of a larger whole that nobody reads back at once; pieces below
/// kStreamingPieceMin go through the caches all the same.
enum class CopyWay : std::uint8_t { kBySize, kStreaming };
inline constexpr std::size_t kStreamingPieceMin = 4 << 10;

/// False when memory behind either side went away; then `dst` holds anything.
[[nodiscard]] bool copy_guarded(void* dst, const void* src, std::size_t length,
                                CopyWay way = CopyWay::kBySize);

/// Copies and adds to `sum` the bytes as they stand in `dst` (a source that changes meanwhile
/// cannot make the two differ), in pieces that fit the first-level cache; past the caches from
/// kStreamingSumMin on.
[[nodiscard]] bool copy_checksum_guarded(void* dst, const void* src, std::size_t length,
                                         Checksum& sum);

/// Adds bytes of guarded memory to `sum`.
[[nodiscard]] bool checksum_guarded(const void* src, std::size_t length, Checksum& sum);

/// One acquiring load, e.g. of a slot's generation; nothing when the memory went away.
std::optional<std::uint64_t> load_guarded(const std::atomic<std::uint64_t>* word);

/// Faults turned into `false` since the process began.
std::uint64_t sigbus_faults();

/// Writes `length` bytes past the caches where the processor can (AVX2, else SSE2), found out at
/// run time. Unguarded. Both may have any alignment.
void copy_streaming(void* dst, const void* src, std::size_t length);

/// Memory of this thread, for bytes that the kernel hands over and that go on to where nobody reads
/// them back at once: a piece of them stays in a second-level cache meanwhile. Every use of it ends
/// before the next one begins.
inline constexpr std::size_t kBounceBytes = 64 << 10;
std::byte* bounce_memory();

/// Writes bytes of bounce_memory() past the caches and adds them to `sum`. Unguarded.
void copy_streaming_sum(void* dst, const void* src, std::size_t length, Checksum& sum);

/// copy_streaming() with a second copy in `kept` through the caches, for who has more to do with
/// the bytes: each is read once, so that the two are equal although `src` changes meanwhile.
void copy_streaming_twice(void* dst, void* kept, const void* src, std::size_t length);

}  // namespace larder
