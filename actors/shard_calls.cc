#include "actors/shard_calls.h"

#include "actors/inbox.h"
#include "store/assert.h"

namespace larder {

namespace {
/// Tells the io thread that a call died unanswered; the call itself cannot travel from its
/// destructor.
struct LostCall : ShardCall {};
}  // namespace

ShardCall::~ShardCall() {
  if (answered || reply_to == nullptr) return;
  auto lost_call = std::make_shared<LostCall>();
  lost_call->session = session;
  lost_call->op = op;
  lost_call->reply_to = reply_to;
  lost_call->lost = true;
  lost_call->answer();
}

AbortNote::~AbortNote() {
  if (done || lost_to == nullptr || items.empty()) return;
  auto again = std::make_shared<AbortNote>(shard, lost_to);
  again->items = std::move(items);
  lost_to->post(std::shared_ptr<const AbortNote>(std::move(again)));
}

void ShardCall::answer() {
  LARDER_ASSERT(!answered);
  answered = true;
  if (reply_to != nullptr) reply_to->post(shared_from_this());
}

NoteHolds::~NoteHolds() {
  Index& index = *store_.indexes[shard_.value()];
  for (const Hold& hold : holds_) {
    pot_.give(own_, hold.length.count);
    index.release(hold.entry);
  }
}

}  // namespace larder
