#include "transport/frame.h"

#include "absl/status/status.h"
#include <fmt/format.h>

#include "store/limits.h"

namespace larder {
namespace {

template <class T>
void store(std::span<std::byte, kFrameHeaderBytes> out, std::size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

template <class T>
T load(std::span<const std::byte, kFrameHeaderBytes> in, std::size_t at) {
  T value;
  std::memcpy(&value, in.data() + at, sizeof value);
  return value;
}

absl::Status check_size(const char* field, std::uint32_t value, Bytes limit) {
  if (value <= limit.count) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("frame header: {} is {} bytes, the limit is {}", field, value, limit.count));
}

}  // namespace

void encode(const FrameHeader& header, std::span<std::byte, kFrameHeaderBytes> out) {
  store(out, 0, kFrameMagic);
  store(out, 4, header.version);
  store(out, 5, static_cast<std::uint8_t>(header.type));
  store(out, 6, header.flags);
  store(out, 8, header.id);
  store(out, 16, header.body);
  store(out, 20, header.array);
  store(out, 24, header.payload);
  store(out, 28, std::uint32_t{0});
}

absl::StatusOr<FrameHeader> decode(std::span<const std::byte, kFrameHeaderBytes> in) {
  const auto magic = load<std::uint32_t>(in, 0);
  if (magic != kFrameMagic) {
    return absl::InvalidArgumentError(
        fmt::format("frame header: magic is {:#010x}, expected {:#010x}", magic, kFrameMagic));
  }
  FrameHeader header;
  header.version = load<std::uint8_t>(in, 4);
  if (header.version != kProtocolVersion) {
    return absl::InvalidArgumentError(
        fmt::format("frame header: version is {}, expected {}", header.version, kProtocolVersion));
  }
  header.type = static_cast<FrameType>(load<std::uint8_t>(in, 5));
  header.flags = load<std::uint16_t>(in, 6);
  header.id = load<std::uint64_t>(in, 8);
  header.body = load<std::uint32_t>(in, 16);
  header.array = load<std::uint32_t>(in, 20);
  header.payload = load<std::uint32_t>(in, 24);
  const absl::Status body = check_size("body", header.body, limits::kFrameBodyMax);
  if (!body.ok()) return body;
  const absl::Status array = check_size("array", header.array, limits::kFrameArrayMax);
  if (!array.ok()) return array;
  const absl::Status payload = check_size("payload", header.payload, limits::kFramePayloadMax);
  if (!payload.ok()) return payload;
  if (const auto reserved = load<std::uint32_t>(in, 28); reserved != 0) {
    return absl::InvalidArgumentError(
        fmt::format("frame header: reserved is {}, expected 0", reserved));
  }
  return header;
}

}  // namespace larder
