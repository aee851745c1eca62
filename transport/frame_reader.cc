#include "transport/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "store/assert.h"
#include "store/limits.h"

namespace larder {
namespace {

constexpr std::size_t kBufferMin = 16 << 10;
/// A buffer above this is given back when it is empty.
constexpr std::size_t kBufferKept = 256 << 10;
/// Room for the next frame's head when a payload is received: what lands there of the next payload
/// is copied once more, so it is small.
constexpr std::size_t kTail = 2 << 10;
constexpr std::size_t kScratch = 64 << 10;
/// Descriptors that came before the frames that announce them.
constexpr std::size_t kPendingFdsMax = 16;

/// Where discarded payload goes; never read.
std::byte* scratch() {
  thread_local std::unique_ptr<std::byte[]> memory =
      std::make_unique_for_overwrite<std::byte[]>(kScratch);
  return memory.get();
}

}  // namespace

FrameReader::FrameReader() {
  resize(kBufferMin);
}

FrameReader::Result FrameReader::fail(absl::Status status) {
  state_ = State::kFailed;
  failure_ = std::move(status);
  discard_payload();
  return {Event::kFailed, failure_};
}

FrameReader::Result FrameReader::read(ByteStream& stream, std::size_t& budget) {
  Result result;
  while (!parse(result)) {
    if (budget == 0) return {Event::kBudget, {}};
    if (!fill(stream, budget, result)) return result;
  }
  return result;
}

/// True when `result` is an event that comes from bytes already here.
bool FrameReader::parse(Result& result) {
  switch (state_) {
    case State::kHeader:
      return parse_header(result);
    case State::kHead:
      return parse_head(result);
    case State::kSkippedHead:
      return skip_head(result);
    case State::kPayload:
      take_buffered_payload();
      if (payload_left_ > 0) return false;
      state_ = State::kHeader;
      discard_payload();
      result.event = Event::kPayloadDone;
      return true;
    case State::kFailed:
      result = {Event::kFailed, failure_};
      return true;
  }
  return false;
}

bool FrameReader::parse_header(Result& result) {
  if (buffered_bytes() < kFrameHeaderBytes) return false;
  const absl::StatusOr<FrameHeader> header = decode(
      std::span<const std::byte, kFrameHeaderBytes>(buffer_.get() + begin_, kFrameHeaderBytes));
  if (!header.ok()) {
    result = fail(header.status());
    return true;
  }
  begin_ += kFrameHeaderBytes;
  frame_.header = *header;
  state_ = State::kHead;
  return parse_head(result);
}

bool FrameReader::parse_head(Result& result) {
  const FrameHeader& header = frame_.header;
  const std::size_t head = std::size_t{header.body} + header.array;
  if (buffered_bytes() < head) return false;
  frame_.body = {buffer_.get() + begin_, header.body};
  frame_.array = {buffer_.get() + begin_ + header.body, header.array};
  frame_.discarded = false;
  begin_ += head;
  return finish_head(result);
}

void FrameReader::discard_head() {
  LARDER_ASSERT(in_head());
  skip_left_ = std::size_t{frame_.header.body} + frame_.header.array;
  state_ = State::kSkippedHead;
  skip_buffered();
  trim();
}

void FrameReader::skip_buffered() {
  const std::size_t bytes = std::min(skip_left_, buffered_bytes());
  begin_ += bytes;
  skip_left_ -= bytes;
}

bool FrameReader::skip_head(Result& result) {
  skip_buffered();
  if (skip_left_ > 0) return false;
  frame_.body = frame_.array = {};
  frame_.discarded = true;
  return finish_head(result);
}

/// Body and array are dealt with.
bool FrameReader::finish_head(Result& result) {
  const FrameHeader& header = frame_.header;
  const auto wanted = static_cast<std::size_t>(header.fds());
  if (pending_fds_.size() < wanted) {
    result = fail(absl::InvalidArgumentError(fmt::format(
        "frame header: {} descriptors announced, {} came", wanted, pending_fds_.size())));
    return true;
  }
  frame_.fds.clear();
  for (std::size_t n = 0; n < wanted; ++n)
    frame_.fds.push_back(std::move(pending_fds_[n]));
  pending_fds_.erase(pending_fds_.begin(),
                     pending_fds_.begin() + static_cast<std::ptrdiff_t>(wanted));
  payload_left_ = header.payload;
  discard_payload();
  state_ = payload_left_ > 0 ? State::kPayload : State::kHeader;
  result.event = Event::kFrame;
  return true;
}

void FrameReader::receive_payload(std::span<const iovec> pieces, Checksum* sum, CopyWay way) {
  LARDER_ASSERT(state_ == State::kPayload);
  std::size_t total = 0;
  for (const iovec& piece : pieces)
    total += piece.iov_len;
  LARDER_ASSERT(total <= payload_left_);
  sink_.assign(pieces.begin(), pieces.end());
  sink_next_ = 0;
  sum_ = sum;
  way_ = way;
}

void FrameReader::discard_payload() {
  sink_.clear();
  sink_next_ = 0;
  sum_ = nullptr;
}

/// What comes next goes by the bounce memory: the owner wants it past the caches, and all that is
/// to come has a place.
bool FrameReader::bounces() const {
  const bool streams = sum_ != nullptr && way_ == CopyWay::kStreaming;
  if (state_ != State::kPayload || !streams || payload_left_ < kStreamingSumMin) return false;
  std::size_t placed = 0;
  for (std::size_t n = sink_next_; n < sink_.size(); ++n)
    placed += sink_[n].iov_len;
  return placed == payload_left_;
}

/// Moves the sink on by bytes that have been received into it.
void FrameReader::place(std::size_t bytes) {
  payload_left_ -= bytes;
  while (bytes > 0 && sink_next_ < sink_.size()) {
    iovec& piece = sink_[sink_next_];
    const std::size_t n = std::min(bytes, piece.iov_len);
    piece.iov_base = static_cast<std::byte*>(piece.iov_base) + n;
    piece.iov_len -= n;
    bytes -= n;
    if (piece.iov_len == 0) ++sink_next_;
  }
}

void FrameReader::take_buffered_payload() {
  const std::size_t bytes = std::min(payload_left_, buffered_bytes());
  take_payload(buffer_.get() + begin_, bytes);
  begin_ += bytes;
}

/// Of bytes that have been received into their places.
void FrameReader::add_to_sum(std::size_t bytes) {
  if (sum_ == nullptr) return;
  for (std::size_t n = sink_next_; n < sink_.size() && bytes > 0; ++n) {
    const std::size_t placed = std::min(bytes, sink_[n].iov_len);
    sum_->update(sink_[n].iov_base, placed);
    bytes -= placed;
  }
}

/// Of bytes that came to another place than theirs.
void FrameReader::take_payload(const std::byte* from, std::size_t bytes) {
  while (bytes > 0) {
    std::size_t n = bytes;
    while (sink_next_ < sink_.size() && sink_[sink_next_].iov_len == 0)
      ++sink_next_;
    if (sink_next_ < sink_.size()) {
      n = std::min(n, sink_[sink_next_].iov_len);
      void* const to = sink_[sink_next_].iov_base;
      if (sum_ != nullptr && way_ == CopyWay::kStreaming && n >= kStreamingSumMin) {
        copy_streaming_sum(to, from, n, *sum_);
      } else {
        std::memcpy(to, from, n);
        if (sum_ != nullptr) sum_->update(to, n);
      }
    }
    from += n;
    bytes -= n;
    place(n);
  }
}

void FrameReader::trim() {
  if (buffered()) return;
  begin_ = end_ = 0;
  if (capacity_ <= kBufferKept) return;
  frame_.body = frame_.array = {};
  resize(kBufferMin);
}

void FrameReader::make_room() {
  trim();
  const std::size_t used = buffered_bytes();
  if (capacity_ - end_ >= kTail) return;
  if (used <= capacity_ / 2) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, used);
  } else {
    // Megabytes are moved by their page tables. No more than the frame under way needs.
    const FrameHeader& header = frame_.header;
    const std::size_t needed = begin_ + header.body + header.array + kTail;
    return resize(in_head() ? std::min(capacity_ * 2, needed) : capacity_ * 2);
  }
  begin_ = 0;
  end_ = used;
}

void FrameReader::resize(std::size_t bytes) {
  void* moved = std::realloc(buffer_.get(), bytes);
  if (moved == nullptr) throw std::bad_alloc();
  (void)buffer_.release();
  buffer_.reset(static_cast<std::byte*>(moved));
  capacity_ = bytes;
}

/// Where the next bytes go: the payload's place first, then the buffer. Returns the bytes that are
/// payload.
std::size_t FrameReader::gather(absl::InlinedVector<iovec, 8>& pieces) {
  std::size_t direct = 0;
  if (state_ == State::kPayload) gather_payload(pieces, direct);
  if (state_ == State::kPayload && direct < payload_left_) return direct;
  const std::size_t room = capacity_ - end_;
  pieces.push_back({buffer_.get() + end_, direct > 0 ? std::min(room, kTail) : room});
  return direct;
}

void FrameReader::gather_payload(absl::InlinedVector<iovec, 8>& pieces, std::size_t& direct) {
  if (bounces()) {
    direct = std::min(payload_left_, kBounceBytes);
    pieces.push_back({bounce_memory(), direct});
    return;
  }
  for (std::size_t n = sink_next_; n < sink_.size() && pieces.size() < 64; ++n) {
    if (sink_[n].iov_len == 0) continue;
    pieces.push_back(sink_[n]);
    direct += sink_[n].iov_len;
  }
  const bool whole_sink = pieces.size() < 64;
  // Scratch may stand several times in one call: what lands there is never looked at.
  while (whole_sink && direct < payload_left_ && pieces.size() < 64) {
    const std::size_t n = std::min(payload_left_ - direct, kScratch);
    pieces.push_back({scratch(), n});
    direct += n;
  }
}

bool FrameReader::fill(ByteStream& stream, std::size_t& budget, Result& result) {
  make_room();
  absl::InlinedVector<iovec, 8> pieces;
  const bool bounced = bounces();
  const std::size_t direct = gather(pieces);
  const IoResult got = stream.receive({pieces.data(), pieces.size()}, pending_fds_);
  if (pending_fds_.size() > kPendingFdsMax) {
    result = fail(absl::InvalidArgumentError(
        fmt::format("{} descriptors came that no frame announced, the limit is {}",
                    pending_fds_.size(), kPendingFdsMax)));
    return false;
  }
  switch (got.state) {
    case IoState::kDone: {
      const std::size_t payload = std::min(direct, got.bytes);
      if (bounced) {
        take_payload(bounce_memory(), payload);
      } else {
        add_to_sum(payload);
        place(payload);
      }
      end_ += got.bytes - payload;
      budget -= std::min(budget, got.bytes);
      return true;
    }
    case IoState::kBlocked:
      result = {Event::kBlocked, {}};
      return false;
    case IoState::kClosed:
      if (state_ == State::kHeader && buffered_bytes() == 0) {
        result = {Event::kClosed, {}};
      } else {
        result = fail(absl::UnavailableError("the stream ended inside a frame"));
      }
      return false;
    case IoState::kFailed:
      result = fail(stream.trouble().empty()
                        ? errno_status(absl::StatusCode::kUnavailable, "receive", got.error)
                        : absl::UnavailableError(stream.trouble()));
      return false;
  }
  return false;
}

}  // namespace larder
