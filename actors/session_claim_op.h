#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "actors/session.h"
#include "transport/wire.pb.h"

namespace larder {

/// A match that also claims what is absent; answers when all shards have.
class ClaimOp : public SessionOp {
 public:
  ClaimOp(Session& session, std::uint64_t id, MatchAnswer answer)
      : session_(session), id_(id), answer_(std::move(answer)) {}

  void start(const std::vector<LocatedKey>& absent, Time deadline) {
    std::vector<std::shared_ptr<ClaimCall>> calls(session_.node().store.shards());
    for (const LocatedKey& at : absent) {
      auto& call = calls[at.shard.value()];
      if (!call) call = std::make_shared<ClaimCall>();
      call->keys.push_back(at.key);
    }
    for (std::uint32_t shard = 0; shard < calls.size(); ++shard) {
      if (!calls[shard]) continue;
      calls[shard]->shard = ShardId(shard);
      calls[shard]->deadline = deadline;
      calls[shard]->reply_to = session_.inbox();
      calls[shard]->session = session_.id();
      calls[shard]->op = id_;
      waiting_ += 1;
      session_.node().shards.send(ShardId(shard), std::move(calls[shard]));
    }
  }

  void on_answer(ShardCall& call) override {
    waiting_ -= 1;
    if (!call.lost) {
      for (const ClaimOutcome outcome : static_cast<ClaimCall&>(call).outcomes) {
        if (outcome == ClaimOutcome::kClaimed) claimed_ += 1;
      }
    }
    if (waiting_ > 0 || cancelled_) return;
    // Claims are counted over the call; with one chain that is the chain's own number.
    answer_.body.mutable_chains(0)->set_claimed(claimed_);
    session_.reply(FrameType::kMatch, id_, answer_.body, answer_.array);
  }
  void step(Time, std::size_t&) override {}
  bool runnable() const override { return false; }
  void on_time(Time) override {}
  void cancel() override { cancelled_ = true; }
  bool done() const override { return waiting_ == 0; }

 private:
  Session& session_;
  std::uint64_t id_;
  MatchAnswer answer_;
  int waiting_ = 0;
  std::uint32_t claimed_ = 0;
  bool cancelled_ = false;
};

}  // namespace larder
