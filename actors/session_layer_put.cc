#include "actors/session_layer_put.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/session_calls.h"
#include "actors/session_limits.h"
#include "actors/session_source.h"
#include "store/limits.h"

namespace larder {

using wire::KeyStatus;

namespace {

/// Where pieces that nobody wants go; never read. A frame's payload fits.
std::byte* scratch() {
  thread_local const auto memory =
      std::make_unique_for_overwrite<std::byte[]>(limits::kFramePayloadMax.count);
  return memory.get();
}

}  // namespace

bool Coverage::add(std::uint64_t begin, std::uint64_t end) {
  if (begin == end) return true;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  if (ranges_.size() >= kRangesMax) return false;
  ranges_[begin] = end;
  return true;
}

bool Coverage::complete(std::uint64_t length) const {
  return ranges_.size() == 1 && ranges_.begin()->first == 0 && ranges_.begin()->second >= length;
}

LayerPutOp::LayerPutOp(Session& session, NamespaceRef ns, std::uint64_t request, std::uint64_t id,
                       Duration deadline)
    : session_(session),
      id_(id),
      deadline_(deadline),
      batch_(session, std::move(ns), request, id) {}

void LayerPutOp::start(std::vector<wire::KeyRecord> records, Time now) {
  progress_ = now;
  coverage_.resize(records.size());
  batch_.ask(std::move(records), now + deadline_);
  if (!batch_.asking()) open();
}

void LayerPutOp::on_answer(ShardCall& call) {
  batch_.on_answer(call);
  if (batch_.asking()) return;
  if (state_ == State::kReserving) open();
  if (state_ == State::kGivenUp) {
    answer_start();
    answer_end();
  }
}

void LayerPutOp::open() {
  state_ = State::kOpen;
  progress_ = session_.now();
  answer_start();
}

void LayerPutOp::answer_start() {
  wire::PutReply body;
  const std::vector<wire::PutResult> results = batch_.results();
  session_.reply(FrameType::kPutStart, id_, body, std::as_bytes(std::span(results)));
}

absl::Status LayerPutOp::check_part(const Part& part, std::uint32_t payload) const {
  if (state_ != State::kOpen) {
    return absl::FailedPreconditionError(fmt::format("put: {} takes no parts now", id_));
  }
  const std::vector<PutItem>& items = batch_.items();
  LARDER_RETURN_IF_ERROR(check_source_order(part.sources, items.size()));
  std::uint64_t streamed = 0;
  for (std::size_t i = 0; i < part.sources.size(); ++i) {
    const wire::PutSource& source = part.sources[i];
    const std::uint64_t length = items[source.key].record.length;
    if (part.offsets[i] > length || source.length > length - part.offsets[i]) {
      return absl::InvalidArgumentError(fmt::format("part {}: {} bytes at {} in a block of {}", i,
                                                    source.length, part.offsets[i], length));
    }
    if (payload > 0 && source.region != wire::PutSource::kStream) {
      return absl::InvalidArgumentError(
          fmt::format("part {}: region {} in a frame with payload, all its parts must be of it", i,
                      source.region));
    }
    if (source.region == wire::PutSource::kStream) streamed += source.length;
  }
  if (streamed != payload) {
    return absl::InvalidArgumentError(
        fmt::format("payload: {} bytes, the parts sum to {}", payload, streamed));
  }
  if (payload > 0) {
    const bool all_streamed = std::all_of(
        part.sources.begin(), part.sources.end(),
        [](const wire::PutSource& source) { return source.region == wire::PutSource::kStream; });
    if (!all_streamed) {
      return absl::InvalidArgumentError("sources: streamed and shared ones in one part");
    }
    // A part that waits may yet give up its block, while bytes are received into it.
    if (!parts_.empty()) {
      return absl::FailedPreconditionError(fmt::format(
          "put: {} parts from shared memory wait; none is streamed meanwhile", parts_.size()));
    }
  }
  if (payload > 0 && part.checksums.size() != part.sources.size()) {
    return absl::InvalidArgumentError(
        fmt::format("checksums: {} for {} parts", part.checksums.size(), part.sources.size()));
  }
  return absl::OkStatus();
}

absl::Status LayerPutOp::add_part(Part part, std::uint32_t payload, Time now) {
  LARDER_RETURN_IF_ERROR(check_part(part, payload));
  progress_ = now;
  if (payload > 0) {
    streamed_ = std::move(part);
    return absl::OkStatus();
  }
  if (parts_.size() >= limits::kSessionBatchesMax) {
    return absl::ResourceExhaustedError(fmt::format("put: {} parts wait, the limit is {}",
                                                    parts_.size(), limits::kSessionBatchesMax));
  }
  part.regions.hold(session_.regions(), part.sources);
  parts_.push_back(std::move(part));
  return absl::OkStatus();
}

// -- parts from the stream
// ---------------------------------------------------------------------------

PayloadSink LayerPutOp::payload_sink(std::span<const std::byte> /*array*/,
                                     std::uint32_t /*payload*/) {
  PayloadSink sink;
  if (!streamed_ || state_ != State::kOpen) return sink;
  for (std::size_t i = 0; i < streamed_->sources.size(); ++i) {
    const wire::PutSource& source = streamed_->sources[i];
    const PutItem& item = batch_.items()[source.key];
    // The joined payload has the bytes of keys that are not wanted all the same.
    const bool wanted = item.status == KeyStatus::kWanted;
    sink.pieces.push_back({wanted ? item.data + streamed_->offsets[i] : scratch(), source.length});
  }
  return sink;
}

void LayerPutOp::on_payload_done(Time now) {
  progress_ = now;
  if (!streamed_) return;
  const Part part = *std::exchange(streamed_, std::nullopt);
  absl::Status status = absl::OkStatus();
  for (std::size_t i = 0; i < part.sources.size() && i < part.checksums.size(); ++i) {
    PutItem& item = batch_.items()[part.sources[i].key];
    if (item.status != KeyStatus::kWanted) continue;
    const std::uint64_t length = part.sources[i].length;
    if (checksum_of(item.data + part.offsets[i], length) != part.checksums[i]) {
      status = absl::DataLossError(fmt::format("part {}: checksum differs", i));
      batch_.drop(item, KeyStatus::kCorrupt);
      continue;
    }
    item.path = wire::PutPath::kStream;
    count(session_.node().metrics.put_stream_bytes, length);
    if (!coverage_[part.sources[i].key].add(part.offsets[i], part.offsets[i] + length)) {
      batch_.drop(item, KeyStatus::kInvalid);
    }
  }
  answer_part(part.id, status);
}

// -- parts from shared memory
// ------------------------------------------------------------------------

bool LayerPutOp::runnable() const {
  return (state_ == State::kOpen && !parts_.empty()) || state_ == State::kSealing;
}

void LayerPutOp::step(Time now, std::size_t& budget) {
  progress_ = now;
  while (state_ == State::kOpen && !parts_.empty() && budget > 0)
    copy_part(budget);
  if (state_ == State::kOpen && parts_.empty() && end_id_ != 0) state_ = State::kSealing;
  if (state_ == State::kSealing) seal_some(budget);
}

void LayerPutOp::copy_part(std::size_t& budget) {
  Part& part = parts_.front();
  if (source_ == part.sources.size()) return finish_part();
  const wire::PutSource& source = part.sources[source_];
  PutItem& item = batch_.items()[source.key];
  if (item.status != KeyStatus::kWanted || source_done_ == source.length) {
    source_ += 1;
    source_done_ = 0;
    return;
  }
  const std::size_t bytes =
      std::min<std::uint64_t>({source.length - source_done_, budget, limits::kCopySlice.count});
  const KeyStatus read =
      read_source(session_, part.regions, source, source_done_,
                  {item.data + part.offsets[source_] + source_done_, bytes}, nullptr);
  if (read != KeyStatus::kOk) {
    part_status_ = absl::InvalidArgumentError(
        fmt::format("part {}: the memory it names cannot be read", source_));
    batch_.drop(item, read);
    return;
  }
  item.path = path_of(source);
  attached_ = attached_ || item.path == wire::PutPath::kAttach;
  source_done_ += bytes;
  budget -= bytes;
  const std::uint64_t begin = part.offsets[source_];
  if (source_done_ == source.length && !coverage_[source.key].add(begin, begin + source.length)) {
    batch_.drop(item, KeyStatus::kInvalid);
  }
}

void LayerPutOp::finish_part() {
  const Part part = std::move(parts_.front());
  parts_.pop_front();
  source_ = 0;
  source_done_ = 0;
  absl::Status status = std::exchange(part_status_, absl::OkStatus());
  const bool alive = !attached_ || session_.peer_process()->alive();
  if (!alive || !session_.control_page()->commit(part.control_word, part.id)) {
    // Given up while it was read: what it wrote into the slots is not what the caller means.
    for (const wire::PutSource& source : part.sources) {
      batch_.drop(batch_.items()[source.key], KeyStatus::kCancelled);
    }
    status = absl::CancelledError("the part was cancelled");
  }
  answer_part(part.id, status);
}

void LayerPutOp::answer_part(std::uint64_t id, const absl::Status& status) {
  wire::SimpleReply body;
  if (!status.ok()) set_status(body.mutable_status(), status);
  session_.reply(FrameType::kPutPart, id, body);
}

// -- the end
// -------------------------------------------------------------------------------------------

void LayerPutOp::end(std::uint64_t id, std::uint32_t control_word, bool abort,
                     std::vector<std::uint64_t> checksums, Time now) {
  checksums_ = std::move(checksums);
  progress_ = now;
  end_id_ = id;
  end_word_ = control_word;
  // One that ends before it was opened has filled nothing.
  if (abort || state_ == State::kReserving) return cancel();
  for (std::size_t i = 0; i < batch_.items().size(); ++i) {
    PutItem& item = batch_.items()[i];
    if (item.status == KeyStatus::kWanted && parts_.empty() &&
        !coverage_[i].complete(item.record.length)) {
      batch_.drop(item, KeyStatus::kInvalid);
    }
  }
  if (parts_.empty()) state_ = State::kSealing;
}

void LayerPutOp::seal_some(std::size_t& budget) {
  while (sealing_ < batch_.items().size()) {
    PutItem& item = batch_.items()[sealing_];
    if (item.status == KeyStatus::kWanted && !coverage_[sealing_].complete(item.record.length)) {
      batch_.drop(item, KeyStatus::kInvalid);
    }
    if (item.status != KeyStatus::kWanted || item.filled == item.record.length) {
      if (item.status == KeyStatus::kWanted && !checksums_.empty() &&
          item.sum.value() != checksums_[sealing_]) {
        batch_.drop(item, KeyStatus::kCorrupt);
      }
      sealing_ += 1;
      continue;
    }
    if (budget == 0) return;
    const std::size_t bytes = std::min<std::uint64_t>(budget, item.record.length - item.filled);
    item.sum.update(item.data + item.filled, bytes);
    item.filled += bytes;
    budget -= bytes;
    count(session_.node().metrics.put_bytes, bytes);
  }
  if (session_.shm() && !session_.control_page()->commit(end_word_, end_id_)) return cancel();
  batch_.publish();
  answer_end();
}

void LayerPutOp::answer_end() {
  if (state_ == State::kDone) return;
  state_ = State::kDone;
  batch_.count_results();
  if (end_id_ == 0) return;
  wire::PutReply body;
  const std::vector<wire::PutResult> results = batch_.results();
  session_.reply(FrameType::kPutEnd, end_id_, body, std::as_bytes(std::span(results)));
}

void LayerPutOp::on_time(Time now) {
  if (now - progress_ >= deadline_) cancel();
}

void LayerPutOp::cancel() {
  if (state_ == State::kGivenUp || state_ == State::kDone) return;
  const absl::Status why = absl::CancelledError("the put was cancelled");
  batch_.take_back(KeyStatus::kCancelled);
  for (const Part& part : parts_)
    answer_part(part.id, why);
  parts_.clear();
  if (streamed_) answer_part(streamed_->id, why);
  streamed_.reset();
  if (state_ == State::kReserving) {
    state_ = State::kGivenUp;  // shards have yet to answer, and this their answers
    return;
  }
  answer_end();
}

}  // namespace larder
