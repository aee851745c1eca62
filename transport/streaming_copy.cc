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

#endif

}  // namespace

void copy_streaming(void* dst_memory, const void* src_memory, std::size_t length) {
  auto* dst = static_cast<std::byte*>(dst_memory);
  const auto* src = static_cast<const std::byte*>(src_memory);
  const std::size_t odd = reinterpret_cast<std::uintptr_t>(dst) % kAlign;
  std::size_t head = odd == 0 ? 0 : kAlign - odd;
  if (head > length) head = length;
  std::memcpy(dst, src, head);
  const std::size_t lines = (length - head) / kAlign * kAlign;
  stream_lines(dst + head, src + head, lines);
  std::memcpy(dst + head + lines, src + head + lines, length - head - lines);
}

}  // namespace larder
