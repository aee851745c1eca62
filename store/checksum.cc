#include "store/checksum.h"

#define XXH_STATIC_LINKING_ONLY  // for the size of the state
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // the widest vectors that the processor has: 3 times the baseline
#endif
#include <xxhash.h>

namespace larder {
namespace {

XXH3_state_t* as_state(std::byte* bytes) {
  return reinterpret_cast<XXH3_state_t*>(bytes);
}
const XXH3_state_t* as_state(const std::byte* bytes) {
  return reinterpret_cast<const XXH3_state_t*>(bytes);
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

void ChecksumStream::reset() {
  static_assert(sizeof(XXH3_state_t) <= kStateBytes);
  static_assert(alignof(XXH3_state_t) <= 64);
  state_.fill(std::byte{0});
  XXH3_64bits_reset(as_state(state_.data()));
}

void ChecksumStream::update(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_64bits_update(as_state(state_.data()), bytes.data(), bytes.size());
}

std::uint64_t ChecksumStream::digest() const {
  return XXH3_64bits_digest(as_state(state_.data()));
}

}  // namespace larder
