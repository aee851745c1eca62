#include "client/put_shm.h"

#include <algorithm>

#include "client/call.h"
#include "client/clock.h"
#include "client/milliseconds.h"
#include "store/limits.h"
#include "store/status_macros.h"
#include "transport/guarded_copy.h"
#include "transport/wire.pb.h"

namespace larder {
namespace {

/// Two batches fit the staging memory: one is read while the next is filled.
constexpr std::uint64_t kBatchStagedMax = Staging::kBytesMax / 2;

}  // namespace

absl::Status ShmPut::start(Link& link) {
  shared_ = &link.shared();
  ++shared_->counters.puts;
  link.forget_refusals();
  plan(link);
  next_batch(link);
  return absl::OkStatus();
}

/// Chooses each piece's source, and cuts the keys into batches that can be staged.
void ShmPut::plan(Link& link) {
  const bool attach = link.terms.attach && shared_->allow_attach;
  Batch batch;
  for (std::size_t n = 0; n < request_.buffers.keys(); ++n) {
    first_piece_.push_back(sources_.size());
    for (const iovec& piece : request_.buffers.pieces(n)) {
      Source source;
      if (const auto place = shared_->regions.find(piece.iov_base, piece.iov_len)) {
        source.region = place->region;
        source.address = place->offset;
      } else if (attach) {
        source.region = wire::PutSource::kAttach;
        source.address = reinterpret_cast<std::uintptr_t>(piece.iov_base);
      } else {
        source.staged = true;
      }
      sources_.push_back(source);
    }
    const std::uint64_t staged = staged_bytes(n);
    if (batch.staged > 0 && batch.staged + staged > kBatchStagedMax) {
      batches_.push_back(batch);
      batch = {.begin = n, .end = n, .staged = 0};
    }
    batch.staged += staged;
    batch.end = n + 1;
  }
  batches_.push_back(batch);
}

std::uint64_t ShmPut::staged_bytes(std::size_t key) const {
  std::uint64_t bytes = 0;
  const std::span<const iovec> pieces = request_.buffers.pieces(key);
  for (std::size_t n = 0; n < pieces.size(); ++n) {
    if (sources_[first_piece_[key] + n].staged) bytes += pieces[n].iov_len;
  }
  return bytes;
}

void ShmPut::next_batch(Link& link) {
  step_ = Step::kPlanned;
  if (batch_ == batches_.size()) return end();
  absl::Status status;
  if (batches_[batch_].staged == 0) {
    status = send_batch(link);
  } else {
    status = find_staging(link);
  }
  if (status.ok()) return;
  drop_staging(&link);
  finish_with(status.code(), std::string(status.message()));
}

absl::Status ShmPut::find_staging(Link& link) {
  const std::uint64_t bytes = batches_[batch_].staged;
  const bool own = bytes > Staging::kBytesMax;
  if (!own) LARDER_RETURN_IF_ERROR(shared_->staging.ensure(shared_->regions));
  if (own && own_region_.base == nullptr) {
    LARDER_ASSIGN_OR_RETURN(own_region_, shared_->regions.make({bytes}));
  }
  const Region& region = own ? own_region_ : shared_->staging.region();
  LARDER_ASSIGN_OR_RETURN(const bool mapped, link.map_region(region));
  if (own) held_.own_region = region.number;
  if (!mapped) return stall(link);
  if (!own) {
    const std::optional<std::uint64_t> offset = shared_->staging.allocate(bytes);
    if (!offset) return stall(link);
    held_.staged_offset = *offset;
    held_.staged_bytes = bytes;
  }
  staging_base_ = region.base;
  staging_region_ = region.number;
  step_ = Step::kStaging;
  return absl::OkStatus();
}

absl::Status ShmPut::stall(Link& link) {
  step_ = Step::kStalled;
  link.stalled.push_back(shared_from_this());
  return absl::OkStatus();
}

void ShmPut::resume(Link& link) {
  if (step_ == Step::kStalled && !finished()) next_batch(link);
}

void ShmPut::work() {
  guard_sigbus();
  std::uint64_t at = held_.staged_offset;
  for (std::size_t key = batches_[batch_].begin; key < batches_[batch_].end; ++key) {
    if (!abandon.load(std::memory_order_relaxed)) stage_key(key, at);
  }
}

void ShmPut::stage_key(std::size_t key, std::uint64_t& at) {
  const std::span<const iovec> pieces = request_.buffers.pieces(key);
  for (std::size_t n = 0; n < pieces.size(); ++n) {
    Source& source = sources_[first_piece_[key] + n];
    if (!source.staged) continue;
    if (!copy_guarded(staging_base_ + at, pieces[n].iov_base, pieces[n].iov_len)) {
      completion_.keys[key] = KeyStatus::kFault;
      return;
    }
    source.region = staging_region_;
    source.address = at;
    at += pieces[n].iov_len;
  }
}

void ShmPut::worked(Link* link) {
  step_ = Step::kPlanned;
  if (link == nullptr) {
    drop_staging(nullptr);
    return finish_with(absl::StatusCode::kUnavailable, "the connection to larderd was lost");
  }
  const absl::Status status = send_batch(*link);
  if (!status.ok()) finish_with(status.code(), std::string(status.message()));
}

absl::Status ShmPut::send_batch(Link& link) {
  sent_keys_.clear();
  for (std::size_t key = batches_[batch_].begin; key < batches_[batch_].end; ++key) {
    if (completion_.keys[key] != KeyStatus::kFault) {
      sent_keys_.push_back(static_cast<std::uint32_t>(key));
    }
  }
  const std::optional<std::uint32_t> word = link.take_word();
  if (!word) {
    link.give_back(std::exchange(held_, {}));
    return absl::ResourceExhaustedError("all control words are in use");
  }
  held_.word = *word;
  held_.has_word = true;
  const absl::Status status = send_frame(link, *word);
  if (!status.ok()) link.give_back(std::exchange(held_, {}));
  return status;
}

absl::Status ShmPut::send_frame(Link& link, std::uint32_t word) {
  const std::vector<wire::PutSource> sources = sources_of_batch();
  std::vector<std::byte> head = make_frame(word, sources);
  const std::uint64_t next = next_frame_id(link);
  link.page().activate(word, next);
  LARDER_RETURN_IF_ERROR(send_call(link, {.head = std::move(head)}, next));
  answer_due = monotonic_now() + shared_->pace.expected(sent_bytes());
  frame_ = next;
  step_ = Step::kSent;
  return absl::OkStatus();
}

std::uint64_t ShmPut::sent_bytes() const {
  std::uint64_t bytes = 0;
  for (const std::uint32_t key : sent_keys_)
    bytes += request_.buffers.length(key);
  return bytes;
}

std::vector<wire::PutSource> ShmPut::sources_of_batch() {
  std::vector<wire::PutSource> out;
  for (std::uint32_t n = 0; n < sent_keys_.size(); ++n) {
    const std::uint32_t key = sent_keys_[n];
    const std::span<const iovec> pieces = request_.buffers.pieces(key);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const Source& source = sources_[first_piece_[key] + i];
      out.push_back({.key = request_.part_of == 0 ? n : request_.part_keys[key],
                     .region = source.region,
                     .address = source.address,
                     .length = pieces[i].iov_len});
    }
  }
  return out;
}

std::vector<std::byte> ShmPut::make_frame(std::uint32_t word,
                                          const std::vector<wire::PutSource>& sources) const {
  std::vector<std::byte> array;
  if (request_.part_of != 0) {
    wire::PutPartRequest body;
    body.set_put(request_.part_of);
    body.set_control_word(word);
    body.set_sources(static_cast<std::uint32_t>(sources.size()));
    std::vector<std::uint64_t> offsets;
    for (const std::uint32_t key : sent_keys_) {
      std::uint64_t offset = request_.part_offsets[key];
      for (const iovec& piece : request_.buffers.pieces(key)) {
        offsets.push_back(offset);
        offset += piece.iov_len;
      }
    }
    wire::append(array, std::span<const wire::PutSource>(sources));
    wire::append(array, std::span<const std::uint64_t>(offsets));
    return make_head({.type = FrameType::kPutPart, .id = 0, .body = &body, .array = array});
  }
  wire::PutRequest body;
  body.set_ns(request_.ns.value());
  body.set_request(request_.request);
  body.set_control_word(word);
  body.set_deadline_ms(to_ms(deadline()));
  body.set_sources(static_cast<std::uint32_t>(sources.size()));
  std::vector<Key> keys;
  for (const std::uint32_t key : sent_keys_)
    keys.push_back(request_.keys[key]);
  wire::append(array, std::span<const Key>(keys));
  wire::append(array, std::span<const wire::PutSource>(sources));
  return make_head({.type = FrameType::kPut, .id = 0, .body = &body, .array = array});
}

bool ShmPut::read_reply(const FrameReader::Frame& frame) {
  wire::PutReply reply;
  if (!accept(frame, reply)) return false;
  completion_.residence_ns += reply.residence_ns();
  std::vector<KeyStatus> results(sent_keys_.size(), KeyStatus::kOk);
  if (request_.part_of == 0 && !read_put_results(frame.array, results)) {
    finish_with(absl::StatusCode::kInternal, "the reply has another number of results than keys");
    return false;
  }
  std::uint64_t copied = 0;
  for (std::size_t n = 0; n < results.size(); ++n) {
    completion_.keys[sent_keys_[n]] = results[n];
    if (results[n] == KeyStatus::kOk) copied += request_.buffers.length(sent_keys_[n]);
  }
  completion_.bytes += copied;
  // Of blocks that were there already nothing is learnt.
  if (copied == sent_bytes()) shared_->pace.learn(copied, Duration(reply.residence_ns()));
  return true;
}

void ShmPut::on_reply(Link& link, FrameReader::Frame& frame) {
  link.give_back(std::exchange(held_, {}));
  own_region_ = {};
  if (!read_reply(frame)) return;
  ++batch_;
  if (committed_ && batch_ < batches_.size()) {
    return finish_with(absl::StatusCode::kCancelled, "given up between two batches");
  }
  next_batch(link);
}

void ShmPut::end() {
  shared_->counters.bytes_out += completion_.bytes;
  finish_with(absl::StatusCode::kOk, "");
}

/// Gives back what a batch that was not sent holds.
void ShmPut::drop_staging(Link* link) {
  const Link::Held held = std::exchange(held_, {});
  if (link != nullptr) {
    link->give_back(held);
  } else if (held.staged_bytes > 0) {
    shared_->staging.free(held.staged_offset, held.staged_bytes);
  }
  own_region_ = {};
}

void ShmPut::give_up(Link* link, absl::StatusCode code, std::string message) {
  if (link == nullptr || step_ != Step::kSent) {
    if (shared_ != nullptr) drop_staging(link);
    forget_frames(link);
    return finish_with(code, std::move(message));
  }
  const Verdict verdict = give_up_word(*link, held_, frame_, committed_, code);
  if (verdict == Verdict::kWait) return;
  forget_frames(link);
  link->bury(frame_, std::exchange(held_, {}));
  if (verdict == Verdict::kAnswerLost) return finish_unanswered(code, kCommittedAnswerLost);
  link->tell_cancel(frame_);
  finish_with(code, std::move(message));
}

}  // namespace larder
