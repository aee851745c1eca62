#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "actors/session.h"
#include "actors/session_limits.h"
#include "transport/wire.pb.h"

namespace larder {

/// A match that also claims what is absent; answers when all shards have.
class ClaimOp : public SessionOp {
 public:
  /// `absent` keys to claim; `chains[i]` is the chain of the match that key i is of.
  ClaimOp(Session& session, std::uint64_t id, MatchAnswer answer, std::vector<std::uint32_t> chains)
      : session_(session), id_(id), answer_(std::move(answer)), chains_(std::move(chains)) {}

  void start(const std::vector<LocatedKey>& absent, Time deadline) {
    std::vector<std::shared_ptr<ClaimCall>> calls(session_.node().store.shards());
    const auto send = [&](ShardId shard) {
      std::shared_ptr<ClaimCall> call = std::exchange(calls[shard.value()], nullptr);
      call->shard = shard;
      call->deadline = deadline;
      call->reply_to = session_.inbox();
      call->session = session_.id();
      call->op = id_;
      waiting_ += 1;
      session_.node().shards.send(shard, std::move(call));
    };
    for (std::size_t i = 0; i < absent.size(); ++i) {
      auto& call = calls[absent[i].shard.value()];
      if (!call) call = std::make_shared<ClaimCall>();
      call->keys.push_back(absent[i].key);
      call->positions.push_back(static_cast<std::uint32_t>(i));
      if (call->keys.size() == kClaimStep) send(absent[i].shard);
    }
    for (std::uint32_t shard = 0; shard < calls.size(); ++shard) {
      if (calls[shard]) send(ShardId(shard));
    }
  }

  void on_answer(ShardCall& call) override {
    waiting_ -= 1;
    if (!call.lost) {
      auto& claims = static_cast<ClaimCall&>(call);
      for (std::size_t i = 0; i < claims.outcomes.size(); ++i) {
        if (claims.outcomes[i] != ClaimOutcome::kClaimed) continue;
        auto* chain = answer_.body.mutable_chains(static_cast<int>(chains_[claims.positions[i]]));
        chain->set_claimed(chain->claimed() + 1);
      }
    }
    if (waiting_ > 0) return;
    if (cancelled_) {
      return session_.reply_error(FrameType::kMatch, id_,
                                  absl::CancelledError("the match was cancelled"));
    }
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
  std::vector<std::uint32_t> chains_;
  bool cancelled_ = false;
};

}  // namespace larder
