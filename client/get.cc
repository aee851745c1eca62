#include "client/get.h"

#include "store/status_macros.h"

namespace larder {

absl::Status Get::start(Link& link) {
  shared_ = &link.shared();
  wire::GetRequest body;
  body.set_ns(request_.ns.value());
  body.set_request(request_.request);
  // A copy is checked here, in the copy; a view, which nobody copies, by the daemon.
  body.set_verify(request_.verify && !request_.copy);
  for (std::size_t n = 0; request_.copy && n < request_.keys.size(); ++n) {
    request_.keys[n].length = static_cast<std::uint32_t>(request_.buffers.length(n));
  }
  const auto array = std::as_bytes(std::span<const Key>(request_.keys));
  LARDER_ASSIGN_OR_RETURN(
      frame_,
      send_call(link, {.head = make_head(
                           {.type = FrameType::kGet, .id = id, .body = &body, .array = array})}));
  ++shared_->counters.gets;
  return absl::OkStatus();
}

std::vector<wire::GetResult> Get::read_results(const FrameReader::Frame& frame) {
  wire::GetReply reply;
  if (!accept(frame, reply)) return {};
  completion_.residence_ns = reply.residence_ns();
  std::vector<wire::GetResult> results;
  if (!wire::parse(frame.array, results) || results.size() != request_.keys.size()) {
    finish_with(absl::StatusCode::kInternal, "the reply has another number of results than keys");
    return {};
  }
  return results;
}

KeyStatus Get::corrupt(std::size_t key) {
  corrupt_.push_back(request_.keys[key]);
  return KeyStatus::kMiss;
}

void Get::end(Link* link) {
  Counters& counters = shared_->counters;
  for (const KeyStatus key : completion_.keys) {
    ++(key == KeyStatus::kOk ? counters.hits : counters.misses);
  }
  counters.bytes_in += completion_.bytes;
  counters.checksum_errors += corrupt_.size();
  if (link != nullptr && !corrupt_.empty()) link->ask_to_verify(request_.ns, corrupt_);
  finish_with(absl::StatusCode::kOk, "");
}

}  // namespace larder
