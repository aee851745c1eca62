// What larder_test_frozen_reader and the test that freezes it agree on.

#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "client/client.h"

namespace larder::sim {

enum ReaderExit : int {
  kReaderRight = 10,  ///< a hit, and the block's bytes
  kReaderWrong = 11,  ///< a hit, and other bytes
  kReaderMiss = 12,   ///< a miss, because the slot's generation had changed
  kReaderBroken = 13,
};

inline NamespaceSpec reader_spec() {
  NamespaceSpec spec;
  spec.fingerprint.model = "frozen-reader";
  spec.unit_tokens = 16;
  spec.groups.push_back(
      {.kind = GroupKind::kFull, .block_tokens = 16, .window_tokens = 0, .block_bytes = {}});
  return spec;
}

inline Key reader_key(std::uint64_t seed, std::size_t bytes) {
  const BlockHash hash{seed, ~seed};
  Key key = chain_keys(reader_spec(), {&hash, 1}, GroupId(0), Rank(0), 0, 1)[0];
  key.length = static_cast<std::uint32_t>(bytes);
  return key;
}

inline std::vector<std::byte> reader_block(std::uint64_t seed, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    const std::uint64_t word = seed * 0x9e3779b97f4a7c15ULL + at;
    std::memcpy(out.data() + at, &word, 8);
  }
  return out;
}

inline bool is_block(std::uint64_t seed, std::span<const std::byte> bytes) {
  const std::vector<std::byte> wanted = reader_block(seed, bytes.size());
  return std::memcmp(wanted.data(), bytes.data(), bytes.size()) == 0;
}

}  // namespace larder::sim
