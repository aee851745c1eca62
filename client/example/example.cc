// Keeps the KV of one prompt in Larder and takes it back. Needs a running `larderd`; LARDER_SERVER
// names its address when it is not the default one.

#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "client/client.h"

int main() {
  using namespace larder;

  absl::StatusOr<std::unique_ptr<Client>> client = Client::connect({.name = "example"});
  if (!client.ok()) return std::fprintf(stderr, "%s\n", client.status().ToString().c_str()), 1;

  // What the block hash does not cover. Blocks of other fingerprints are never met.
  NamespaceSpec spec;
  spec.fingerprint.model = "example-model";
  spec.fingerprint.dtype = "bf16";
  spec.unit_tokens = 16;                            // tokens that one hash of the engine covers
  spec.groups.push_back({.kind = GroupKind::kFull,  // every block of a prefix is needed
                         .block_tokens = 16,
                         .window_tokens = 0,
                         .block_bytes = Bytes{64 << 10}});  // one rank's KV of 16 tokens
  const absl::StatusOr<NamespaceId> ns = (*client)->open_namespace(spec);
  if (!ns.ok()) return std::fprintf(stderr, "%s\n", ns.status().ToString().c_str()), 1;

  // The engine's own hashes of the prompt's units, from the root: here of 128 tokens.
  std::vector<BlockHash> chain;
  for (std::uint64_t unit = 0; unit < 8; ++unit)
    chain.push_back({unit * 77 + 1, unit * 99 + 1});
  const std::vector<Key> keys = chain_keys(spec, chain, GroupId(0), Rank(0), 0, 8);

  // How much of the prompt is there? One answer for a chain, over all groups and ranks.
  const std::uint64_t request = (*client)->begin_request(*ns);
  const std::span<const BlockHash> prompt(chain);
  const auto match = (*client)->match(*ns, std::span(&prompt, 1), {.request = request});
  if (!match.ok()) return std::fprintf(stderr, "%s\n", match.status().ToString().c_str()), 1;
  std::printf("usable: %u of 128 tokens\n", (*match)[0].usable_tokens);

  // Memory that larderd maps too: a put from it is one copy. Any other memory works as well.
  const auto memory = (*client)->allocate_region(keys.size() * (64 << 10));
  if (!memory.ok()) return std::fprintf(stderr, "%s\n", memory.status().ToString().c_str()), 1;
  std::memset(memory->data(), 42, memory->size());
  std::vector<ConstBuffer> sources;
  std::vector<MutableBuffer> targets;
  std::vector<std::byte> back(memory->size());
  for (std::size_t n = 0; n < keys.size(); ++n) {
    sources.push_back({memory->data() + n * (64 << 10), 64 << 10});
    targets.push_back({back.data() + n * (64 << 10), 64 << 10});
  }
  const Client::CallOptions call{.request = request};
  const Completion put = (*client)->put(*ns, keys, sources, call);
  const Completion get = (*client)->get(*ns, keys, targets, call);
  if (put.code != absl::StatusCode::kOk || get.code != absl::StatusCode::kOk) {
    return std::fprintf(stderr, "%s %s\n", put.message.c_str(), get.message.c_str()), 1;
  }

  // Each key has its own answer; a batch is never all or nothing.
  std::size_t hits = 0;
  for (const KeyStatus key : get.keys)
    hits += key == KeyStatus::kOk ? 1 : 0;
  std::printf("hits: %zu of %zu, equal: %s\n", hits, keys.size(),
              std::memcmp(back.data(), memory->data(), back.size()) == 0 ? "yes" : "no");
  return (*client)->end_request(request, 0).ok() ? 0 : 1;
}
