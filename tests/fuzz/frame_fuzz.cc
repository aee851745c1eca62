// Arbitrary bytes through the frame decoder and the incremental reader, in arbitrary splits. The
// first bytes choose how the rest is cut (`Script`) and what the reader's owner does. Whatever
// comes: no crash, no memory beyond the bound, a stream read in pieces yields the frames that it
// yields whole, and a head that is written again says the same.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "store/assert.h"
#include "store/checksum.h"
#include "store/limits.h"
#include "tests/fuzz/cut_stream.h"
#include "tests/fuzz/frame_repair.h"
#include "tests/fuzz/reached.h"
#include "transport/frame.h"
#include "transport/frame_head.h"
#include "transport/frame_reader.h"
#include "transport/wire.pb.h"
#include "transport/wire_log.h"

namespace larder {
namespace {

fuzz::Reached reached;

/// What the first bytes of an input say.
struct Script {
  static constexpr std::size_t kBytes = fuzz::kFrameScriptBytes;
  static constexpr std::size_t kZerosUnit = 8 << 10;

  static constexpr std::size_t kPiecesMax = 16;

  Script(std::span<const std::byte, kBytes> in, std::size_t length)
      : slice(1 + byte(in[1])),
        sinks(byte(in[2]) >= 240 ? byte(in[2]) / 3 : byte(in[2]) % 4),
        skips_heads(byte(in[3]) % 4 == 1),
        drops_payloads(byte(in[3]) % 8 == 2),
        trims(byte(in[3]) % 16 >= 8) {
    cut.piece = 1 + byte(in[0]);
    cut.pauses = true;
    cut.zeros = kZerosUnit * byte(in[4]);
    cut.end = static_cast<fuzz::CutStream::End>(byte(in[3]) / 16 % 4);
    cut.fd_every = byte(in[3]) < fuzz::kFrameFds ? 0 : std::size_t{16} << byte(in[0]) % 3;
    // A long stream in small pieces is slow and tells no more.
    const std::size_t least = (length + cut.zeros) / kPiecesMax;
    cut.piece = std::max(cut.piece, least);
    slice = std::max(slice, least);
  }
  /// The same stream, in as few pieces as may be.
  fuzz::CutStream::Cut whole() const {
    fuzz::CutStream::Cut out = cut;
    out.piece = fuzz::CutStream::Cut().piece;
    out.pauses = false;
    return out;
  }

  fuzz::CutStream::Cut cut;
  std::size_t slice;    ///< the reader's budget
  std::size_t sinks;    ///< pieces of memory that a payload goes to; 0: none
  bool skips_heads;     ///< those that are not whole when their header is
  bool drops_payloads;  ///< when some of one is in its place
  bool trims;

 private:
  static std::size_t byte(std::byte value) { return static_cast<std::size_t>(value); }
};

/// What a stream yields: a digest of all headers, one of what they carry, and how it ended.
struct Outcome {
  std::uint64_t frames = 0;
  std::uint64_t headers = kSeed;
  std::uint64_t contents = kSeed;
  ReadEvent last = ReadEvent::kBlocked;
  friend bool operator==(const Outcome&, const Outcome&) = default;

  static constexpr std::uint64_t kSeed = 1469598103934665603ULL;
  static void mix(std::uint64_t& digest, std::uint64_t word) {
    digest = (digest ^ word) * 1099511628211ULL;
  }
  static void mix(std::uint64_t& digest, std::span<const std::byte> bytes) {
    mix(digest, checksum(bytes));
  }
};

/// Reads one stream to its end, as a session or a client would.
class Owner {
 public:
  Owner(fuzz::CutStream& stream, const Script& script, bool patient)
      : stream_(stream), script_(script), patient_(patient) {}

  Outcome run() {
    std::size_t left = 0;
    do {
      left = stream_.left();
      std::size_t budget = patient_ ? 1 << 20 : script_.slice;
      out_.last = reader_.read(stream_, budget).event;
      on_event();
      LARDER_ASSERT(reader_.memory() <= 4 * (limits::kFrameBodyMax + limits::kFrameArrayMax).count);
    } while (!over() && (left > 0 || out_.last != ReadEvent::kBlocked));
    std::size_t more = 1;  // once failed, a stream stays so
    LARDER_ASSERT(out_.last != ReadEvent::kFailed ||
                  reader_.read(stream_, more).event == ReadEvent::kFailed);
    return out_;
  }

 private:
  bool over() const { return out_.last == ReadEvent::kFailed || out_.last == ReadEvent::kClosed; }

  void on_event() {
    if (out_.last == ReadEvent::kFrame) return on_frame();
    if (out_.last == ReadEvent::kPayloadDone) return on_payload();
    if (patient_ || over()) return;
    if (script_.skips_heads && reader_.in_head()) reader_.discard_head();
    if (script_.drops_payloads && !payload_.empty()) {
      reader_.discard_payload();
      payload_.clear();
      payload_.shrink_to_fit();  // whoever writes there now is found
    }
    if (script_.trims) reader_.trim();
  }

  void on_frame() {
    FrameReader::Frame& frame = reader_.frame();
    ++out_.frames;
    check_head(frame);
    Outcome::mix(out_.headers, frame.header.id);
    Outcome::mix(out_.headers, frame.header.payload);
    Outcome::mix(out_.headers, frame.fds.size());
    Outcome::mix(out_.contents, frame.body);
    Outcome::mix(out_.contents, frame.array);
    payload_.assign(script_.sinks == 0 ? 0 : frame.header.payload, std::byte{0});
    if (!payload_.empty()) receive_payload();
  }

  /// Some pieces are empty, and the end of a payload may have no place.
  void receive_payload() {
    std::vector<iovec> pieces;
    const std::size_t each = payload_.size() / script_.sinks;
    for (std::size_t n = 0; n < script_.sinks; ++n) {
      pieces.push_back({payload_.data() + n * each, each});
      if (script_.trims) pieces.push_back({payload_.data(), 0});
    }
    placed_ = each * script_.sinks;
    sum_.reset();
    const std::uint64_t id = reader_.frame().header.id;
    reader_.receive_payload(pieces, id % 2 == 0 ? &sum_ : nullptr,
                            id % 4 == 0 ? CopyWay::kStreaming : CopyWay::kBySize);
  }

  void on_payload() {
    Outcome::mix(out_.contents, payload_);
    if (payload_.empty() || reader_.frame().header.id % 2 != 0) return;
    LARDER_ASSERT(sum_.value() == checksum(std::span(payload_).first(placed_)));
  }

  static void check_head(const FrameReader::Frame& frame) {
    const FrameHeader& header = frame.header;
    LARDER_ASSERT(frame.discarded || frame.body.size() == header.body);
    LARDER_ASSERT(frame.discarded || frame.array.size() == header.array);
    LARDER_ASSERT(frame.fds.size() == static_cast<std::size_t>(header.fds()));
    wire::PutRequest body;
    if (!parse_body(frame.body, body)) return;
    const std::vector<std::byte> again = make_head({.type = header.type,
                                                    .id = header.id,
                                                    .reply = header.is_reply(),
                                                    .fds = static_cast<std::uint8_t>(header.fds()),
                                                    .body = &body,
                                                    .array = frame.array,
                                                    .payload = header.payload});
    const auto read =
        decode(std::span<const std::byte, kFrameHeaderBytes>(again.data(), kFrameHeaderBytes));
    LARDER_ASSERT(read.ok());
    LARDER_ASSERT(read->type == header.type && read->id == header.id);
    LARDER_ASSERT(read->array == frame.array.size() && read->payload == header.payload);
    LARDER_ASSERT(again.size() == kFrameHeaderBytes + read->body + read->array);
  }

  fuzz::CutStream& stream_;
  const Script& script_;
  const bool patient_;  ///< takes what comes, and drops nothing
  FrameReader reader_;
  std::vector<std::byte> payload_;
  std::size_t placed_ = 0;  ///< bytes of it that have a place
  Checksum sum_;            ///< of those, by the reader
  Outcome out_;
};

void run(std::span<const std::byte> input) {
  const auto bytes = input.subspan(Script::kBytes);
  const Script script(input.first<Script::kBytes>(), bytes.size());
  fuzz::CutStream at_once(bytes, script.whole());
  const Outcome whole = Owner(at_once, script, true).run();
  if (whole.frames > 0) reached.past();
  fuzz::CutStream cut(bytes, script.cut);
  Outcome pieces = Owner(cut, script, false).run();
  if (script.skips_heads || script.drops_payloads) pieces.contents = whole.contents;
  LARDER_ASSERT(whole == pieces);
}

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  larder::silence_wire_log();
  larder::reached.input();
  if (size < larder::Script::kBytes) return 0;
  larder::run(std::as_bytes(std::span(data, size)));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  return larder::fuzz::mutate_frames(data, size, most, seed);
}
