#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/client.h"

namespace larder::soak {

/// The namespace of a run: one full group of blocks of any size.
NamespaceSpec prompt_spec(const std::string& model);

/// The blocks of one prompt. Hashes, sizes and bytes are functions of its number, so whoever gets a
/// block can check every byte of it, whichever process put it.
class Prompt {
 public:
  static constexpr std::uint32_t kBlocksMax = 16;

  /// `bytes`: of each block; `blocks`: at most kBlocksMax.
  Prompt(const NamespaceSpec& spec, std::uint64_t number, std::uint32_t blocks,
         std::uint32_t bytes);

  std::uint64_t number() const { return number_; }
  std::size_t blocks() const { return keys_.size(); }
  std::size_t memory_bytes() const { return blocks() * bytes_; }
  std::span<const BlockHash> chain() const { return chain_; }
  std::span<const Key> keys() const { return keys_; }

  // `memory` holds the blocks one after the other.
  void fill(std::span<std::byte> memory) const;
  std::vector<ConstBuffer> sources(std::span<const std::byte> memory) const;
  std::vector<MutableBuffer> targets(std::span<std::byte> memory) const;
  /// The halves of every block: two layers.
  std::vector<Client::Part> layer(int which, std::span<const std::byte> memory) const;
  bool right(std::size_t block, std::span<const std::byte> bytes) const;
  bool right_in(std::size_t block, std::span<const std::byte> memory) const {
    return right(block, memory.subspan(block * bytes_, bytes_));
  }

 private:
  std::uint64_t number_;
  std::uint32_t bytes_;
  std::vector<BlockHash> chain_;
  std::vector<Key> keys_;
};

}  // namespace larder::soak
