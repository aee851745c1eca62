#include "actors/session_put_op.h"

#include <algorithm>
#include <utility>

#include "actors/clock.h"
#include "actors/session_limits.h"
#include "actors/session_source.h"
#include "store/crash_point.h"
#include "store/limits.h"
#include "transport/wire.pb.h"

namespace larder {

using wire::KeyStatus;

PutOp::PutOp(Session& session, NamespaceRef ns, std::uint64_t request, PutOpOptions options)
    : session_(session),
      options_(std::move(options)),
      batch_(session, std::move(ns), request, options_.id) {
  inline_data_.resize(options_.inline_bytes);
  regions_.hold(session_.regions(), options_.sources);
}

void PutOp::start(std::vector<wire::KeyRecord> records, Time now) {
  progress_ = now;
  began_ = session_.ready();
  const bool inline_bytes = options_.input == PutInput::kInline;
  batch_.ask(std::move(records), now + options_.deadline, inline_bytes ? Bytes{0} : kLentBytes);
  if (!batch_.asking()) return begin_filling();
  if (options_.input == PutInput::kStream && batch_.fillable()) tell_wanted();
}

void PutOp::on_answer(ShardCall& call) {
  batch_.on_answer(call);
  if (batch_.asking()) return;
  if (state_ == State::kReserving) begin_filling();
  if (state_ == State::kGivenUp) answer();
}

void PutOp::begin_filling() {
  state_ = State::kFilling;
  progress_ = session_.now();
  if (options_.input == PutInput::kStream) tell_wanted();
  if (options_.input == PutInput::kInline && inline_here_) take_inline();
  if (state_ == State::kFilling && all_in()) commit();
}

/// Once: as soon as there is a slot for every key that is not there.
void PutOp::tell_wanted() {
  if (std::exchange(told_wanted_, true)) return;
  const std::vector<wire::PutResult> wanted = batch_.results();
  wire::SimpleReply body;
  session_.reply(FrameType::kPutData, options_.id, body, std::as_bytes(std::span(wanted)));
}

bool PutOp::filling() const {
  return state_ == State::kFilling || state_ == State::kReserving;
}

bool PutOp::runnable() const {
  if (options_.input != PutInput::kShared || !filling()) return false;
  return state_ == State::kFilling || next_wanted() != nullptr;
}

/// The next key to be copied, if it has a slot.
const PutItem* PutOp::next_wanted() const {
  const std::vector<PutItem>& items = batch_.items();
  for (std::size_t key = key_; key < items.size(); ++key) {
    const PutItem& item = items[key];
    if (item.status != KeyStatus::kWanted || item.filled == item.record.length) continue;
    return item.data != nullptr ? &item : nullptr;
  }
  return nullptr;
}

void PutOp::step(Time now, std::size_t& budget) {
  if (!runnable()) return;
  progress_ = now;
  copy_some(budget);
  if (state_ == State::kFilling && all_in()) commit();
}

bool PutOp::all_in() const {
  if (options_.input == PutInput::kInline && !inline_here_) return false;
  const std::vector<PutItem>& items = batch_.items();
  return std::all_of(items.begin(), items.end(), [](const PutItem& item) {
    return item.status != KeyStatus::kWanted || item.filled == item.record.length;
  });
}

// -- shared memory
// ---------------------------------------------------------------------------------

void PutOp::next_key() {
  key_ += 1;
  source_done_ = 0;
  while (source_ < options_.sources.size() && options_.sources[source_].key < key_)
    source_ += 1;
}

void PutOp::copy_some(std::size_t& budget) {
  while (key_ < batch_.items().size() && budget > 0) {
    PutItem& item = batch_.items()[key_];
    if (item.status != KeyStatus::kWanted || item.filled == item.record.length) {
      next_key();
      continue;
    }
    if (item.data == nullptr) return;  // its shard has not answered
    if (source_ == options_.sources.size() || options_.sources[source_].key != key_) {
      batch_.drop(item, KeyStatus::kInvalid);  // its pieces do not reach its length
      continue;
    }
    const wire::PutSource& source = options_.sources[source_];
    if (source.length > item.record.length - item.filled + source_done_) {
      batch_.drop(item, KeyStatus::kInvalid);
      continue;
    }
    const std::size_t bytes =
        std::min<std::uint64_t>({source.length - source_done_, budget, limits::kCopySlice.count});
    if (bytes > 0) {
      const KeyStatus read = read_source(session_, regions_, source, source_done_,
                                         {item.data + item.filled, bytes}, &item.sum);
      if (read != KeyStatus::kOk) {
        batch_.drop(item, read);
        continue;
      }
    }
    item.path = path_of(source);
    attached_ = attached_ || item.path == wire::PutPath::kAttach;
    item.filled += bytes;
    source_done_ += bytes;
    budget -= std::min(budget, bytes);
    count(session_.node().metrics.put_bytes, bytes);
    if (source_done_ == source.length) {
      source_ += 1;
      source_done_ = 0;
    }
  }
}

// -- bytes in the frame, or on the stream
// ------------------------------------------------------------

PayloadPieces PutOp::inline_sink() {
  return {iovec{inline_data_.data(), inline_data_.size()}};
}

void PutOp::take_inline() {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < batch_.items().size(); ++i) {
    PutItem& item = batch_.items()[i];
    if (item.status == KeyStatus::kWanted) {
      crash_point("copy");
      std::memcpy(item.data, inline_data_.data() + offset, item.record.length);
      item.sum.update(item.data, item.record.length);
      item.filled = item.record.length;
      item.path = wire::PutPath::kStream;
      if (item.sum.value() != options_.inline_checksums[i]) batch_.drop(item, KeyStatus::kCorrupt);
    }
    offset += item.record.length;
  }
  count(session_.node().metrics.put_bytes, offset);
  count(session_.node().metrics.put_stream_bytes, offset);
}

PayloadSink PutOp::payload_sink(std::span<const std::byte> array, std::uint32_t payload) {
  chunk_.reset();
  chunk_bytes_ = payload;
  std::vector<wire::ChunkRecord> chunks;
  if (!filling() || !told_wanted_ || options_.input != PutInput::kStream) return {};
  if (!wire::parse(array, chunks) || chunks.size() != 1 || chunks[0].key >= batch_.items().size()) {
    give_up(KeyStatus::kInvalid);  // nobody can say whose bytes these are
    return {};
  }
  PutItem& item = batch_.items()[chunks[0].key];
  if (item.status != KeyStatus::kWanted) return {};
  // Chunks come in order of offset: a gap or an overlap would leave bytes of somebody else.
  if (chunks[0].offset != item.filled || payload > item.record.length - item.filled) {
    batch_.drop(item, KeyStatus::kInvalid);
    return {};
  }
  chunk_ = chunks[0];
  return {.pieces = {iovec{item.data + item.filled, payload}}, .sum = &item.sum};
}

void PutOp::on_payload_done(Time now) {
  progress_ = now;
  if (options_.input == PutInput::kInline) {
    inline_here_ = true;
    if (state_ == State::kFilling) {
      take_inline();
      commit();
    }
    return;
  }
  taken_ += chunk_bytes_;  // also what nobody wants any more: its credits come back
  if (chunk_) finish_chunk();
  acknowledge(false);
  if (state_ == State::kFilling && all_in()) commit();
}

void PutOp::finish_chunk() {
  PutItem& item = batch_.items()[chunk_->key];
  if (item.status != KeyStatus::kWanted) return chunk_.reset();  // decided while it came
  item.filled += chunk_bytes_;
  item.path = wire::PutPath::kStream;
  count(session_.node().metrics.put_bytes, chunk_bytes_);
  count(session_.node().metrics.put_stream_bytes, chunk_bytes_);
  const bool complete = item.filled == item.record.length;
  if (complete != (chunk_->last != 0)) {
    batch_.drop(item, KeyStatus::kInvalid);
  } else if (complete && item.sum.value() != chunk_->checksum) {
    batch_.drop(item, KeyStatus::kCorrupt);
  }
  chunk_.reset();
}

void PutOp::acknowledge(bool force) {
  if (!force && taken_ - acknowledged_ < kStreamCredits / 2) return;
  acknowledged_ = taken_;
  wire::SimpleReply body;
  body.set_count(taken_);
  session_.reply(FrameType::kPutData, options_.id, body);
}

// -- the end
// -----------------------------------------------------------------------------------------

void PutOp::commit() {
  if (options_.input == PutInput::kShared) {
    // After the copy and before publication: the process that told us the addresses must be the one
    // we read, and must not have given up.
    const bool alive = !attached_ || session_.peer_process()->alive();
    if (!alive || !session_.control_page()->commit(options_.control_word, options_.id)) {
      cancel();
      return;
    }
  }
  batch_.publish();
  answer();
}

void PutOp::answer() {
  if (state_ == State::kAnswered) return;
  state_ = State::kAnswered;
  const Duration residence = larder::now() - began_;  // the turn's last slice included
  wire::PutReply body;
  body.set_residence_ns(static_cast<std::uint64_t>(residence.count()));
  batch_.count_results();
  const std::vector<wire::PutResult> results = batch_.results();
  session_.reply(FrameType::kPut, options_.id, body, std::as_bytes(std::span(results)));
  session_.add_time(Operation::kPut, residence);
}

void PutOp::on_time(Time now) {
  // Slots that wait for a client's bytes are held as long as a lease, whatever deadline it names.
  const Duration lease = std::chrono::milliseconds(session_.node().config().lease_ms);
  const bool asked_for = told_wanted_ || options_.input == PutInput::kInline;
  const bool waits_for_bytes = asked_for && !all_in();
  if (now - progress_ >= (waits_for_bytes ? std::min(options_.deadline, lease) : options_.deadline))
    cancel();
}

void PutOp::cancel() {
  give_up(KeyStatus::kCancelled);
}

void PutOp::give_up(KeyStatus status) {
  if (state_ == State::kGivenUp || state_ == State::kAnswered) return;
  session_.discard_payload(options_.id);  // the slots are not ours any more
  batch_.take_back(status);
  state_ = State::kGivenUp;
  if (!batch_.asking()) answer();
}

}  // namespace larder
