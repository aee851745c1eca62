#include "client/get_shm.h"

#include <algorithm>

#include "store/limits.h"
#include "store/status_macros.h"
#include "transport/wire.pb.h"

namespace larder {

absl::Status ShmGet::start(Link& link) {
  shared_ = &link.shared();
  wire::GetRequest body;
  body.set_ns(request_.ns.value());
  body.set_request(request_.request);
  // A copy is checked here, in the copy; a view, which nobody copies, by the daemon.
  body.set_verify(request_.verify && !request_.copy);
  for (std::size_t n = 0; request_.copy && n < request_.keys.size(); ++n) {
    request_.keys[n].length = static_cast<std::uint32_t>(request_.buffers.length(n));
  }
  const auto array = std::as_bytes(std::span<const Key>(request_.keys));
  absl::StatusOr<std::uint64_t> sent = send_call(
      link,
      {.head = make_head({.type = FrameType::kGet, .id = id, .body = &body, .array = array})});
  if (!sent.ok()) return sent.status();
  frame_ = *sent;
  ++shared_->counters.gets;
  return absl::OkStatus();
}

void ShmGet::on_reply(Link& link, FrameReader::Frame& frame) {
  wire::GetReply reply;
  if (!accept(frame, reply)) return;
  completion_.residence_ns = reply.residence_ns();
  std::vector<wire::GetResult> results;
  if (!wire::parse(frame.array, results) || results.size() != request_.keys.size()) {
    finish_with(absl::StatusCode::kInternal, "the reply has another number of results than keys");
    return;
  }
  hits_.resize(results.size());
  bool any = false;
  for (std::size_t n = 0; n < results.size(); ++n) {
    auto status = static_cast<KeyStatus>(results[n].status);
    leased_ = leased_ || status == KeyStatus::kOk;
    if (status == KeyStatus::kOk) status = locate(link, n, results[n]);
    any = any || status == KeyStatus::kOk;
    if (status != KeyStatus::kOk) hits_[n] = {};
    // A hit is one when its copy is whole.
    if (status != KeyStatus::kOk || !request_.copy) completion_.keys[n] = status;
  }
  if (request_.copy && any) {
    copy_pending_ = true;
    return;
  }
  if (!any && leased_) link.release(frame_);
  if (!any) leased_ = false;
  worked(&link);
}

/// Finds the block of a hit in the mapped slabs and leaves it in hits_.
KeyStatus ShmGet::locate(const Link& link, std::size_t key, const wire::GetResult& result) {
  ShmHit& hit = hits_[key];
  hit.slab = link.slab(SlabId(result.slab));
  hit.result = result;
  if (hit.slab == nullptr) return KeyStatus::kMiss;
  hit.data = hit.slab->at(result.offset, result.length);
  if (hit.data == nullptr) return KeyStatus::kMiss;
  if (request_.copy && result.length != request_.buffers.length(key)) {
    return KeyStatus::kSizeMismatch;
  }
  return KeyStatus::kOk;
}

void ShmGet::work() {
  guard_sigbus();
  for (std::size_t n = 0; n < hits_.size(); ++n) {
    if (hits_[n].data == nullptr) continue;
    completion_.keys[n] =
        abandon.load(std::memory_order_relaxed) ? KeyStatus::kCancelled : copy_key(n);
    hits_[n] = {};
  }
}

KeyStatus ShmGet::copy_key(std::size_t key) {
  const ShmHit& hit = hits_[key];
  Checksum sum;
  if (!copy_pieces(key, request_.verify ? &sum : nullptr)) {
    return abandon.load(std::memory_order_relaxed) ? KeyStatus::kCancelled : KeyStatus::kMiss;
  }
  // The copy's loads come before the generation's: seen unchanged after it, it was unchanged in it.
  std::atomic_thread_fence(std::memory_order_acquire);
  const std::optional<std::uint64_t> generation = hit.slab->generation(hit.result.slot);
  if (generation != hit.result.generation) {
    ++stale_;
    return KeyStatus::kMiss;
  }
  if (request_.verify && sum.value() != hit.result.checksum) {
    ++corrupt_;
    return KeyStatus::kCorrupt;
  }
  completion_.bytes += hit.result.length;
  return KeyStatus::kOk;
}

/// False when the slab's memory went away or the call was given up.
bool ShmGet::copy_pieces(std::size_t key, Checksum* sum) {
  const std::byte* from = hits_[key].data;
  const CopyWay way =
      request_.buffers.bytes() >= kStreamingCopyMin ? CopyWay::kStreaming : CopyWay::kBySize;
  for (const iovec& piece : request_.buffers.pieces(key)) {
    for (std::size_t at = 0; at < piece.iov_len; at += limits::kCopySlice.count) {
      if (abandon.load(std::memory_order_relaxed)) return false;
      const std::size_t n = std::min<std::size_t>(limits::kCopySlice.count, piece.iov_len - at);
      std::byte* to = static_cast<std::byte*>(piece.iov_base) + at;
      const bool copied = sum == nullptr ? copy_guarded(to, from, n, way)
                                         : copy_checksum_guarded(to, from, n, *sum);
      if (!copied) return false;
      from += n;
    }
  }
  return true;
}

void ShmGet::worked(Link* link) {
  copy_pending_ = false;
  if (request_.copy && leased_ && link != nullptr) link->release(frame_);
  Counters& counters = shared_->counters;
  for (const KeyStatus key : completion_.keys) {
    ++(key == KeyStatus::kOk ? counters.hits : counters.misses);
  }
  counters.bytes_in += completion_.bytes;
  counters.stale_generations += stale_;
  counters.checksum_errors += corrupt_;
  finish_with(absl::StatusCode::kOk, "");
}

void ShmGet::give_up(Link* link, absl::StatusCode code, std::string message) {
  forget_frames(link);
  if (link != nullptr && frame_ != 0) {
    // Before its reply: cancel it. After it: the lease is ours to end.
    if (leased_) {
      link->release(frame_);
    } else {
      link->tell_cancel(frame_);
    }
  }
  finish_with(code, std::move(message));
}

}  // namespace larder
