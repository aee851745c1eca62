#include "client/get_tcp.h"

namespace larder {

void TcpGet::on_reply(Link& link, FrameReader::Frame& frame) {
  const std::vector<wire::GetResult> results = read_results(frame);
  if (finished()) return;
  link.expect(frame_, shared_from_this());  // the data carries the same id
  progress_.resize(results.size());
  for (std::size_t n = 0; n < results.size(); ++n) {
    auto status = static_cast<KeyStatus>(results[n].status);
    if (status == KeyStatus::kOk && results[n].length != request_.buffers.length(n)) {
      status = KeyStatus::kSizeMismatch;  // its chunks are discarded
    }
    if (status != KeyStatus::kOk) {
      completion_.keys[n] = status;
      continue;
    }
    progress_[n].open = true;
    progress_[n].length = results[n].length;
    progress_[n].checksum = results[n].checksum;
    ++open_;
  }
  end_if_complete(link);
}

void TcpGet::on_data(Link& link, FrameReader::Frame& frame) {
  if (frame.array.size() != sizeof chunk_) return fail_stream(link);
  std::memcpy(&chunk_, frame.array.data(), sizeof chunk_);
  chunk_bytes_ = frame.header.payload;
  if (chunk_.key >= progress_.size()) return fail_stream(link);
  const Progress& key = progress_[chunk_.key];
  if (!key.open) return;  // of a key that is a miss by now: discarded
  if (chunk_.offset != key.received || chunk_bytes_ > key.length - key.received) {
    return fail_stream(link);
  }
  if (chunk_.offset > 0 && chunk_.key != current_) return fail_stream(link);
  if (chunk_.offset == 0) sum_.reset();
  current_ = chunk_.key;
  if (chunk_bytes_ == 0) {
    if (chunk_.last != 0 && key.received < key.length) close_key(chunk_.key, KeyStatus::kMiss);
    return end_if_complete(link);
  }
  absl::InlinedVector<iovec, 16> pieces;
  request_.buffers.slice(chunk_.key, chunk_.offset, chunk_bytes_, pieces);
  link.reader().receive_payload({pieces.data(), pieces.size()}, &sum_);
}

void TcpGet::on_payload(Link& link) {
  if (chunk_.key >= progress_.size() || !progress_[chunk_.key].open) return;
  take(chunk_.key, chunk_bytes_);
  end_if_complete(link);
}

void TcpGet::take(std::size_t n, std::uint64_t length) {
  Progress& key = progress_[n];
  key.received += length;
  if (key.received < key.length) {
    if (chunk_.last != 0) close_key(n, KeyStatus::kMiss);
    return;
  }
  const bool good = sum_.value() == key.checksum;
  if (good) completion_.bytes += key.length;
  close_key(n, good ? KeyStatus::kOk : corrupt(n));
}

void TcpGet::close_key(std::size_t key, KeyStatus status) {
  progress_[key].open = false;
  completion_.keys[key] = status;
  --open_;
}

void TcpGet::end_if_complete(Link& link) {
  if (open_ == 0) end(&link);
}

/// The daemon's chunks do not add up: nothing it says about this get can be believed.
void TcpGet::fail_stream(Link& link) {
  give_up(&link, absl::StatusCode::kInternal, "a data frame does not belong where it says");
}

void TcpGet::give_up(Link* link, absl::StatusCode code, std::string message) {
  forget_frames(link);
  if (link != nullptr && frame_ != 0) link->tell_cancel(frame_);
  finish_with(code, std::move(message));
}

}  // namespace larder
