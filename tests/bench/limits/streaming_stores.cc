#include "tests/bench/limits/streaming_stores.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace larder {

#if defined(__x86_64__)
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kStep = 2 * kLine;       // bytes a turn of the loop
constexpr std::size_t kAhead = 16 * kLine;     // prefetched this far ahead
constexpr std::size_t kStreamMin = 4 * kLine;  // below, aligning costs more than it gains

using Bytes32 = __m256i;
using Bytes16 = __m128i;

/// `to` is aligned to a line, `length` a multiple of kStep. A prefetch beyond the end is harmless.
[[gnu::target("avx2")]] void stream_avx2(char* to, const char* from, std::size_t length) {
  for (std::size_t at = 0; at < length; at += kStep) {
    _mm_prefetch(from + at + kAhead, _MM_HINT_NTA);
    _mm_prefetch(from + at + kAhead + kLine, _MM_HINT_NTA);
    const auto* source = reinterpret_cast<const Bytes32*>(from + at);
    auto* target = reinterpret_cast<Bytes32*>(to + at);
    const Bytes32 a = _mm256_loadu_si256(source);
    const Bytes32 b = _mm256_loadu_si256(source + 1);
    const Bytes32 c = _mm256_loadu_si256(source + 2);
    const Bytes32 d = _mm256_loadu_si256(source + 3);
    _mm256_stream_si256(target, a);
    _mm256_stream_si256(target + 1, b);
    _mm256_stream_si256(target + 2, c);
    _mm256_stream_si256(target + 3, d);
  }
}

void stream_sse2(char* to, const char* from, std::size_t length) {
  for (std::size_t at = 0; at < length; at += kLine) {
    _mm_prefetch(from + at + kAhead, _MM_HINT_NTA);
    for (std::size_t n = 0; n < kLine; n += sizeof(Bytes16)) {
      const Bytes16 piece = _mm_loadu_si128(reinterpret_cast<const Bytes16*>(from + at + n));
      _mm_stream_si128(reinterpret_cast<Bytes16*>(to + at + n), piece);
    }
  }
}

}  // namespace

void streaming_stores(void* to_memory, const void* from_memory, std::size_t length) {
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  auto* to = static_cast<char*>(to_memory);
  const auto* from = static_cast<const char*>(from_memory);
  if (length >= kStreamMin) {
    const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % kLine;
    const std::size_t body = (length - head) / kStep * kStep;
    std::memcpy(to, from, head);
    if (avx2) {
      stream_avx2(to + head, from + head, body);
    } else {
      stream_sse2(to + head, from + head, body);
    }
    _mm_sfence();
    to += head + body;
    from += head + body;
    length -= head + body;
  }
  std::memcpy(to, from, length);
}

#else

void streaming_stores(void* to, const void* from, std::size_t length) {
  std::memcpy(to, from, length);
}

#endif

}  // namespace larder
