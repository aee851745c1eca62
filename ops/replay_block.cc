#include "ops/replay_block.h"

#include <algorithm>
#include <cstring>

namespace larder {
namespace {

constexpr std::size_t kWord = 8;
constexpr std::size_t kStrideWords = 512;  // compared at once, then looked at closely if different

std::uint64_t splitmix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

inline std::uint64_t word_at(const BlockHash& hash, std::size_t n) {
  const std::uint64_t x = hash.low + n * 0x9e3779b97f4a7c15ULL;
  return ((x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL) ^ hash.high;
}

std::uint64_t wrong_in(std::uint64_t expected, const std::byte* bytes, std::size_t count) {
  std::uint64_t wrong = 0;
  for (std::size_t n = 0; n < count; ++n) {
    wrong += static_cast<std::byte>(expected >> (8 * n)) != bytes[n] ? 1U : 0U;
  }
  return wrong;
}

}  // namespace

BlockHash replay_hash(std::uint64_t id) {
  return {.high = splitmix(id ^ 0x6c61726465722d31ULL), .low = splitmix(splitmix(id) + 1)};
}

void fill_block(const BlockHash& hash, std::span<std::byte> block) {
  const std::size_t words = block.size() / kWord;
  for (std::size_t n = 0; n < words; ++n) {
    const std::uint64_t word = word_at(hash, n);
    std::memcpy(block.data() + n * kWord, &word, kWord);
  }
  const std::uint64_t tail = word_at(hash, words);
  std::memcpy(block.data() + words * kWord, &tail, block.size() % kWord);
}

std::uint64_t count_wrong_bytes(const BlockHash& hash, std::span<const std::byte> block) {
  const std::size_t words = block.size() / kWord;
  std::uint64_t wrong = 0;
  for (std::size_t from = 0; from < words; from += kStrideWords) {
    const std::size_t to = std::min(words, from + kStrideWords);
    std::uint64_t difference = 0;
    for (std::size_t n = from; n < to; ++n) {
      std::uint64_t word = 0;
      std::memcpy(&word, block.data() + n * kWord, kWord);
      difference |= word ^ word_at(hash, n);
    }
    if (difference == 0) [[likely]]
      continue;
    for (std::size_t n = from; n < to; ++n) {
      wrong += wrong_in(word_at(hash, n), block.data() + n * kWord, kWord);
    }
  }
  return wrong + wrong_in(word_at(hash, words), block.data() + words * kWord, block.size() % kWord);
}

}  // namespace larder
