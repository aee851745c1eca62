#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "ops/bench.h"
#include "ops/clock.h"
#include "ops/replay_block.h"
#include "store/status_macros.h"
#include "tests/bench/limits/socket_limit.h"

namespace larder {
namespace {

constexpr std::uint32_t kUnitTokens = 16;
constexpr std::uint64_t kBlockBytes = 4096;
constexpr std::size_t kReplyBytes = 64;

struct MatchBench {
  NamespaceSpec spec;
  NamespaceId ns;
  std::vector<BlockHash> chain;
};

absl::StatusOr<MatchBench> store_chain(const BenchOptions& options, Client& client) {
  MatchBench bench;
  bench.spec.fingerprint = {
      .model = "bench-match",
      .revision = fmt::format("{}-{}", getpid(), clock_now().time_since_epoch().count())};
  bench.spec.unit_tokens = kUnitTokens;
  bench.spec.groups = {{.block_tokens = kUnitTokens, .block_bytes = {kBlockBytes}}};
  LARDER_ASSIGN_OR_RETURN(bench.ns, client.open_namespace(bench.spec));
  for (std::uint64_t n = 0; n < options.positions; ++n)
    bench.chain.push_back(replay_hash(n));
  const std::vector<std::byte> block(kBlockBytes);
  const std::vector<ConstBuffer> buffers(options.positions, {block.data(), block.size()});
  const auto keys = chain_keys(bench.spec, bench.chain, GroupId(0), Rank(0), 0, options.positions);
  const Completion done = client.put(bench.ns, keys, buffers, {});
  LARDER_RETURN_IF_ERROR(status_of(done));
  return bench;
}

absl::Status larder_round(const BenchOptions& options, const MatchBench& bench, Client& client,
                          Duration duration, BenchRow& row) {
  const std::span<const BlockHash> chain(bench.chain);
  const Time start = clock_now();
  Time now = start;
  std::uint64_t calls = 0;
  while (calls == 0 || (options.count != 0 ? calls < options.count : now - start < duration)) {
    const Time begun = clock_now();
    const auto found = client.match(bench.ns, std::span(&chain, 1));
    now = clock_now();
    LARDER_RETURN_IF_ERROR(found.status());
    if (found->at(0).usable_units != options.positions) {
      return absl::UnavailableError(
          fmt::format("{} of {} positions were usable: is larderd in other use?",
                      found->at(0).usable_units, options.positions));
    }
    row.us.push_back(us_between(begun, now));
    calls += 1;
  }
  row.mib_s.push_back(static_cast<double>(calls * row.bytes) / 0x1p20 /
                      seconds_between(start, now));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BenchRow> bench_match(const BenchOptions& options, Client& client) {
  LARDER_ASSIGN_OR_RETURN(const MatchBench bench, store_chain(options, client));
  BenchRow row{.bytes = options.positions * sizeof(BlockHash),
               .batch = options.positions,
               .depth = 1,
               .mib_s = {},
               .limit_mib_s = {},
               .us = {},
               .limit_us = {}};
  std::vector<std::byte> near(row.bytes), far(row.bytes);
  SocketLimit::Options echo{.load = SocketLimit::Load::kEcho,
                            .tcp = client.stats().transport == "tcp",
                            .block_bytes = row.bytes,
                            .call_bytes = row.bytes,
                            .reply_bytes = kReplyBytes,
                            .depth = 1,
                            .near = near,
                            .far = far,
                            .clock = &clock_now};
  LARDER_ASSIGN_OR_RETURN(const auto limit, SocketLimit::start(echo));
  const auto slice = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(options.seconds / options.rounds / 2));
  BenchRow warm_up = row;
  LARDER_RETURN_IF_ERROR(larder_round(options, bench, client, slice, warm_up));
  for (std::uint32_t n = 0; n < options.rounds; ++n) {
    row.limit_mib_s.push_back(limit->round(slice, row.limit_us) / 0x1p20);
    LARDER_RETURN_IF_ERROR(larder_round(options, bench, client, slice, row));
  }
  const auto prefix = std::span(bench.chain).first(1);
  LARDER_RETURN_IF_ERROR(client.remove_prefix(bench.ns, prefix).status());
  return row;
}

}  // namespace larder
