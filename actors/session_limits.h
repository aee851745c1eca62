#pragma once

#include <cstdint>

#include "store/types.h"

namespace larder {

/// Bytes of a streamed put that may be under way unacknowledged.
inline constexpr std::uint64_t kStreamCredits = 4 << 20;
/// Work of one session in one turn of its io thread.
inline constexpr std::size_t kTurnBytes = 1 << 20;
/// A session with this much to send is not read from.
inline constexpr std::size_t kWriterPauseBytes = 8 << 20;
/// Payload that a get keeps queued ahead.
inline constexpr std::size_t kGetAheadBytes = 2 << 20;
inline constexpr Duration kPutDeadlineDefault = std::chrono::seconds(10);
inline constexpr Duration kPutDeadlineMax = std::chrono::minutes(10);
inline constexpr Duration kNamespaceTtlMax = std::chrono::hours(24 * 3650);
inline constexpr Duration kHelloDeadline = std::chrono::seconds(5);

}  // namespace larder
