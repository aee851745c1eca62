#include "ops/bench_area.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

namespace larder {

absl::StatusOr<BenchArea> BenchArea::make(std::size_t bytes, Pages pages) {
  const int kind = pages == Pages::kShared ? MAP_SHARED : MAP_PRIVATE;
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        fmt::format("{} bytes of memory: {}", bytes, std::strerror(errno)));
  }
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  BenchArea area;
  area.bytes_ = {static_cast<std::byte*>(memory), bytes};
  std::memset(memory, 0x5a, bytes);
  return area;
}

BenchArea::BenchArea(BenchArea&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

BenchArea& BenchArea::operator=(BenchArea&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

BenchArea::~BenchArea() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace larder
