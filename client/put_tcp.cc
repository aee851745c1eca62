#include "client/put_tcp.h"

#include <algorithm>

#include "client/call.h"
#include "client/milliseconds.h"
#include "store/limits.h"
#include "store/status_macros.h"
#include "transport/wire.pb.h"

namespace larder {
namespace {

constexpr std::size_t kPayloadOffset = 24;  // of a frame header
constexpr std::size_t kPartFramesMax = 4;   ///< of one call, unanswered

std::uint64_t chunk_limit(const Link& link) {
  const std::uint64_t limit = limits::kFramePayloadMax.count;
  const std::uint64_t told = link.terms.chunk_bytes;
  return told == 0 ? limit : std::min(limit, told);
}

}  // namespace

absl::Status TcpPut::start(Link& link) {
  shared_ = &link.shared();
  ++shared_->counters.puts;
  wire::PutRequest body;
  body.set_ns(request_.ns.value());
  body.set_request(request_.request);
  body.set_deadline_ms(to_ms(deadline()));
  const std::uint64_t inline_max =
      std::min(link.terms.inline_put_bytes, limits::kInlinePutMax.count);
  const bool fits = request_.buffers.bytes() <= inline_max;
  for (std::size_t n = 0; fits && n < request_.keys.size(); ++n) {
    sum_.reset();
    for (const iovec& piece : request_.buffers.pieces(n)) {
      sum_.update(piece.iov_base, piece.iov_len);
    }
    body.add_inline_checksums(sum_.value());
  }
  const auto array = std::as_bytes(std::span<const Key>(request_.keys));
  std::vector<std::byte> head =
      make_head({.type = FrameType::kPut, .id = id, .body = &body, .array = array});
  if (fits) return send_inline(link, std::move(head));
  LARDER_ASSIGN_OR_RETURN(frame_, send_call(link, {.head = std::move(head)}));
  return absl::OkStatus();
}

/// The payload is copied behind the head: small, and the caller's memory is done with at once.
absl::Status TcpPut::send_inline(Link& link, std::vector<std::byte> head) {
  const auto bytes = static_cast<std::uint32_t>(request_.buffers.bytes());
  std::memcpy(head.data() + kPayloadOffset, &bytes, sizeof bytes);
  head.reserve(head.size() + bytes);
  for (std::size_t n = 0; n < request_.keys.size(); ++n) {
    for (const iovec& piece : request_.buffers.pieces(n)) {
      const auto* data = static_cast<const std::byte*>(piece.iov_base);
      head.insert(head.end(), data, data + piece.iov_len);
    }
  }
  LARDER_ASSIGN_OR_RETURN(frame_, send_call(link, {.head = std::move(head)}));
  return absl::OkStatus();
}

void TcpPut::on_data(Link& link, FrameReader::Frame& frame) {
  if (!frame.array.empty()) {
    std::vector<KeyStatus> first(request_.keys.size());
    if (streaming_ || !read_put_results(frame.array, first)) return;
    streaming_ = true;
    for (std::uint32_t n = 0; n < first.size(); ++n) {
      if (first[n] == KeyStatus::kWanted) {
        wanted_.push_back(n);
      } else {
        completion_.keys[n] = first[n];
      }
    }
    link.senders.push_back(shared_from_this());
  } else {
    wire::SimpleReply reply;
    if (!parse_body(frame.body, reply)) return;
    taken_ = std::max<std::uint64_t>(taken_, std::min(reply.count(), sent_));
  }
}

bool TcpPut::send_more(Link& link) {
  const std::uint64_t chunk_max = chunk_limit(link);
  // A daemon that tells no credits gets one chunk at a time.
  const std::uint64_t credits = std::max(link.terms.stream_credits, chunk_max);
  if (finished() || next_ == wanted_.size() || sent_ - taken_ >= credits) return false;
  return send_chunk(link, std::min(chunk_max, credits - (sent_ - taken_)));
}

bool TcpPut::send_chunk(Link& link, std::uint64_t chunk_max) {
  const std::uint32_t key = wanted_[next_];
  const std::uint64_t length = request_.buffers.length(key);
  const std::uint64_t n = std::min(chunk_max, length - offset_);
  OutFrame frame;
  request_.buffers.slice(key, offset_, n, frame.payload);
  if (offset_ == 0) sum_.reset();
  for (const iovec& piece : frame.payload)
    sum_.update(piece.iov_base, piece.iov_len);
  const bool last = offset_ + n == length;
  const wire::ChunkRecord chunk{
      .key = key, .last = last ? 1U : 0U, .offset = offset_, .checksum = last ? sum_.value() : 0};
  frame.head = make_head({.type = FrameType::kPutData,
                          .id = frame_,
                          .array = std::as_bytes(std::span(&chunk, 1)),
                          .payload = static_cast<std::uint32_t>(n)});
  frame.tag = frame_;
  const absl::Status status = link.send(std::move(frame));
  if (!status.ok()) {
    give_up(&link, status.code(), std::string(status.message()));
    return false;
  }
  sent_ += n;
  offset_ = last ? 0 : offset_ + n;
  if (last) ++next_;
  return true;
}

void TcpPut::on_reply(Link& link, FrameReader::Frame& frame) {
  // The daemon may answer before it has all (an error): what is queued is not wanted any more.
  link.writer().drop(frame_);
  wire::PutReply reply;
  if (!accept(frame, reply)) return;
  if (!read_put_results(frame.array, completion_.keys)) {
    finish_with(absl::StatusCode::kInternal, "the reply has another number of results than keys");
    return;
  }
  completion_.residence_ns = reply.residence_ns();
  for (std::size_t n = 0; n < request_.keys.size(); ++n) {
    if (completion_.keys[n] == KeyStatus::kOk) completion_.bytes += request_.buffers.length(n);
  }
  shared_->counters.bytes_out += completion_.bytes;
  finish_with(absl::StatusCode::kOk, "");
}

void TcpPut::give_up(Link* link, absl::StatusCode code, std::string message) {
  if (link != nullptr && frame_ != 0) {
    link->writer().drop(frame_);
    link->tell_cancel(frame_);
  }
  forget_frames(link);
  finish_with(code, std::move(message));
}

absl::Status TcpPart::start(Link& link) {
  while (next_ < pieces_.size() && outstanding_ < kPartFramesMax) {
    LARDER_RETURN_IF_ERROR(send_next(link));
  }
  return absl::OkStatus();
}

absl::Status TcpPart::send_next(Link& link) {
  OutFrame frame;
  wire::PutPartRequest body;
  body.set_put(put_);
  std::vector<wire::PutSource> sources;
  std::vector<std::uint64_t> offsets;
  std::uint64_t room = chunk_limit(link);
  while (next_ < pieces_.size() && room > 0 && sources.size() < limits::kBatchKeysMax) {
    const Piece& piece = pieces_[next_];
    const std::uint64_t n = std::min<std::uint64_t>(room, piece.memory.iov_len - offset_);
    void* from = static_cast<std::byte*>(piece.memory.iov_base) + offset_;
    frame.payload.push_back({from, n});
    body.add_checksums(checksum_of(from, n));
    sources.push_back({.key = piece.key, .region = wire::PutSource::kStream, .length = n});
    offsets.push_back(piece.offset + offset_);
    room -= n;
    offset_ += n;
    if (offset_ < piece.memory.iov_len) break;
    offset_ = 0;
    ++next_;
  }
  body.set_sources(static_cast<std::uint32_t>(sources.size()));
  std::vector<std::byte> array;
  wire::append(array, std::span<const wire::PutSource>(sources));
  wire::append(array, std::span<const std::uint64_t>(offsets));
  frame.head = make_head({.type = FrameType::kPutPart,
                          .id = 0,
                          .body = &body,
                          .array = array,
                          .payload = static_cast<std::uint32_t>(chunk_limit(link) - room)});
  frame.tag = id;
  LARDER_RETURN_IF_ERROR(send_call(link, std::move(frame)).status());
  ++outstanding_;
  return absl::OkStatus();
}

void TcpPart::on_reply(Link& link, FrameReader::Frame& frame) {
  --outstanding_;
  wire::SimpleReply reply;
  if (!accept(frame, reply)) {
    link.writer().drop(id);
    return;
  }
  const absl::Status status = start(link);
  if (!status.ok()) return give_up(&link, status.code(), std::string(status.message()));
  if (outstanding_ == 0) finish_with(absl::StatusCode::kOk, "");
}

void TcpPart::give_up(Link* link, absl::StatusCode code, std::string message) {
  if (link != nullptr) link->writer().drop(id);
  forget_frames(link);
  finish_with(code, std::move(message));
}

}  // namespace larder
