#include "store/huge_memory.h"

#include <sys/mman.h>

#include "store/assert.h"
#include "store/huge_pages.h"

namespace larder {

HugeMemory::HugeMemory(Bytes length) : length_(length) {
  void* mapped = map_at_huge_page(length, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  LARDER_ASSERT(mapped != MAP_FAILED);
  data_ = static_cast<std::byte*>(mapped);
  // Small pages until it is full; a piece that holds no huge page needs no word.
  if (length >= kHugePage) ::madvise(data_, length.count, MADV_NOHUGEPAGE);
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
