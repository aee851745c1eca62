#pragma once

#include "store/types.h"

namespace larder {

/// What one entry of a page directory maps on the machines that Larder runs on.
inline constexpr Bytes kHugePage{2ULL << 20};

/// mmap() of `length` bytes (of `fd` from its start, or -1) at a boundary of huge pages, if it is
/// long enough to hold one and a place is found: elsewhere the kernel maps them in small pieces.
/// MAP_FAILED and errno as mmap() has them. The caller unmaps it. Any thread.
void* map_at_huge_page(Bytes length, int protection, int flags, int fd);

/// Gives the file `fd` in shared memory (tmpfs, memfd), mapped shared and writable at `data`, its
/// memory in huge pages, zeroed and mapped: three times as fast as in small ones, whatever
/// /sys/kernel/mm/transparent_hugepage/shmem_enabled says, unless that is "deny"; and walked with
/// an eighth of the TLB misses. Only whole huge pages that have no memory yet or little; ends at
/// the first that the kernel cannot make (before Linux 6.1, on a disk, with memory in small
/// pieces, at a memory limit): the rest is left to whoever touches or allocates it. Answers the
/// bytes that are done.
Bytes fill_with_huge_pages(int fd, void* data, Bytes length);

}  // namespace larder
