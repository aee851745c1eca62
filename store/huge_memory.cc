#include "store/huge_memory.h"

#include <cstdint>

#include <sys/mman.h>

#include "store/assert.h"

namespace larder {

namespace {

constexpr std::uint64_t kHugePage = 2ULL << 20;

}  // namespace

HugeMemory::HugeMemory(Bytes length) : length_(length) {
  // Smaller pieces fill no huge page; larger ones are cut out of a mapping at a boundary.
  const std::uint64_t slack = length.count >= kHugePage ? kHugePage : 0;
  void* mapped = ::mmap(nullptr, length.count + slack, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  LARDER_ASSERT(mapped != MAP_FAILED);
  data_ = static_cast<std::byte*>(mapped);
  if (slack == 0) return;
  const std::uint64_t skipped = (kHugePage - reinterpret_cast<std::uintptr_t>(mapped)) % kHugePage;
  if (skipped > 0) ::munmap(mapped, skipped);
  data_ += skipped;
  if (slack > skipped) ::munmap(data_ + length.count, slack - skipped);
  ::madvise(data_, length.count, MADV_NOHUGEPAGE);
}

HugeMemory::~HugeMemory() {
  ::munmap(data_, length_.count);
}

void HugeMemory::full() {
  ::madvise(data_, length_.count, MADV_HUGEPAGE);
}

void HugeMemory::give_back(std::size_t offset, Bytes length) {
  ::madvise(data_ + offset, length.count, MADV_DONTNEED);
}

}  // namespace larder
