// A connected pair of non-blocking unix sockets, and frames to send through it.

#pragma once

#include <random>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/frame.h"
#include "transport/frame_head.h"
#include "transport/frame_reader.h"
#include "transport/socket.h"

namespace larder::sim {

struct SocketPair {
  SocketPair() {
    int fds[2] = {-1, -1};
    BOOST_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    here.reset(fds[0]);
    there.reset(fds[1]);
  }
  Fd here;
  Fd there;
};

inline std::vector<std::byte> random_bytes(std::mt19937& rng, std::size_t count) {
  std::vector<std::byte> out(count);
  for (std::byte& byte : out)
    byte = static_cast<std::byte>(rng());
  return out;
}

/// A frame as a reader should yield it.
struct SampleFrame {
  FrameHeader header = {};
  std::vector<std::byte> body = {}, array = {}, payload = {};
  friend bool operator==(const SampleFrame&, const SampleFrame&) = default;

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> out(kFrameHeaderBytes);
    encode(header, std::span<std::byte, kFrameHeaderBytes>(out.data(), kFrameHeaderBytes));
    for (const auto* part : {&body, &array, &payload})
      out.insert(out.end(), part->begin(), part->end());
    return out;
  }
};

inline SampleFrame random_frame(std::mt19937& rng, std::size_t most) {
  const auto size = [&] { return rng() % 3 == 0 ? 0 : rng() % most; };
  SampleFrame out;
  out.body = random_bytes(rng, size());
  out.array = random_bytes(rng, size());
  out.payload = random_bytes(rng, size());
  out.header.type = static_cast<FrameType>(1 + rng() % 29);
  out.header.flags = static_cast<std::uint16_t>(rng() % 2);
  out.header.id = rng();
  out.header.body = static_cast<std::uint32_t>(out.body.size());
  out.header.array = static_cast<std::uint32_t>(out.array.size());
  out.header.payload = static_cast<std::uint32_t>(out.payload.size());
  return out;
}

/// Reads until the reader has no more, with each payload received into pieces of `piece` bytes; has
/// the reader sum it up, and looks at the sum.
class Collector {
 public:
  explicit Collector(std::size_t piece = 1000, bool summed = false)
      : piece_(piece), summed_(summed) {}

  /// The event that ended it.
  ReadEvent collect(int fd, std::size_t budget = 1 << 30) {
    for (;;) {
      const ReadResult got = reader.read(fd, budget);
      if (got.event == ReadEvent::kFrame) {
        on_frame();
      } else if (got.event == ReadEvent::kPayloadDone) {
        const std::vector<std::byte>& payload = under_way_.payload;
        if (summed_) BOOST_TEST(sum_.value() == checksum_of(payload.data(), payload.size()));
        frames.push_back(under_way_);
      } else {
        status = got.status;
        return got.event;
      }
    }
  }

  FrameReader reader;
  std::vector<SampleFrame> frames;
  std::vector<Fds> fds;
  absl::Status status;

 private:
  void on_frame() {
    FrameReader::Frame& frame = reader.frame();
    under_way_ = {.header = frame.header,
                  .body = {frame.body.begin(), frame.body.end()},
                  .array = {frame.array.begin(), frame.array.end()},
                  .payload = {}};
    fds.push_back(std::move(frame.fds));
    const std::size_t length = frame.header.payload;
    if (length == 0) return frames.push_back(under_way_);
    under_way_.payload.resize(length);
    std::vector<iovec> pieces;
    for (std::size_t at = 0; at < length; at += piece_) {
      pieces.push_back({under_way_.payload.data() + at, std::min(piece_, length - at)});
    }
    sum_.reset();
    const CopyWay way = frames.size() % 2 == 0 ? CopyWay::kStreaming : CopyWay::kBySize;
    reader.receive_payload(pieces, summed_ ? &sum_ : nullptr, way);
  }

  std::size_t piece_;
  bool summed_;
  Checksum sum_;
  SampleFrame under_way_;
};

}  // namespace larder::sim
