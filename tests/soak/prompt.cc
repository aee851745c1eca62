#include "tests/soak/prompt.h"

#include "ops/replay_block.h"
#include "store/assert.h"

namespace larder::soak {

NamespaceSpec prompt_spec(const std::string& model) {
  NamespaceSpec spec;
  spec.fingerprint.model = model;
  spec.unit_tokens = 16;
  spec.groups.push_back(
      {.kind = GroupKind::kFull, .block_tokens = 16, .window_tokens = 0, .block_bytes = {}});
  return spec;
}

Prompt::Prompt(const NamespaceSpec& spec, std::uint64_t number, std::uint32_t blocks,
               std::uint32_t bytes)
    : number_(number), bytes_(bytes) {
  LARDER_ASSERT(blocks <= kBlocksMax);
  for (std::uint64_t n = 0; n < blocks; ++n)
    chain_.push_back(replay_hash(number * kBlocksMax + n));
  keys_ = chain_keys(spec, chain_, GroupId(0), Rank(0), 0, blocks);
  for (Key& key : keys_)
    key.length = bytes;
}

void Prompt::fill(std::span<std::byte> memory) const {
  for (std::size_t n = 0; n < blocks(); ++n)
    fill_block(chain_[n], memory.subspan(n * bytes_, bytes_));
}

std::vector<ConstBuffer> Prompt::sources(std::span<const std::byte> memory) const {
  std::vector<ConstBuffer> out;
  for (std::size_t n = 0; n < blocks(); ++n)
    out.push_back({memory.data() + n * bytes_, bytes_});
  return out;
}

std::vector<MutableBuffer> Prompt::targets(std::span<std::byte> memory) const {
  std::vector<MutableBuffer> out;
  for (std::size_t n = 0; n < blocks(); ++n)
    out.push_back({memory.data() + n * bytes_, bytes_});
  return out;
}

std::vector<Client::Part> Prompt::layer(int which, std::span<const std::byte> memory) const {
  const std::size_t half = bytes_ / 2;
  const std::size_t at = which == 0 ? 0 : half;
  const std::size_t length = which == 0 ? half : bytes_ - half;
  std::vector<Client::Part> out;
  for (std::uint32_t n = 0; n < blocks(); ++n)
    out.push_back({.key = n, .offset = at, .buffer = {memory.data() + n * bytes_ + at, length}});
  return out;
}

bool Prompt::right(std::size_t block, std::span<const std::byte> bytes) const {
  return bytes.size() == bytes_ && count_wrong_bytes(chain_[block], bytes) == 0;
}

}  // namespace larder::soak
