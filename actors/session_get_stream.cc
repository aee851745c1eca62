#include "actors/session_get_stream.h"

#include <algorithm>
#include <utility>

#include "actors/clock.h"
#include "actors/corrupt_block.h"
#include "actors/session_limits.h"
#include "store/limits.h"
#include "transport/frame_head.h"
#include "transport/wire.pb.h"

namespace larder {

using wire::KeyStatus;

namespace {

/// What a get queues in one go. Gets of one session that took turns chunk by chunk would all end
/// together, with nothing left to send until the client asks again; so what began first ends first,
/// and only longer ones take turns.
constexpr std::uint64_t kRunBytes = 4 << 20;
static_assert(kGetAheadBytes + kRunBytes < kWriterPauseBytes);

}  // namespace

/// A lease that ends with its last owner.
class GetOp::Guard {
 public:
  Guard(NodeStore& store, HeldBlock held) : store_(&store), held_(std::move(held)) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() {
    if (store_ != nullptr) release(*store_, held_);
  }
  const HeldBlock& held() const { return held_; }
  HeldBlock hand_over() {
    store_ = nullptr;
    return held_;
  }

 private:
  NodeStore* store_;
  HeldBlock held_;
};

GetOp::GetOp(Session& session, std::uint64_t id, std::vector<wire::GetResult> results,
             std::vector<HeldBlock> held, std::vector<std::uint32_t> held_key, Duration lease,
             bool verify)
    : session_(session),
      id_(id),
      results_(std::move(results)),
      held_key_(std::move(held_key)),
      lease_(lease),
      verify_(verify) {
  for (HeldBlock& block : held) {
    held_.push_back(std::make_shared<Guard>(session.node().store, std::move(block)));
  }
}

GetOp::~GetOp() {
  leave_to_scrub();
}

/// A client that doubts a block and is gone before the answer was right to doubt it all the same.
void GetOp::leave_to_scrub() {
  if (state_ != State::kVerifying) return;
  for (std::size_t n = next_; n < held_.size(); ++n)
    session_.node().suspects.add(held_[n]->held().at);
}

void GetOp::start(Time ready) {
  began_ = ready;
  if (verify_ && !held_.empty()) return;
  answer();
}

bool GetOp::runnable() const {
  if (state_ == State::kVerifying) return true;
  return state_ == State::kStreaming && session_.writer().queued_bytes() < kGetAheadBytes;
}

void GetOp::step(Time /*now*/, std::size_t& budget) {
  if (state_ == State::kVerifying) verify_some(budget);
  if (state_ == State::kStreaming) stream_some(budget);
}

const std::byte* GetOp::data(std::size_t n) const {
  return session_.node().store.slabs.data(held_[n]->held().hold.slot);
}

void GetOp::verify_some(std::size_t& budget) {
  while (next_ < held_.size() && budget > 0) {
    const std::uint64_t length = results_[held_key_[next_]].length;
    const std::size_t bytes = std::min<std::uint64_t>(budget, length - offset_);
    sum_.update(data(next_) + offset_, bytes);
    offset_ += bytes;
    budget -= bytes;
    if (offset_ < length) return;
    verified(sum_.value() == results_[held_key_[next_]].checksum);
    sum_.reset();
    offset_ = 0;
    next_ += 1;
  }
  if (next_ == held_.size()) answer();
}

void GetOp::verified(bool good) {
  if (good) return;
  condemn(session_.node(), held_[next_]->held().at, "get");
  results_[held_key_[next_]] = {};
  results_[held_key_[next_]].status = static_cast<std::uint16_t>(KeyStatus::kMiss);
  held_[next_] = nullptr;
}

void GetOp::answer() {
  wire::GetReply body;
  body.set_residence_ns(static_cast<std::uint64_t>((larder::now() - began_).count()));
  next_ = 0;
  offset_ = 0;
  if (session_.shm()) {
    std::vector<HeldBlock> handed;
    for (auto& guard : held_) {
      if (guard) handed.push_back(guard->hand_over());
    }
    held_.clear();
    if (!handed.empty() && !session_.leases().add(id_, handed, session_.now() + lease_)) {
      for (const HeldBlock& block : handed)
        release(session_.node().store, block);
      for (wire::GetResult& result : results_) {
        if (result.status == static_cast<std::uint16_t>(KeyStatus::kOk)) {
          result.status = static_cast<std::uint16_t>(KeyStatus::kBusy);
        }
      }
    }
  } else {
    state_ = State::kStreaming;
  }
  session_.reply(FrameType::kGet, id_, body, std::as_bytes(std::span(results_)));
  if (held_.empty()) finish();
}

void GetOp::finish() {
  state_ = State::kDone;
  session_.add_time(Operation::kGet, larder::now() - began_);
}

void GetOp::stream_some(std::size_t& budget) {
  if (session_.writer().queued_bytes() >= kGetAheadBytes) return;
  for (std::uint64_t queued = 0; next_ < held_.size() && queued < kRunBytes;) {
    if (!held_[next_]) {
      next_ += 1;
      continue;
    }
    const std::uint64_t length = results_[held_key_[next_]].length;
    const auto bytes = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(limits::kFramePayloadMax.count, length - offset_));
    wire::ChunkRecord chunk;
    chunk.key = held_key_[next_];
    chunk.offset = offset_;
    chunk.last = offset_ + bytes == length ? 1 : 0;
    OutFrame frame;
    frame.head = make_head({.type = FrameType::kGetData,
                            .id = id_,
                            .reply = true,
                            .array = std::as_bytes(std::span(&chunk, 1)),
                            .payload = bytes});
    frame.payload.push_back({const_cast<std::byte*>(data(next_) + offset_), bytes});
    frame.keep = held_[next_];
    offset_ += bytes;
    queued += bytes;
    budget -= std::min<std::size_t>(budget, bytes);
    if (chunk.last != 0) {
      held_[next_] = nullptr;  // the queue has it now
      next_ += 1;
      offset_ = 0;
    }
    session_.push(std::move(frame));
  }
  if (next_ == held_.size()) finish();
}

void GetOp::on_time(Time /*now*/) {}

void GetOp::cancel() {
  if (state_ == State::kVerifying) {
    leave_to_scrub();
    held_.clear();
    for (wire::GetResult& result : results_) {
      result = {};
      result.status = static_cast<std::uint16_t>(KeyStatus::kCancelled);
    }
    answer();
  }
  // Chunks queued already are still sent: the client drains them.
  held_.clear();
  state_ = State::kDone;
}

}  // namespace larder
