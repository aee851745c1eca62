#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "store/namespace_spec.h"

namespace larder {

/// The flags that name a namespace. Default: the command's own one, of flat names and any sizes.
struct NamespaceOptions {
  Fingerprint fingerprint{.model = "cli"};
  bool chain = false;  ///< keys are chains of hashes, with one full group
  std::uint32_t unit_tokens = 512;
  std::uint32_t block_tokens = 512;
  std::uint64_t block_bytes = 0;
  std::uint32_t ranks = 1;

  NamespaceSpec spec() const;
};

/// Of 32 hex digits, as hash_text() gives them. INVALID_ARGUMENT.
absl::StatusOr<BlockHash> parse_hash(const std::string& text);

}  // namespace larder
