#pragma once

#include <memory>
#include <vector>

#include "actors/session.h"

namespace larder {

/// Sends keys to their shards to be removed; returns how many shards were asked.
int send_erases(Session& session, std::uint64_t op, const std::vector<LocatedKey>& keys);

/// Removes keys; answers when every shard has.
class EraseOp : public SessionOp {
 public:
  EraseOp(Session& session, std::uint64_t id) : session_(session), id_(id) {}

  void start(const std::vector<LocatedKey>& keys);

  void on_answer(ShardCall& call) override;
  void step(Time, std::size_t&) override {}
  bool runnable() const override { return false; }
  void on_time(Time) override {}
  void cancel() override { cancelled_ = true; }
  bool done() const override { return waiting_ == 0; }

 private:
  void answer();

  Session& session_;
  std::uint64_t id_;
  std::vector<wire::PutResult> results_;
  int waiting_ = 0;
  bool cancelled_ = false;
};

}  // namespace larder
