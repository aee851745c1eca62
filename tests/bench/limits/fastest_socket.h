#pragma once

#include "tests/bench/limits/socket_limit.h"

namespace larder {

/// The SocketLimit of `options` whose tuning is the fastest on this machine: several take turns,
/// `slice` each and three times over, and the best median wins. Blocks for about 54 slices.
/// UNAVAILABLE when a connection cannot be made.
absl::StatusOr<std::unique_ptr<SocketLimit>> fastest_socket(SocketLimit::Options options,
                                                            Duration slice);

}  // namespace larder
