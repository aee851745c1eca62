#include "actors/session_erase_op.h"

#include "actors/session_batches.h"
#include "actors/session_limits.h"

namespace larder {

int send_erases(Session& session, std::uint64_t op, const std::vector<LocatedKey>& keys) {
  CallBatches<EraseCall> calls(session, op, kEraseStep);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    calls.of(keys[i].shard).keys.push_back(keys[i].key);
    calls.added(keys[i].shard, i);
  }
  return calls.finish();
}

void EraseOp::start(const std::vector<LocatedKey>& keys) {
  results_.resize(keys.size());
  for (wire::PutResult& result : results_) {
    result.status = static_cast<std::uint16_t>(wire::KeyStatus::kUnavailable);
  }
  waiting_ = send_erases(session_, id_, keys);
  if (waiting_ == 0) answer();
}

void EraseOp::on_answer(ShardCall& call) {
  waiting_ -= 1;
  if (!call.lost) {
    auto& answer = static_cast<EraseCall&>(call);
    for (std::size_t i = 0; i < answer.erased.size(); ++i) {
      results_[answer.positions[i]].status = static_cast<std::uint16_t>(
          answer.erased[i] != 0 ? wire::KeyStatus::kOk : wire::KeyStatus::kMiss);
    }
  }
  if (waiting_ == 0) answer();
}

void EraseOp::answer() {
  if (cancelled_) {
    return session_.reply_error(FrameType::kRemove, id_,
                                absl::CancelledError("the removal was cancelled"));
  }
  session_.reply(FrameType::kRemove, id_, wire::PutReply(), std::as_bytes(std::span(results_)));
}

}  // namespace larder
