#include "actors/session_erase_op.h"

#include <utility>

#include "actors/session_limits.h"

namespace larder {

int send_erases(Session& session, std::uint64_t op, const std::vector<LocatedKey>& keys) {
  std::vector<std::shared_ptr<EraseCall>> calls(session.node().store.shards());
  int sent = 0;
  const auto send = [&](ShardId shard) {
    std::shared_ptr<EraseCall> call = std::exchange(calls[shard.value()], nullptr);
    call->shard = shard;
    call->reply_to = session.inbox();
    call->session = session.id();
    call->op = op;
    sent += 1;
    session.node().shards.send(shard, std::move(call));
  };
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto& call = calls[keys[i].shard.value()];
    if (!call) call = std::make_shared<EraseCall>();
    call->keys.push_back(keys[i].key);
    call->positions.push_back(static_cast<std::uint32_t>(i));
    if (call->keys.size() == kEraseStep) send(keys[i].shard);
  }
  for (std::uint32_t shard = 0; shard < calls.size(); ++shard) {
    if (calls[shard]) send(ShardId(shard));
  }
  return sent;
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
