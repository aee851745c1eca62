// A worker that puts, gets and views for ever, to be killed or frozen at any moment. It checks
// every byte it gets and says so by its exit status: 3, a wrong byte.
//
//   larder_test_worker SERVER SEED

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "client/client.h"
#include "transport/guarded_copy.h"

namespace {

constexpr std::size_t kBlockBytes = 256 << 10;
constexpr std::uint32_t kChain = 16;
constexpr int kExitWrongByte = 3;

larder::NamespaceSpec spec() {
  larder::NamespaceSpec out;
  out.fingerprint.model = "worker";
  out.unit_tokens = 16;
  out.groups.push_back({.kind = larder::GroupKind::kFull,
                        .block_tokens = 16,
                        .window_tokens = 0,
                        .block_bytes = {}});
  return out;
}

/// A block's content is a function of its hash.
void fill(const larder::BlockHash& hash, std::vector<std::uint64_t>& words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = hash.low + i * 0x9e3779b97f4a7c15ULL;
}

bool same(const larder::BlockHash& hash, const std::uint64_t* words, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (words[i] != hash.low + i * 0x9e3779b97f4a7c15ULL) return false;
  }
  return true;
}

int run(const std::string& server, std::uint64_t seed) {
  larder::Client::Options options;
  options.server = server;
  auto client = larder::Client::connect(options);
  if (!client.ok()) return 1;
  const auto ns = (*client)->open_namespace(spec());
  if (!ns.ok()) return 1;
  std::mt19937_64 rng(seed);
  const std::size_t words = kBlockBytes / 8;
  auto region = (*client)->allocate_region(kChain * kBlockBytes);
  std::vector<std::vector<std::uint64_t>> places(kChain, std::vector<std::uint64_t>(words));
  std::puts("running");
  std::fflush(stdout);
  for (;;) {
    std::mt19937_64 chain_rng(rng() % 64);
    std::vector<larder::BlockHash> chain(kChain);
    for (auto& hash : chain)
      hash = {chain_rng(), chain_rng()};
    auto keys = larder::chain_keys(spec(), chain, larder::GroupId(0), larder::Rank(0), 0, kChain);
    for (auto& key : keys)
      key.length = kBlockBytes;
    larder::Client::CallOptions call;
    call.request = (*client)->begin_request(*ns);
    larder::MatchOptions match;
    match.request = call.request;
    match.claim = rng() % 4 == 0;
    const std::span<const larder::BlockHash> spans[] = {chain};
    (void)(*client)->match(*ns, spans, match);
    std::vector<larder::MutableBuffer> targets;
    std::vector<larder::ConstBuffer> sources;
    for (std::uint32_t i = 0; i < kChain; ++i) {
      targets.push_back({places[i].data(), kBlockBytes});
    }
    const auto got = (*client)->get(*ns, keys, targets, call);
    for (std::uint32_t i = 0; i < got.keys.size(); ++i) {
      if (got.keys[i] == larder::KeyStatus::kOk && !same(chain[i], places[i].data(), words)) {
        return kExitWrongByte;
      }
    }
    for (std::uint32_t i = 0; i < kChain; ++i) {
      fill(chain[i], places[i]);
      void* source = places[i].data();
      if (region.ok() && rng() % 2 == 0) {
        source = region->data() + i * kBlockBytes;
        std::copy(places[i].begin(), places[i].end(), static_cast<std::uint64_t*>(source));
      }
      sources.push_back({source, kBlockBytes});
    }
    (void)(*client)->put(*ns, keys, sources, call);
    if (auto views = (*client)->view(*ns, keys, call); views.ok()) {
      for (std::uint32_t i = 0; i < views->size(); ++i) {
        auto& view = (*views)[i];
        if (view.status() != larder::KeyStatus::kOk) continue;
        std::vector<std::uint64_t> copy(words);
        if (!larder::copy_guarded(copy.data(), view.bytes().data(), kBlockBytes)) continue;
        if (view.release() && !same(chain[i], copy.data(), words)) return kExitWrongByte;
      }
    }
    (void)(*client)->end_request(call.request, 100);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return run(argv[1], std::strtoull(argv[2], nullptr, 10));
}
