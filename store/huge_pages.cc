#include "store/huge_pages.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <sys/mman.h>

namespace larder {

namespace {

constexpr int kCollapse = 25;  // MADV_COLLAPSE, which older headers lack
constexpr off_t kSmallPage = 4096;

}  // namespace

void* map_at_huge_page(Bytes length, int protection, int flags, int fd) {
  if (length < kHugePage) return ::mmap(nullptr, length.count, protection, flags, fd, 0);
  // Address space with room for a boundary; what lies before and behind is given back.
  const std::uint64_t space = length.count + kHugePage.count;
  void* const reserved =
      ::mmap(nullptr, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return MAP_FAILED;
  auto* const begin = static_cast<std::byte*>(reserved);
  const std::uint64_t beyond = reinterpret_cast<std::uintptr_t>(begin) % kHugePage.count;
  const std::uint64_t skipped = beyond == 0 ? 0 : kHugePage.count - beyond;
  std::byte* const at = begin + skipped;
  void* const mapped = ::mmap(at, length.count, protection, flags | MAP_FIXED, fd, 0);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    ::munmap(reserved, space);
    errno = error;
    return MAP_FAILED;
  }
  if (skipped > 0) ::munmap(begin, skipped);
  const std::uint64_t used = (length.count + kSmallPage - 1) / kSmallPage * kSmallPage;
  if (skipped + used < space) ::munmap(at + used, space - skipped - used);
  return mapped;
}

Bytes fill_with_huge_pages(int fd, void* data, Bytes length) {
  auto* const begin = static_cast<std::byte*>(data);
  if (reinterpret_cast<std::uintptr_t>(begin) % kHugePage.count != 0) return {};
  std::uint64_t done = 0;
  for (; length.count - done >= kHugePage.count; done += kHugePage.count) {
    // The kernel makes no huge page of a piece of a file without any memory.
    if (::fallocate(fd, 0, static_cast<off_t>(done), kSmallPage) != 0) break;
    if (::madvise(begin + done, kHugePage.count, kCollapse) != 0) break;
  }
  return {done};
}

}  // namespace larder
