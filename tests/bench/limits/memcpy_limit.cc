#include "tests/bench/limits/memcpy_limit.h"

#include <cstring>

namespace larder {

MemcpyLimit::MemcpyLimit(std::span<const std::byte> from, std::span<std::byte> to,
                         std::size_t block_bytes, std::size_t call_bytes, Time (*clock)())
    : from_(from), to_(to), block_bytes_(block_bytes), call_bytes_(call_bytes), clock_(clock) {}

double MemcpyLimit::round(Duration duration) {
  const Time start = clock_();
  Time now = start;
  std::uint64_t moved = 0;
  while (moved == 0 || now - start < duration) {
    for (std::size_t n = 0; n < call_bytes_; n += block_bytes_) {
      std::memcpy(to_.data() + at_ + n, from_.data() + at_ + n, block_bytes_);
    }
    moved += call_bytes_;
    at_ += call_bytes_;
    if (at_ + call_bytes_ > from_.size()) at_ = 0;
    now = clock_();
  }
  return static_cast<double>(moved) / std::chrono::duration<double>(now - start).count();
}

}  // namespace larder
