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

}  // namespace larder
