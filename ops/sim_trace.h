#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/trace_reader.h"

namespace larder {

/// One or several traces made ready to be simulated many times: blocks have dense numbers, requests
/// stand in order of time (those of one trace keep theirs). Blocks of different traces never meet.
///
/// Owns 4 bytes a reference and 24 a request. Immutable once made.
struct SimTrace {
  struct Request {
    std::uint64_t time_ms = 0;
    std::uint64_t first = 0;  ///< of its blocks, in `blocks`
    std::uint32_t count = 0;
    std::uint32_t output_tokens = 0;
    std::uint32_t tenant = 0;  ///< the trace it comes from
  };

  std::vector<Request> requests;
  std::vector<std::uint32_t> blocks;  ///< of all requests, root first
  std::uint32_t unique = 0;           ///< blocks are numbered below this
  std::uint32_t tenants = 0;

  std::span<const std::uint32_t> blocks_of(const Request& request) const {
    return {blocks.data() + request.first, request.count};
  }
  std::uint64_t references() const { return blocks.size(); }
};

/// Each of `traces` becomes a tenant. A time that goes backwards stays where it stands.
SimTrace make_sim_trace(std::span<const std::vector<TraceRequest>> traces);

/// A request's leading positions that some later request refers to again: what a perfect hint says.
std::vector<std::uint32_t> reused_positions(const SimTrace& trace);

/// Of each reference the request that refers to the block next; requests.size(): none.
std::vector<std::uint32_t> next_requests(const SimTrace& trace);

}  // namespace larder
