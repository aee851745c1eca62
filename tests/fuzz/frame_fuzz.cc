// Arbitrary bytes through the frame decoder and the incremental reader, in arbitrary splits. The
// first two bytes choose how the rest is cut and where payloads go. Whatever comes: no crash, no
// memory beyond the bound, and a stream read in pieces yields the frames that it yields whole.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include "store/assert.h"
#include "store/limits.h"
#include "tests/fuzz/reached.h"
#include "transport/frame.h"
#include "transport/frame_head.h"
#include "transport/frame_reader.h"
#include "transport/socket.h"
#include "transport/wire.pb.h"

namespace larder {
namespace {

fuzz::Reached reached;

/// What a stream yields: a digest of all heads and payloads, and how it ended.
struct Outcome {
  std::uint64_t frames = 0;
  std::uint64_t digest = 1469598103934665603ULL;
  ReadEvent last = ReadEvent::kBlocked;
  friend bool operator==(const Outcome&, const Outcome&) = default;

  void mix(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes)
      digest = (digest ^ static_cast<std::uint64_t>(byte)) * 1099511628211ULL;
  }
};

/// The payload under way, and the reader's sum of it.
struct Payload {
  std::vector<std::byte> bytes;
  Checksum sum;
};

void on_frame(FrameReader& reader, Payload& payload, Outcome& out) {
  FrameReader::Frame& frame = reader.frame();
  ++out.frames;
  out.mix(frame.body);
  out.mix(frame.array);
  wire::PutRequest body;
  (void)parse_body(frame.body, body);
  payload.bytes.assign(frame.header.payload, std::byte{0});
  payload.sum.reset();
  if (payload.bytes.empty()) return;
  std::byte* const data = payload.bytes.data();
  const std::size_t half = payload.bytes.size() / 2;
  const iovec pieces[] = {{data, half}, {data + half, payload.bytes.size() - half}};
  reader.receive_payload(pieces, frame.header.id % 2 == 0 ? &payload.sum : nullptr,
                         frame.header.id % 4 == 0 ? CopyWay::kStreaming : CopyWay::kBySize);
}

void on_payload(FrameReader& reader, const Payload& payload, Outcome& out) {
  out.mix(payload.bytes);
  const bool summed = reader.frame().header.id % 2 == 0;
  const std::uint64_t sum = checksum(payload.bytes);
  LARDER_ASSERT(!summed || payload.sum.value() == sum);
}

Outcome run(std::span<const std::byte> stream, std::size_t piece, std::size_t slice) {
  int fds[2];
  LARDER_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
  const Fd here(fds[0]);
  const Fd there(fds[1]);
  FrameReader reader;
  Outcome out;
  Payload payload;
  while (out.last != ReadEvent::kFailed) {
    const std::size_t n = std::min(piece, stream.size());
    if (n == 0) break;
    LARDER_ASSERT(::write(here.get(), stream.data(), n) == static_cast<ssize_t>(n));
    stream = stream.subspan(n);
    do {
      std::size_t budget = slice;
      out.last = reader.read(there.get(), budget).event;
      if (out.last == ReadEvent::kFrame) on_frame(reader, payload, out);
      if (out.last == ReadEvent::kPayloadDone) on_payload(reader, payload, out);
      LARDER_ASSERT(reader.memory() <= 4 * (limits::kFrameBodyMax + limits::kFrameArrayMax).count);
    } while (out.last != ReadEvent::kBlocked && out.last != ReadEvent::kFailed);
  }
  return out;
}

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  larder::reached.input();
  if (size < 2) return 0;
  const auto stream = std::as_bytes(std::span(data, size)).subspan(2);
  const larder::Outcome whole = larder::run(stream, 1 << 16, 1 << 20);
  if (whole.frames > 0) larder::reached.past();
  const larder::Outcome pieces = larder::run(stream, 1 + data[0], 1 + data[1]);
  LARDER_ASSERT(whole == pieces);
  return 0;
}
