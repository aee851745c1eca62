#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

#include "store/types.h"
#include "transport/wire.pb.h"

namespace larder {

/// What a put's deadline_ms means: the default for 0, bounded.
Duration put_deadline(std::uint32_t deadline_ms);

/// Text from outside, on one line and without quotes.
std::string for_log(const std::string& text);

/// Fills a body's status.
inline void set_status(wire::Status* out, const absl::Status& status) {
  out->set_code(static_cast<int>(status.code()));
  out->set_message(std::string(status.message()));
}

}  // namespace larder
