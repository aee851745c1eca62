#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "actors/session.h"

namespace larder {

/// Cuts what an op asks of the shards into calls, each a bounded step of its shard, and sends each
/// as soon as it is full. `Call` is a ShardCall with a shard and positions. For one function's
/// time.
template <class Call>
class CallBatches {
 public:
  /// `step`: keys a call. `complete` sets what a call has beyond its keys and who asks.
  CallBatches(Session& session, std::uint64_t op, std::size_t step,
              std::function<void(Call&)> complete = {})
      : session_(session),
        op_(op),
        step_(step),
        complete_(std::move(complete)),
        open_(session.node().store.shards()) {}

  /// The call that a shard's next key goes into; added() must follow.
  Call& of(ShardId shard) {
    std::shared_ptr<Call>& call = open_[shard.value()];
    if (!call) call = std::make_shared<Call>();
    return *call;
  }
  /// That key is the asker's number `position`.
  void added(ShardId shard, std::size_t position) {
    std::vector<std::uint32_t>& positions = open_[shard.value()]->positions;
    positions.push_back(static_cast<std::uint32_t>(position));
    if (positions.size() == step_) send(shard);
  }
  /// Sends the rest; how many calls there were.
  int finish() {
    for (std::uint32_t shard = 0; shard < open_.size(); ++shard) {
      if (open_[shard]) send(ShardId(shard));
    }
    return sent_;
  }

 private:
  void send(ShardId shard) {
    std::shared_ptr<Call> call = std::exchange(open_[shard.value()], nullptr);
    call->shard = shard;
    call->reply_to = session_.inbox();
    call->session = session_.id();
    call->op = op_;
    if (complete_) complete_(*call);
    sent_ += 1;
    session_.node().shards.send(shard, std::move(call));
  }

  Session& session_;
  const std::uint64_t op_;
  const std::size_t step_;
  const std::function<void(Call&)> complete_;
  std::vector<std::shared_ptr<Call>> open_;
  int sent_ = 0;
};

}  // namespace larder
