#include "ops/bench_chains.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "ops/clock.h"
#include "ops/replay_block.h"
#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {
namespace {

constexpr std::uint32_t kUnitTokens = 16;
constexpr std::uint64_t kBlockBytes =
    limits::kBlockBytesMin.count;  // the index is what is measured

absl::Status all_served(const Completion& done) {
  LARDER_RETURN_IF_ERROR(status_of(done));
  for (const KeyStatus status : done.keys) {
    if (status == KeyStatus::kOk) continue;
    return absl::UnavailableError(
        fmt::format("a block of a chain was answered {}", word_of(status)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BenchChains> BenchChains::store(const BenchOptions& options, Client& client) {
  BenchChains made;
  made.positions_ = options.positions;
  made.chains_ = std::max<std::uint64_t>(1, options.blocks / options.positions);
  LARDER_ASSIGN_OR_RETURN(const std::uint64_t capacity, capacity_of(client));
  if (made.blocks() * kBlockBytes > capacity / 2) {
    return absl::InvalidArgumentError(
        fmt::format("--blocks {}: {} bytes do not fit half of the capacity of {}", made.blocks(),
                    made.blocks() * kBlockBytes, capacity));
  }
  made.spec_.fingerprint = {
      .model = "bench-match",
      .revision = fmt::format("{}-{}", getpid(), clock_now().time_since_epoch().count())};
  made.spec_.unit_tokens = kUnitTokens;
  made.spec_.groups = {{.block_tokens = kUnitTokens, .block_bytes = {kBlockBytes}}};
  LARDER_ASSIGN_OR_RETURN(made.ns_, client.open_namespace(made.spec_));
  const std::vector<std::byte> block(kBlockBytes);
  const std::vector<ConstBuffer> buffers(made.positions_, {block.data(), block.size()});
  for (std::uint64_t n = 0; n < made.chains_; ++n) {
    LARDER_RETURN_IF_ERROR(all_served(client.put(made.ns_, made.keys(n), buffers, {})));
  }
  return made;
}

std::vector<BlockHash> BenchChains::draw(std::mt19937_64& rng) const {
  return chain(rng() % chains_);
}

absl::Status BenchChains::pin_all(Client& client) const {
  for (std::uint64_t n = 0; n < chains_; ++n) {
    LARDER_RETURN_IF_ERROR(all_served(client.pin(ns_, keys(n), Duration(0))));
  }
  return absl::OkStatus();
}

absl::Status BenchChains::remove_all(Client& client) const {
  for (std::uint64_t n = 0; n < chains_; ++n) {
    const auto all = keys(n);
    LARDER_RETURN_IF_ERROR(status_of(client.unpin(ns_, all)));
    LARDER_RETURN_IF_ERROR(status_of(client.remove(ns_, all)));
  }
  return absl::OkStatus();
}

std::vector<BlockHash> BenchChains::chain(std::uint64_t n) const {
  std::vector<BlockHash> out;
  for (std::uint64_t i = 0; i < positions_; ++i)
    out.push_back(replay_hash(n << 32 | i));
  return out;
}

std::vector<Key> BenchChains::keys(std::uint64_t n) const {
  return chain_keys(spec_, chain(n), GroupId(0), Rank(0), 0, positions_);
}

}  // namespace larder
