#include "ops/namespace_options.h"

#include "absl/strings/escaping.h"
#include <fmt/format.h>

#include "store/chain.h"

namespace larder {

NamespaceSpec NamespaceOptions::spec() const {
  NamespaceSpec spec;
  spec.fingerprint = fingerprint;
  spec.fingerprint.flat = !chain;
  spec.ranks = ranks;
  GroupSpec group{.block_bytes = {block_bytes}};
  if (chain) {
    spec.unit_tokens = unit_tokens;
    group.block_tokens = block_tokens;
  }
  spec.groups = {group};
  return spec;
}

absl::StatusOr<BlockHash> parse_hash(const std::string& text) {
  constexpr std::size_t kDigits = 32;
  if (text.size() != kDigits ||
      text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
    return absl::InvalidArgumentError(fmt::format("{}: a hash is 32 hex digits", text));
  }
  return block_hash(absl::HexStringToBytes(text));
}

}  // namespace larder
