#pragma once

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "actors/session.h"
#include "actors/session_batches.h"
#include "actors/session_limits.h"
#include "transport/wire.pb.h"

namespace larder {

/// A match that also claims what is absent; answers when all shards have.
class ClaimOp : public SessionOp {
 public:
  /// `absent` keys to claim; `chains[i]` is the chain of the match that key i is of.
  ClaimOp(Session& session, std::uint64_t id, MatchAnswer answer, std::deque<LocatedKey> absent,
          std::vector<std::uint32_t> chains, Time deadline)
      : session_(session),
        id_(id),
        answer_(std::move(answer)),
        absent_(std::move(absent)),
        chains_(std::move(chains)),
        deadline_(deadline) {}

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
    answer_if_done();
  }
  void step(Time, std::size_t& budget) override {
    ask();
    budget -= std::min(budget, kMatchStep * sizeof(LocatedKey));
  }
  /// Asks for a part of the keys; for the first when it was started, for the others in steps.
  void ask() {
    const std::size_t end = std::min(absent_.size(), asked_ + kMatchStep);
    const auto complete = [this](ClaimCall& call) { call.deadline = deadline_; };
    CallBatches<ClaimCall> calls(session_, id_, kClaimStep, complete);
    for (; asked_ < end; ++asked_) {
      const LocatedKey& at = absent_[asked_];
      calls.of(at.shard).keys.push_back(at.key);
      calls.added(at.shard, asked_);
    }
    waiting_ += calls.finish();
  }
  bool runnable() const override { return asked_ < absent_.size(); }
  void on_time(Time) override {}
  void cancel() override {
    if (done()) return;
    cancelled_ = true;
    asked_ = absent_.size();
    answer_if_done();
  }
  bool done() const override { return asked_ == absent_.size() && waiting_ == 0; }

 private:
  void answer_if_done() {
    if (!done()) return;
    if (cancelled_) {
      return session_.reply_error(FrameType::kMatch, id_,
                                  absl::CancelledError("the match was cancelled"));
    }
    session_.reply(FrameType::kMatch, id_, answer_.body, answer_.array);
  }

  Session& session_;
  std::uint64_t id_;
  MatchAnswer answer_;
  const std::deque<LocatedKey> absent_;
  const std::vector<std::uint32_t> chains_;
  const Time deadline_;
  std::size_t asked_ = 0;
  int waiting_ = 0;  ///< for answers to what was asked
  bool cancelled_ = false;
};

}  // namespace larder
