// Puts: the frame's checks, then a PutOp.

#include <fmt/format.h>

#include "actors/session.h"
#include "actors/session_calls.h"
#include "actors/session_limits.h"
#include "actors/session_put_op.h"
#include "actors/session_source.h"
#include "store/limits.h"
#include "transport/wire.pb.h"

namespace larder {

Duration put_deadline(std::uint32_t deadline_ms) {
  if (deadline_ms == 0) return kPutDeadlineDefault;
  return std::min<Duration>(std::chrono::milliseconds(deadline_ms), kPutDeadlineMax);
}

namespace {

/// Splits the array of a put into records and sources; the message names what lies.
absl::Status split_array(std::span<const std::byte> array, std::uint32_t sources,
                         std::vector<wire::KeyRecord>& records,
                         std::vector<wire::PutSource>& source_list) {
  const std::size_t source_bytes = std::size_t{sources} * sizeof(wire::PutSource);
  if (source_bytes > array.size() || (array.size() - source_bytes) % sizeof(wire::KeyRecord) != 0) {
    return absl::InvalidArgumentError(
        fmt::format("array: {} bytes are not key records of {} and {} sources of {}", array.size(),
                    sizeof(wire::KeyRecord), sources, sizeof(wire::PutSource)));
  }
  wire::parse(array.first(array.size() - source_bytes), records);
  wire::parse(array.last(source_bytes), source_list);
  return check_source_order(source_list, records.size());
}

absl::Status check_inline(const wire::PutRequest& body, const std::vector<wire::KeyRecord>& records,
                          std::uint32_t payload) {
  std::uint64_t total = 0;
  for (const wire::KeyRecord& record : records)
    total += record.length;
  if (total != payload) {
    return absl::InvalidArgumentError(
        fmt::format("payload: {} bytes, the keys' lengths sum to {}", payload, total));
  }
  if (payload > limits::kInlinePutMax.count) {
    return absl::InvalidArgumentError(fmt::format("payload: {} bytes inline, the limit is {}",
                                                  payload, limits::kInlinePutMax.count));
  }
  if (static_cast<std::size_t>(body.inline_checksums_size()) != records.size()) {
    return absl::InvalidArgumentError(fmt::format("inline_checksums: {} for {} keys",
                                                  body.inline_checksums_size(), records.size()));
  }
  return absl::OkStatus();
}

}  // namespace

void Session::put(const Call& call) {
  wire::PutRequest body;
  if (!parse(call, body)) return;
  const NamespaceRef ns = open_or_refuse(call, body.ns());
  if (!ns) return;
  std::vector<wire::KeyRecord> records;
  PutOpOptions options;
  if (absl::Status split = split_array(call.array, body.sources(), records, options.sources);
      !split.ok()) {
    return refuse(call, split);
  }
  if (!batch_size_ok(call, records.size())) return;
  options.id = call.id;
  options.deadline = put_deadline(body.deadline_ms());
  if (body.sources() > 0) {
    if (!shm()) return refuse(call, absl::FailedPreconditionError("sources: not a shm session"));
    if (body.control_word() >= limits::kControlWords) {
      return refuse(call, absl::InvalidArgumentError(fmt::format("control_word: {} is not below {}",
                                                                 body.control_word(),
                                                                 limits::kControlWords)));
    }
    options.control_word = body.control_word();
    options.input = PutInput::kShared;
  } else if (call.payload > 0) {
    if (absl::Status checked = check_inline(body, records, call.payload); !checked.ok()) {
      return refuse(call, checked);
    }
    options.input = PutInput::kInline;
    options.inline_bytes = call.payload;
    options.inline_checksums.assign(body.inline_checksums().begin(), body.inline_checksums().end());
  } else {
    options.input = PutInput::kStream;
  }
  count(node_.metrics.puts);
  auto op = std::make_unique<PutOp>(*this, ns, body.request(), std::move(options));
  PutOp& started = *op;
  if (!start(call, std::move(op), body.request())) return;
  if (call.payload > 0) {
    payload_op_ = call.id;
    reader_.receive_payload(started.inline_sink());
  }
  started.start(std::move(records), now_);
}

}  // namespace larder
