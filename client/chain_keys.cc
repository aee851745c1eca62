#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "client/client.h"
#include "store/assert.h"
#include "store/chain.h"

namespace larder {

std::vector<Key> chain_keys(const NamespaceSpec& spec, std::span<const BlockHash> chain,
                            GroupId group, Rank rank, std::uint32_t first, std::uint32_t count) {
  LARDER_ASSERT(group.value() < spec.groups.size());
  const GroupSpec& rule = spec.groups[group.value()];
  const std::uint32_t segment_units = spec.segment_units();
  const auto units = static_cast<std::uint32_t>(chain.size());
  const std::uint32_t blocks = blocks_in_chain(rule, spec.unit_tokens, units);
  std::vector<Key> keys;
  for (std::uint32_t n = first; n < blocks && n - first < count; ++n) {
    const std::uint32_t last = last_unit_of_block(rule, spec.unit_tokens, n);
    Key& key = keys.emplace_back();
    key.hash = chain[last];
    if (n > 0) key.parent = chain[last_unit_of_block(rule, spec.unit_tokens, n - 1)];
    key.anchor = anchor_of(chain, last, segment_units);
    key.position = last;
    key.length = static_cast<std::uint32_t>(rule.block_bytes.count);
    key.group = group.value();
    key.rank = rank.value();
  }
  return keys;
}

Key flat_key(std::string_view name, std::uint32_t length) {
  Key key;
  key.hash = flat_hash(name);
  key.anchor = key.hash;
  key.length = length;
  key.flags = wire::kKeyFlat;
  return key;
}

std::string default_server() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");  // NOLINT(concurrency-mt-unsafe)
  if (runtime != nullptr && *runtime != '\0') return fmt::format("{}/larder/larderd.sock", runtime);
  if (geteuid() == 0) return "/run/larder/larderd.sock";
  return fmt::format("/tmp/larder-{}/larderd.sock", geteuid());
}

}  // namespace larder
