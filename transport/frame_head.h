#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/frame.h"

namespace google::protobuf {
class MessageLite;
}

namespace larder {

/// What stands before a frame's payload. `body` may be null (an empty body).
struct FrameParts {
  FrameType type = FrameType::kError;
  std::uint64_t id = 0;
  bool reply = false;
  std::uint8_t fds = 0;
  const google::protobuf::MessageLite* body = nullptr;
  std::span<const std::byte> array = {};
  std::uint32_t payload = 0;
};

/// Header, body and array as they go out, in one piece. One allocation. The sizes must be within
/// limits::kFrame…Max: the caller checked what it was given.
std::vector<std::byte> make_head(const FrameParts& parts);

/// Reads a body; false when it is not one. Unknown fields are skipped.
bool parse_body(std::span<const std::byte> in, google::protobuf::MessageLite& out);

}  // namespace larder
