#include "client/get_shm.h"

#include <algorithm>

#include "store/limits.h"

namespace larder {

void ShmGet::on_reply(Link& link, FrameReader::Frame& frame) {
  const std::vector<wire::GetResult> results = read_results(frame);
  if (finished()) return;
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
  if (request_.verify && sum.value() != hit.result.checksum) return corrupt(key);
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
  shared_->counters.stale_generations += stale_;
  end(link);
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
