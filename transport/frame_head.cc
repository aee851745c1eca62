#include "transport/frame_head.h"

#include <google/protobuf/message_lite.h>

#include "store/assert.h"
#include "store/limits.h"

namespace larder {

std::vector<std::byte> make_head(const FrameParts& parts) {
  const std::size_t body = parts.body == nullptr ? 0 : parts.body->ByteSizeLong();
  LARDER_ASSERT(body <= limits::kFrameBodyMax.count);
  LARDER_ASSERT(parts.array.size() <= limits::kFrameArrayMax.count);
  LARDER_ASSERT(parts.payload <= limits::kFramePayloadMax.count);
  std::vector<std::byte> out(kFrameHeaderBytes + body + parts.array.size());
  FrameHeader header;
  header.type = parts.type;
  header.flags = static_cast<std::uint16_t>((parts.reply ? kFlagReply : 0) |
                                            ((parts.fds << kFdShift) & kFdMask));
  header.id = parts.id;
  header.body = static_cast<std::uint32_t>(body);
  header.array = static_cast<std::uint32_t>(parts.array.size());
  header.payload = parts.payload;
  encode(header, std::span<std::byte, kFrameHeaderBytes>(out.data(), kFrameHeaderBytes));
  if (body > 0) {
    parts.body->SerializeWithCachedSizesToArray(
        reinterpret_cast<std::uint8_t*>(out.data() + kFrameHeaderBytes));
  }
  if (!parts.array.empty()) {
    std::memcpy(out.data() + kFrameHeaderBytes + body, parts.array.data(), parts.array.size());
  }
  return out;
}

bool parse_body(std::span<const std::byte> in, google::protobuf::MessageLite& out) {
  return out.ParseFromArray(in.data(), static_cast<int>(in.size()));
}

}  // namespace larder
