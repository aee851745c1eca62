#include "ops/bench_area.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

namespace larder {
namespace {

constexpr std::uint64_t kHugePageKib = 2048;

}  // namespace

absl::StatusOr<BenchArea> BenchArea::make(std::size_t bytes, Pages pages) {
  const int kind = pages == Pages::kPrivate ? MAP_PRIVATE : MAP_SHARED;
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        fmt::format("{} bytes of memory: {}", bytes, std::strerror(errno)));
  }
  madvise(memory, bytes, pages == Pages::kSharedHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
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

bool BenchArea::is_huge(std::span<const std::byte> bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool here = false;
  std::uint64_t resident = 0;
  std::uint64_t huge = 0;
  while (std::getline(maps, line)) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    std::uint64_t kib = 0;
    char field[64];
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {
      if (here) break;
      here = from <= address && address < to;
    } else if (here && std::sscanf(line.c_str(), "%63[^:]: %lu kB", field, &kib) == 2) {
      const std::string name = field;
      if (name == "Rss") resident = kib;
      if (name == "ShmemPmdMapped" || name == "FilePmdMapped") huge += kib;
      if (name == "KernelPageSize" && kib >= kHugePageKib) return true;
    }
  }
  return huge > resident / 2;
}

}  // namespace larder
