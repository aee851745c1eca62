#include <algorithm>
#include <cstring>
#include <memory>

#include "transport/guarded_copy.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace larder {
namespace {

/// Whether the bytes go to a second place, too, through the caches.
enum class Kept : std::uint8_t { kNo, kYes };

#if defined(__x86_64__)

constexpr std::size_t kAlign = 64;

/// Hides a miss behind eight lines; behind sixteen where a checksum is made between two pieces.
template <Kept kept_too>
void prefetch(const std::byte* at) {
  if constexpr (kept_too == Kept::kYes) {
    _mm_prefetch(reinterpret_cast<const char*>(at + 1024), _MM_HINT_T0);
  } else {
    _mm_prefetch(reinterpret_cast<const char*>(at + 512), _MM_HINT_NTA);
  }
}

// A line is loaded once, whoever writes to `src` meanwhile.

template <Kept kept_too>
[[gnu::target("avx2")]] void stream_avx2(std::byte* dst, std::byte* kept, const std::byte* src,
                                         std::size_t length) {
  for (std::size_t at = 0; at < length; at += kAlign) {
    prefetch<kept_too>(src + at);
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at + 32));
    if constexpr (kept_too == Kept::kYes) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(kept + at), a);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(kept + at + 32), b);
    }
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + at), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + at + 32), b);
  }
}

template <Kept kept_too>
void stream_sse2(std::byte* dst, std::byte* kept, const std::byte* src, std::size_t length) {
  for (std::size_t at = 0; at < length; at += 16) {
    prefetch<kept_too>(src + at);
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + at));
    if constexpr (kept_too == Kept::kYes) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(kept + at), a);
    }
    _mm_stream_si128(reinterpret_cast<__m128i*>(dst + at), a);
  }
}

template <Kept kept_too>
void stream_lines(std::byte* dst, std::byte* kept, const std::byte* src, std::size_t length) {
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  if (avx2) {
    stream_avx2<kept_too>(dst, kept, src, length);
  } else {
    stream_sse2<kept_too>(dst, kept, src, length);
  }
  _mm_sfence();
}

#else

constexpr std::size_t kAlign = 1;

template <Kept kept_too>
void stream_lines(std::byte*, std::byte*, const std::byte*, std::size_t) {}

#endif

/// By the C library, but each byte once.
template <Kept kept_too>
void copy_plainly(std::byte* dst, std::byte* kept, const std::byte* src, std::size_t length) {
  if constexpr (kept_too == Kept::kYes) {
    std::memcpy(kept, src, length);
    std::memcpy(dst, kept, length);
  } else {
    std::memcpy(dst, src, length);
  }
}

template <Kept kept_too>
void copy(void* dst_memory, void* kept_memory, const void* src_memory, std::size_t length) {
  auto* dst = static_cast<std::byte*>(dst_memory);
  auto* kept = static_cast<std::byte*>(kept_memory);
  const auto* src = static_cast<const std::byte*>(src_memory);
  const auto advance = [&](std::size_t bytes) {
    dst += bytes;
    src += bytes;
    if constexpr (kept_too == Kept::kYes) kept += bytes;
    length -= bytes;
  };
  if constexpr (kAlign > 1) {
    const std::size_t head =
        std::min(length, -reinterpret_cast<std::uintptr_t>(dst) % kAlign);  // to its first line
    copy_plainly<kept_too>(dst, kept, src, head);
    advance(head);
    const std::size_t lines = length / kAlign * kAlign;
    stream_lines<kept_too>(dst, kept, src, lines);
    advance(lines);
  }
  copy_plainly<kept_too>(dst, kept, src, length);
}

}  // namespace

void copy_streaming(void* dst, const void* src, std::size_t length) {
  copy<Kept::kNo>(dst, nullptr, src, length);
}

std::byte* bounce_memory() {
  thread_local const std::unique_ptr<std::byte[]> memory =
      std::make_unique_for_overwrite<std::byte[]>(kBounceBytes);
  return memory.get();
}

void copy_streaming_sum(void* dst, const void* src, std::size_t length, Checksum& sum) {
  constexpr std::size_t kPiece = 4 << 10;  // read twice: from a first-level cache the second time
  for (std::size_t at = 0; at < length; at += kPiece) {
    const std::size_t n = std::min(kPiece, length - at);
    copy_streaming(static_cast<std::byte*>(dst) + at, static_cast<const std::byte*>(src) + at, n);
    sum.update(static_cast<const std::byte*>(src) + at, n);
  }
}

void copy_streaming_twice(void* dst, void* kept, const void* src, std::size_t length) {
  copy<Kept::kYes>(dst, kept, src, length);
}

}  // namespace larder
