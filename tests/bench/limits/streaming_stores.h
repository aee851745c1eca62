#pragma once

#include <cstddef>

namespace larder {

/// Copies with stores that go past the caches, the source prefetched: AVX2 where the processor has
/// it, else SSE2; memcpy on other processors. Any alignment and length; no overlap. This is the
/// limit's own code, so that Larder is not measured against itself.
void streaming_stores(void* to, const void* from, std::size_t length);

}  // namespace larder
