#include "ops/sim_trace.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"

namespace larder {
namespace {

/// Numbers the blocks of one trace from `*unique` on.
void append(const std::vector<TraceRequest>& from, std::uint32_t tenant, SimTrace& to) {
  absl::flat_hash_map<std::uint64_t, std::uint32_t> numbers;
  for (const TraceRequest& request : from) {
    to.requests.push_back({.time_ms = request.timestamp_ms,
                           .first = to.blocks.size(),
                           .count = static_cast<std::uint32_t>(request.hash_ids.size()),
                           .output_tokens = request.output_length,
                           .tenant = tenant});
    for (const std::uint64_t hash : request.hash_ids) {
      const auto [at, added] = numbers.try_emplace(hash, to.unique);
      to.unique += added ? 1 : 0;
      to.blocks.push_back(at->second);
    }
  }
}

/// Merges by time: each tenant's requests in their own order, also where times go backwards.
void merge(SimTrace& trace) {
  std::vector<std::uint64_t> latest(trace.tenants, 0);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
  order.reserve(trace.requests.size());
  for (std::uint32_t n = 0; n < trace.requests.size(); ++n) {
    std::uint64_t& time = latest[trace.requests[n].tenant];
    time = std::max(time, trace.requests[n].time_ms);
    order.emplace_back(time, n);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<SimTrace::Request> sorted;
  sorted.reserve(order.size());
  for (const auto& [time, n] : order)
    sorted.push_back(trace.requests[n]);
  trace.requests = std::move(sorted);
}

}  // namespace

SimTrace make_sim_trace(std::span<const std::vector<TraceRequest>> traces) {
  SimTrace out;
  for (const std::vector<TraceRequest>& trace : traces)
    append(trace, out.tenants++, out);
  if (out.tenants > 1) merge(out);
  return out;
}

std::vector<std::uint32_t> reused_positions(const SimTrace& trace) {
  std::vector<std::uint32_t> counts(trace.requests.size());
  std::vector<bool> later(trace.unique);
  for (std::size_t n = trace.requests.size(); n-- > 0;) {
    const auto blocks = trace.blocks_of(trace.requests[n]);
    const auto end =
        std::find_if(blocks.begin(), blocks.end(), [&](std::uint32_t b) { return !later[b]; });
    counts[n] = static_cast<std::uint32_t>(end - blocks.begin());
    for (const std::uint32_t block : blocks)
      later[block] = true;
  }
  return counts;
}

std::vector<std::uint32_t> next_requests(const SimTrace& trace) {
  const auto none = static_cast<std::uint32_t>(trace.requests.size());
  std::vector<std::uint32_t> next(trace.blocks.size());
  std::vector<std::uint32_t> seen(trace.unique, none);
  for (std::uint32_t n = none; n-- > 0;) {
    const SimTrace::Request& request = trace.requests[n];
    for (std::uint64_t at = request.first; at < request.first + request.count; ++at)
      next[at] = seen[trace.blocks[at]];
    for (const std::uint32_t block : trace.blocks_of(request))
      seen[block] = n;
  }
  return next;
}

}  // namespace larder
