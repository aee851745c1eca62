#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "actors/session.h"
#include "transport/guarded_copy.h"

namespace larder {

/// Copies `length` bytes (at most a slice) that start `skip` bytes into `source` to `dst`, adding
/// them to `sum` unless null. kInvalid: not inside one of `regions`, or attach is not
/// allowed; kFault: the client's memory went away.
wire::KeyStatus read_source(Session& session, const HeldRegions& regions,
                            const wire::PutSource& source, std::uint64_t skip,
                            std::span<std::byte> dst, Checksum* sum);

wire::PutPath path_of(const wire::PutSource& source);

/// Sources must be sorted by key and name keys of the batch; INVALID_ARGUMENT naming the first that
/// does not.
absl::Status check_source_order(std::span<const wire::PutSource> sources, std::size_t keys);

}  // namespace larder
