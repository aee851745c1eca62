#include "actors/descriptor_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace larder {

namespace {

/// What threads, listeners and logs take, with room for a few sessions and slabs.
constexpr std::uint64_t kBesideSlabs = 64;

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

absl::Status check_descriptor_limit(std::uint64_t slabs) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::OkStatus();
  if (limit.rlim_cur >= kBesideSlabs + slabs) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      fmt::format("descriptors: the limit (RLIMIT_NOFILE) is {}, at least {} are needed: one for "
                  "each of {} slabs, {} for the rest; raise LimitNOFILE, or ulimit -Hn",
                  limit.rlim_cur, kBesideSlabs + slabs, slabs, kBesideSlabs));
}

absl::Status check_address_space(Bytes host_bytes) {
  // Retired slabs keep their addresses for a while, regions are mapped, threads have stacks.
  constexpr std::uint64_t kBeside = 1ULL << 30;
  const std::uint64_t needed = 2 * host_bytes.count + kBeside;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= needed) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      fmt::format("address space: the limit (RLIMIT_AS) is {}, at least {} are needed for "
                  "host_bytes={}; raise LimitAS, or ulimit -v",
                  limit.rlim_cur, needed, host_bytes.count));
}

}  // namespace larder
