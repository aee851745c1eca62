#include "tests/bench/limits/bare_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "store/checksum.h"
#include "tests/bench/limits/streaming_stores.h"
#include "transport/guarded_copy.h"

namespace larder {
namespace {

constexpr std::size_t kPieceBytes = 16 << 10;  // half of a first-level cache
constexpr std::size_t kKeptBytes = 4 << 10;

template <class Fn>
void for_pieces(std::span<const std::byte> from, std::byte* to, Fn&& copy_and_sum) {
  ChecksumStream sum;
  while (!from.empty()) {
    const auto piece = from.first(std::min(from.size(), kPieceBytes));
    copy_and_sum(sum, piece, to);
    from = from.subspan(piece.size());
    to += piece.size();
  }
  keep_sum(sum.digest());
}

void fused(ChecksumStream& sum, std::span<const std::byte> from, std::byte* to) {
  std::memcpy(to, from.data(), from.size());
  sum.update({to, from.size()});
}

void fused_streaming(ChecksumStream& sum, std::span<const std::byte> from, std::byte* to) {
  sum.update(from);
  streaming_stores(to, from.data(), from.size());
}

/// As larderd does it.
void twice_streaming(ChecksumStream& sum, std::span<const std::byte> from, std::byte* to) {
  alignas(64) std::byte kept[kKeptBytes];
  while (!from.empty()) {
    const auto piece = from.first(std::min(from.size(), sizeof kept));
    copy_streaming_twice(to, kept, piece.data(), piece.size());
    sum.update({kept, piece.size()});
    from = from.subspan(piece.size());
    to += piece.size();
  }
}

}  // namespace

void keep_sum(std::uint64_t sum) {
  static std::atomic<std::uint64_t> sink;
  sink.store(sum, std::memory_order_relaxed);
}

const char* name_of(BareCopy way) {
  switch (way) {
    case BareCopy::kMemcpy:
      return "memcpy";
    case BareCopy::kStreaming:
      return "nt";
    case BareCopy::kMemcpyThenSum:
      return "memcpy_sum";
    case BareCopy::kFusedSum:
      return "fused_sum";
    case BareCopy::kFusedStreamingSum:
      return "fused_nt_sum";
    case BareCopy::kTwiceStreamingSum:
      return "twice_nt_sum";
  }
  return "unknown";
}

void bare_copy(BareCopy way, std::span<const std::byte> from, std::byte* to) {
  switch (way) {
    case BareCopy::kMemcpy:
      std::memcpy(to, from.data(), from.size());
      return;
    case BareCopy::kStreaming:
      return streaming_stores(to, from.data(), from.size());
    case BareCopy::kMemcpyThenSum:
      std::memcpy(to, from.data(), from.size());
      return keep_sum(checksum({to, from.size()}));
    case BareCopy::kFusedSum:
      return for_pieces(from, to, fused);
    case BareCopy::kFusedStreamingSum:
      return for_pieces(from, to, fused_streaming);
    case BareCopy::kTwiceStreamingSum:
      return for_pieces(from, to, twice_streaming);
  }
}

}  // namespace larder
