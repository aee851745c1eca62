#pragma once

#include <utility>
#include <vector>

#include "actors/session.h"
#include "actors/session_match.h"

namespace larder {

/// Answers when every key is settled, or at a deadline: kOk, kPending or kMiss a key. A key is
/// settled when it is committed, or when it was pending and is no more: its writer gave up or died.
/// A key that nobody puts yet is waited for. Looks about once a millisecond: a commit has no list
/// of who waits for it.
class WaitOp : public SessionOp {
 public:
  /// The keys are taken from the node's and given back with the op.
  WaitOp(Session& session, std::uint64_t id, NamespaceRef ns, std::vector<LocatedKey> keys,
         Time deadline)
      : session_(session),
        id_(id),
        ns_(std::move(ns)),
        keys_(std::move(keys)),
        was_pending_(keys_.size(), false),
        deadline_(deadline) {
    session_.waits() += 1;
    session_.wait_keys() += keys_.size();
  }
  ~WaitOp() override {
    session_.waits() -= 1;
    session_.wait_keys() -= keys_.size();
    session_.node().commons.give(session_.tenant_use(), Common::kWaitKeys, keys_.size());
  }

  void on_answer(ShardCall&) override {}
  void step(Time, std::size_t&) override {}
  bool runnable() const override { return false; }
  void on_time(Time now) override {
    if (!served()) return answer({});
    const std::vector<EntryId> found = find_all(session_.node().store, keys_);
    bool settled = true;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      switch (state_of(session_.node().store, keys_[i], found[i])) {
        case wire::MatchState::kPresent:
          break;
        case wire::MatchState::kPending:
        case wire::MatchState::kClaimed:
          was_pending_[i] = true;
          settled = false;
          break;
        case wire::MatchState::kAbsent:
          settled = settled && was_pending_[i];
          break;
      }
    }
    if (settled || now >= deadline_) answer(found);
  }
  void cancel() override {
    if (!done_) answer(find_all(session_.node().store, keys_));
  }
  bool done() const override { return done_; }

 private:
  bool served() const { return serves(session_.node().mode_of(*ns_)); }
  /// In a namespace that is not served all are misses.
  void answer(const std::vector<EntryId>& found) {
    std::vector<wire::PutResult> results;
    const bool served = this->served() && !found.empty();
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      auto status = wire::KeyStatus::kMiss;
      if (!served) {
        results.push_back({static_cast<std::uint16_t>(status), 0, 0});
        continue;
      }
      switch (state_of(session_.node().store, keys_[i], found[i])) {
        case wire::MatchState::kPresent:
          status = wire::KeyStatus::kOk;
          break;
        case wire::MatchState::kPending:
        case wire::MatchState::kClaimed:
          status = wire::KeyStatus::kPending;
          break;
        case wire::MatchState::kAbsent:
          break;
      }
      results.push_back({static_cast<std::uint16_t>(status), 0, 0});
    }
    done_ = true;
    session_.reply(FrameType::kWait, id_, wire::PutReply(), std::as_bytes(std::span(results)));
  }

  Session& session_;
  std::uint64_t id_;
  NamespaceRef ns_;
  std::vector<LocatedKey> keys_;
  std::vector<bool> was_pending_;
  Time deadline_;
  bool done_ = false;
};

}  // namespace larder
