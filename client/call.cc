#include "client/call.h"

#include "store/status_macros.h"
#include "transport/wire.pb.h"

namespace larder {

bool read_put_results(std::span<const std::byte> array, std::vector<KeyStatus>& keys) {
  std::vector<wire::PutResult> results;
  if (!wire::parse(array, results) || results.size() != keys.size()) return false;
  for (std::size_t n = 0; n < keys.size(); ++n) {
    keys[n] = static_cast<KeyStatus>(results[n].status);
  }
  return true;
}

absl::Status Call::start(Link& link) {
  OutFrame frame{.head = std::move(head_), .fds = fds_};
  return send_call(link, std::move(frame)).status();
}

void Call::on_reply(Link& /*link*/, FrameReader::Frame& frame) {
  wire::PutReply reply;  // `residence_ns` has this number wherever there is one
  if (!accept(frame, reply)) return;
  body_.assign(frame.body.begin(), frame.body.end());
  array_.assign(frame.array.begin(), frame.array.end());
  if (!completion_.keys.empty()) {
    if (!read_put_results(array_, completion_.keys)) {
      finish_with(absl::StatusCode::kInternal, "the reply has another number of results than keys");
      return;
    }
    completion_.residence_ns = reply.residence_ns();
  }
  finish_with(absl::StatusCode::kOk, "");
}

void Call::give_up(Link* link, absl::StatusCode code, std::string message) {
  forget_frames(link);
  finish_with(code, std::move(message));
}

absl::Status PutEnd::start(Link& link) {
  const std::optional<std::uint32_t> word = link.take_word();
  if (!word) return absl::ResourceExhaustedError("all control words are in use");
  held_ = {.word = *word, .has_word = true};
  wire::PutEndRequest body;
  body.set_put(put_);
  body.set_control_word(*word);
  link.page().activate(*word, id);
  absl::StatusOr<std::uint64_t> sent =
      send_call(link, {.head = make_head({.type = FrameType::kPutEnd, .id = id, .body = &body})});
  if (!sent.ok()) {
    link.give_back(held_);
    return sent.status();
  }
  frame_ = *sent;
  return absl::OkStatus();
}

void PutEnd::on_reply(Link& link, FrameReader::Frame& frame) {
  link.give_back(held_);
  wire::PutReply reply;
  if (!accept(frame, reply)) return;
  if (!read_put_results(frame.array, completion_.keys)) {
    finish_with(absl::StatusCode::kInternal, "the reply has another number of results than keys");
    return;
  }
  completion_.residence_ns = reply.residence_ns();
  finish_with(absl::StatusCode::kOk, "");
}

void PutEnd::give_up(Link* link, absl::StatusCode code, std::string message) {
  if (link == nullptr || frame_ == 0) return finish_with(code, std::move(message));
  const Verdict verdict = give_up_word(*link, held_, frame_, committed_, code);
  if (verdict == Verdict::kWait) return;
  forget_frames(link);
  link->bury(frame_, held_);
  if (verdict == Verdict::kAnswerLost) return finish_unanswered(code, kCommittedAnswerLost);
  link->tell_cancel(frame_);
  finish_with(code, std::move(message));
}

Verdict give_up_word(Link& link, const Link::Held& held, std::uint64_t frame, bool& committed,
                     absl::StatusCode code) {
  const bool waited = std::exchange(committed, committed || !link.page().cancel(held.word, frame));
  if (!committed) return Verdict::kCancelled;
  const bool second_deadline = waited && code == absl::StatusCode::kDeadlineExceeded;
  return link.dead || second_deadline ? Verdict::kAnswerLost : Verdict::kWait;
}

}  // namespace larder
