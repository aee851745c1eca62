#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "store/types.h"

namespace larder {

/// Raises the soft limit on descriptors to the hard one: the usual soft limit is for programs that
/// use select(), which none of ours does.
void raise_descriptor_limit();

/// Each slab takes a descriptor, a session up to three. RESOURCE_EXHAUSTED, naming limit, need and
/// remedy, when the limit leaves too few for threads, listeners and a few sessions beside `slabs`.
absl::Status check_descriptor_limit(std::uint64_t slabs);
/// RESOURCE_EXHAUSTED when RLIMIT_AS leaves a daemon of `host_bytes` too little address space: it
/// would run out of it in the middle of a put.
absl::Status check_address_space(Bytes host_bytes);

}  // namespace larder
