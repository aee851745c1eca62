#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "actors/session.h"
#include "actors/session_calls.h"
#include "actors/session_progress.h"
#include "transport/wire.pb.h"

namespace larder {

/// Asks one shard for its next slice of a namespace's blocks, or of all.
inline void send_scan(Session& session, std::uint64_t op, std::optional<NamespaceId> ns,
                      std::uint64_t cursor, std::uint32_t limit) {
  auto call = std::make_shared<ScanCall>();
  call->shard = ShardId(static_cast<std::uint32_t>(cursor >> 32));
  call->ns = ns;
  call->cursor = static_cast<std::uint32_t>(cursor);
  call->limit = limit;
  call->reply_to = session.inbox();
  call->session = session.id();
  call->op = op;
  const ShardId shard = call->shard;
  session.node().shards.send(shard, std::move(call));
}

/// The cursor behind an answered slice: the same shard's next, the next shard's first, or `end`.
inline std::uint64_t next_cursor(const ScanCall& call, std::uint32_t shards, bool* end) {
  const std::uint64_t shard = call.shard.value();
  if (!call.end) return shard << 32 | call.cursor;
  *end = shard + 1 >= shards;
  return (shard + 1) << 32;
}

/// One page of a namespace's blocks. A cursor is shard << 32 | entry; blocks put or removed between
/// two pages may or may not be seen.
class ListOp : public SessionOp {
 public:
  ListOp(Session& session, std::uint64_t id, NamespaceId ns, std::uint32_t limit)
      : session_(session), id_(id), ns_(ns), limit_(limit) {}

  void start(std::uint64_t cursor) { send_scan(session_, id_, ns_, cursor, limit_); }

  void on_answer(ShardCall& call) override {
    progress_.moved();
    bool end = call.lost;
    std::uint64_t cursor = 0;
    if (!call.lost) {
      auto& scan = static_cast<ScanCall&>(call);
      for (const ScanCall::Row& row : scan.rows) {
        rows_.push_back({row.key.hash, row.parent, row.key.ns.value(), row.length, row.position,
                         row.key.group.value(), row.key.rank.value(), row.leases, row.checksum});
        writers_.push_back(row.writer.value());
      }
      cursor = next_cursor(scan, session_.node().store.shards(), &end);
      if (!end && rows_.empty() && !cancelled_) return start(cursor);
    }
    done_ = true;
    if (cancelled_) {
      return session_.reply_error(FrameType::kList, id_,
                                  absl::CancelledError("the list was cancelled"));
    }
    wire::ListReply body;
    body.mutable_writers()->Add(writers_.begin(), writers_.end());
    if (call.lost) {
      set_status(body.mutable_status(),
                 absl::UnavailableError("a shard is being restarted; ask again"));
    }
    body.set_cursor(cursor);
    body.set_end(end);
    session_.reply(FrameType::kList, id_, body, std::as_bytes(std::span(rows_)));
  }
  void step(Time, std::size_t&) override {}
  bool runnable() const override { return false; }
  void on_time(Time now) override { progress_.tell(session_, id_, rows_.size(), now); }
  void cancel() override { cancelled_ = true; }
  bool done() const override { return done_; }

 private:
  Session& session_;
  std::uint64_t id_;
  NamespaceId ns_;
  std::uint32_t limit_;
  std::vector<wire::ListRecord> rows_;
  std::vector<std::uint64_t> writers_;
  ProgressNote progress_;
  bool cancelled_ = false;
  bool done_ = false;
};

}  // namespace larder
