#include <algorithm>
#include <cstring>

#include "transport/guarded_copy.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace larder {
namespace {

#if defined(__x86_64__)

constexpr std::size_t kAlign = 64;
constexpr std::size_t kAhead = 512;  ///< bytes of prefetch: hides a miss behind eight lines
/// With a second store a line: the checksum's pause between two pieces is longer than a miss.
constexpr std::size_t kAheadTwice = 1024;

[[gnu::target("avx2")]] void stream_avx2(std::byte* dst, const std::byte* src, std::size_t length) {
  for (std::size_t at = 0; at < length; at += kAlign) {
    _mm_prefetch(reinterpret_cast<const char*>(src + at + kAhead), _MM_HINT_NTA);
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + at), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + at + 32), b);
  }
}

void stream_sse2(std::byte* dst, const std::byte* src, std::size_t length) {
  for (std::size_t at = 0; at < length; at += 16) {
    _mm_prefetch(reinterpret_cast<const char*>(src + at + kAhead), _MM_HINT_NTA);
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + at));
    _mm_stream_si128(reinterpret_cast<__m128i*>(dst + at), a);
  }
}

/// A line is loaded once, whoever writes to `src` meanwhile.
[[gnu::target("avx2")]] void stream_twice_avx2(std::byte* dst, std::byte* kept,
                                               const std::byte* src, std::size_t length) {
  for (std::size_t at = 0; at < length; at += kAlign) {
    _mm_prefetch(reinterpret_cast<const char*>(src + at + kAheadTwice), _MM_HINT_T0);
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at + 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(kept + at), a);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(kept + at + 32), b);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + at), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + at + 32), b);
  }
}

void stream_twice_sse2(std::byte* dst, std::byte* kept, const std::byte* src, std::size_t length) {
  for (std::size_t at = 0; at < length; at += 16) {
    _mm_prefetch(reinterpret_cast<const char*>(src + at + kAheadTwice), _MM_HINT_T0);
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + at));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(kept + at), a);
    _mm_stream_si128(reinterpret_cast<__m128i*>(dst + at), a);
  }
}

void stream_lines_twice(std::byte* dst, std::byte* kept, const std::byte* src, std::size_t length) {
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  if (avx2) {
    stream_twice_avx2(dst, kept, src, length);
  } else {
    stream_twice_sse2(dst, kept, src, length);
  }
  _mm_sfence();
}

void stream_lines(std::byte* dst, const std::byte* src, std::size_t length) {
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  if (avx2) {
    stream_avx2(dst, src, length);
  } else {
    stream_sse2(dst, src, length);
  }
  _mm_sfence();
}

#else

constexpr std::size_t kAlign = 1;
void stream_lines(std::byte* dst, const std::byte* src, std::size_t length) {
  std::memcpy(dst, src, length);
}
void stream_lines_twice(std::byte* dst, std::byte* kept, const std::byte* src, std::size_t length) {
  std::memcpy(kept, src, length);
  std::memcpy(dst, kept, length);
}

#endif

/// Bytes before the first whole line of `dst`.
std::size_t head_of(const std::byte* dst, std::size_t length) {
  const std::size_t odd = reinterpret_cast<std::uintptr_t>(dst) % kAlign;
  return odd == 0 ? 0 : std::min(kAlign - odd, length);
}

}  // namespace

void copy_streaming(void* dst_memory, const void* src_memory, std::size_t length) {
  auto* dst = static_cast<std::byte*>(dst_memory);
  const auto* src = static_cast<const std::byte*>(src_memory);
  const std::size_t head = head_of(dst, length);
  std::memcpy(dst, src, head);
  const std::size_t lines = (length - head) / kAlign * kAlign;
  stream_lines(dst + head, src + head, lines);
  std::memcpy(dst + head + lines, src + head + lines, length - head - lines);
}

void copy_streaming_twice(void* dst_memory, void* kept_memory, const void* src_memory,
                          std::size_t length) {
  auto* dst = static_cast<std::byte*>(dst_memory);
  auto* kept = static_cast<std::byte*>(kept_memory);
  const auto* src = static_cast<const std::byte*>(src_memory);
  const auto by_memcpy = [&](std::size_t at, std::size_t n) {
    std::memcpy(kept + at, src + at, n);
    std::memcpy(dst + at, kept + at, n);
  };
  const std::size_t head = head_of(dst, length);
  const std::size_t lines = (length - head) / kAlign * kAlign;
  by_memcpy(0, head);
  stream_lines_twice(dst + head, kept + head, src + head, lines);
  by_memcpy(head + lines, length - head - lines);
}

}  // namespace larder
