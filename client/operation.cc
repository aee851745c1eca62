#include "client/operation.h"

#include <cstring>

#include "store/assert.h"
#include "store/status_macros.h"
#include "transport/wire.pb.h"

namespace larder {
namespace {

constexpr std::size_t kIdOffset = 8;  // of a frame header

/// Every reply's body has its status in field 1.
absl::Status status_in(const FrameReader::Frame& frame) {
  wire::SimpleReply reply;
  if (!parse_body(frame.body, reply)) return absl::InternalError("a reply's body is malformed");
  if (reply.status().code() == 0) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(reply.status().code()),
                      reply.status().message());
}

}  // namespace

KeyStatus key_status_of(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kCancelled:
      return KeyStatus::kCancelled;
    case absl::StatusCode::kDeadlineExceeded:
      return KeyStatus::kDeadline;
    case absl::StatusCode::kUnavailable:
      return KeyStatus::kUnavailable;
    case absl::StatusCode::kResourceExhausted:
      return KeyStatus::kNoSpace;
    default:
      return KeyStatus::kInvalid;
  }
}

void Operation::on_data(Link& /*link*/, FrameReader::Frame& /*frame*/) {}
void Operation::on_payload(Link& /*link*/) {}
bool Operation::send_more(Link& /*link*/) {
  return false;
}
void Operation::resume(Link& /*link*/) {}

void Operation::finish_with(absl::StatusCode code, std::string message) {
  LARDER_ASSERT(!finished_);
  completion_.code = code;
  completion_.message = std::move(message);
  if (code != absl::StatusCode::kOk) {
    for (KeyStatus& key : completion_.keys) {
      if (key == KeyStatus::kUnavailable) key = key_status_of(code);
    }
  }
  finish();
}

void Operation::finish_unanswered(absl::StatusCode code, std::string message) {
  LARDER_ASSERT(!finished_);
  completion_.code = code;
  completion_.message = std::move(message);
  finish();
}

absl::StatusOr<std::uint64_t> Operation::send_call(Link& link, OutFrame frame) {
  const std::uint64_t frame_id = next_frame_id(link);
  LARDER_RETURN_IF_ERROR(send_call(link, std::move(frame), frame_id));
  return frame_id;
}

absl::Status Operation::send_call(Link& link, OutFrame frame, std::uint64_t frame_id) {
  std::memcpy(frame.head.data() + kIdOffset, &frame_id, sizeof frame_id);
  LARDER_RETURN_IF_ERROR(link.send(std::move(frame)));
  frames_.push_back(frame_id);
  link.expect(frame_id, shared_from_this());
  return absl::OkStatus();
}

void Operation::forget_frames(Link* link) {
  if (link == nullptr) return;
  for (const std::uint64_t frame : frames_)
    link->forget(frame);
  if (link->payload_owner.get() == this) {
    link->reader().discard_payload();
    link->payload_owner.reset();
  }
}

bool Operation::accept(const FrameReader::Frame& frame, google::protobuf::MessageLite& body) {
  const absl::Status status = status_in(frame);
  if (!status.ok()) {
    finish_with(status.code(), std::string(status.message()));
    return false;
  }
  if (parse_body(frame.body, body)) return true;
  finish_with(absl::StatusCode::kInternal, "a reply's body is malformed");
  return false;
}

}  // namespace larder
