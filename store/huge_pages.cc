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
constexpr int kPlacesTried = 4;

}  // namespace

void* map_at_huge_page(Bytes length, int protection, int flags, int fd) {
  const auto map_at = [&](void* at, int how) {
    return ::mmap(at, length.count, protection, flags | how, fd, 0);
  };
  if (length < kHugePage) return map_at(nullptr, 0);
  for (int n = 0; n < kPlacesTried; ++n) {
    // A place with a boundary in it, given back before it is used: what is mapped over a place that
    // is held leaves a hole when that fails, which another thread may have taken by then.
    const std::uint64_t space = length.count + kHugePage.count;
    void* const found =
        ::mmap(nullptr, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) break;
    ::munmap(found, space);
    auto* const begin = static_cast<std::byte*>(found);
    const std::uint64_t beyond = reinterpret_cast<std::uintptr_t>(begin) % kHugePage.count;
    const std::uint64_t skipped = beyond == 0 ? 0 : kHugePage.count - beyond;
    void* const mapped = map_at(begin + skipped, MAP_FIXED_NOREPLACE);
    if (mapped != MAP_FAILED || errno != EEXIST) return mapped;
  }
  return map_at(nullptr, 0);
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
