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
#include <unistd.h>

#include "store/huge_pages.h"
#include "transport/socket.h"

namespace larder {
namespace {

constexpr std::uint64_t kHugePageKib = kHugePage.count >> 10;

/// As mmap() answers.
void* map_pages(Bytes length, BenchArea::Pages pages) {
  constexpr int kReadWrite = PROT_READ | PROT_WRITE;
  if (pages == BenchArea::Pages::kSharedHuge) {
    const Fd file(memfd_create("larder-bench", MFD_CLOEXEC));
    if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(length.count)) != 0) {
      return MAP_FAILED;
    }
    void* const memory = map_at_huge_page(length, kReadWrite, MAP_SHARED, file.get());
    if (memory != MAP_FAILED) fill_with_huge_pages(file.get(), memory, length);
    return memory;
  }
  const int kind = pages == BenchArea::Pages::kPrivate ? MAP_PRIVATE : MAP_SHARED;
  void* const memory =
      mmap(nullptr, length.count, kReadWrite, kind | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) madvise(memory, length.count, MADV_NOHUGEPAGE);
  return memory;
}

}  // namespace

absl::StatusOr<BenchArea> BenchArea::make(std::size_t bytes, Pages pages) {
  void* const memory = map_pages({bytes}, pages);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        fmt::format("{} bytes of memory: {}", bytes, std::strerror(errno)));
  }
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
  *static_cast<const volatile std::byte*>(bytes.data());  // what nobody touched is not mapped yet
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
