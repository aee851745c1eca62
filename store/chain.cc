#include "store/chain.h"

#include <array>
#include <bit>
#include <cstring>

#include <openssl/sha.h>

#include "store/assert.h"

namespace larder {
namespace {

constexpr std::size_t kHashBytes = 16;
static_assert(std::endian::native == std::endian::little, "hashes are copied as they stand");

BlockHash from_bytes(const std::array<unsigned char, kHashBytes>& bytes) {
  BlockHash hash;
  std::memcpy(&hash.high, bytes.data(), 8);
  std::memcpy(&hash.low, bytes.data() + 8, 8);
  return hash;
}

}  // namespace

std::uint32_t run_start(std::uint32_t position, std::uint32_t segment_units) {
  LARDER_ASSERT(std::has_single_bit(segment_units));
  if (position < segment_units) return std::bit_floor(position);
  return position & ~(segment_units - 1);
}

BlockHash anchor_of(std::span<const BlockHash> chain, std::uint32_t last_unit,
                    std::uint32_t segment_units) {
  LARDER_ASSERT(last_unit < chain.size());
  return chain[run_start(last_unit, segment_units)];
}

ShardId shard_of(const BlockHash& anchor, std::uint32_t shards) {
  LARDER_ASSERT(shards > 0);
  // Engines' hashes are uniform, but a test's or an adapter's may not be: mix, then scale.
  std::uint64_t mixed = (anchor.low ^ std::rotl(anchor.high, 32)) * 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9ULL;
  return ShardId(static_cast<std::uint32_t>(((mixed >> 32) * shards) >> 32));
}

BlockHash block_hash(std::string_view unit_hash) {
  std::array<unsigned char, kHashBytes> bytes{};
  const std::size_t used = std::min(unit_hash.size(), kHashBytes);
  std::memcpy(bytes.data() + kHashBytes - used, unit_hash.data() + unit_hash.size() - used, used);
  return from_bytes(bytes);
}

BlockHash flat_hash(std::string_view name) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(name.data()), name.size(), digest.data());
  std::array<unsigned char, kHashBytes> bytes{};
  std::memcpy(bytes.data(), digest.data(), kHashBytes);
  return from_bytes(bytes);
}

std::uint32_t blocks_in_chain(const GroupSpec& group, std::uint32_t unit_tokens,
                              std::uint32_t units) {
  LARDER_ASSERT(group.block_tokens > 0);
  return static_cast<std::uint32_t>(std::uint64_t{units} * unit_tokens / group.block_tokens);
}

std::uint32_t last_unit_of_block(const GroupSpec& group, std::uint32_t unit_tokens,
                                 std::uint32_t n) {
  LARDER_ASSERT(unit_tokens > 0);
  LARDER_ASSERT(group.block_tokens >= unit_tokens);
  return static_cast<std::uint32_t>((std::uint64_t{n} + 1) * group.block_tokens / unit_tokens - 1);
}

}  // namespace larder
