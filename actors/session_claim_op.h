#pragma once

#include <memory>
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
  ClaimOp(Session& session, std::uint64_t id, MatchAnswer answer, std::vector<std::uint32_t> chains)
      : session_(session), id_(id), answer_(std::move(answer)), chains_(std::move(chains)) {}

  void start(const std::vector<LocatedKey>& absent, Time deadline) {
    const auto complete = [deadline](ClaimCall& call) { call.deadline = deadline; };
    CallBatches<ClaimCall> calls(session_, id_, kClaimStep, complete);
    for (std::size_t i = 0; i < absent.size(); ++i) {
      calls.of(absent[i].shard).keys.push_back(absent[i].key);
      calls.added(absent[i].shard, i);
    }
    waiting_ = calls.finish();
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
