// Frames of layer-by-layer puts.

#include <fmt/format.h>

#include "actors/session.h"
#include "actors/session_calls.h"
#include "actors/session_layer_put.h"
#include "store/limits.h"

namespace larder {

namespace {

LayerPutOp* layer_put(SessionOp* op) {
  return dynamic_cast<LayerPutOp*>(op);
}

/// `count` sources, then as many 64-bit offsets.
absl::Status split_part(std::span<const std::byte> array, std::uint32_t count,
                        LayerPutOp::Part& part) {
  const std::size_t each = sizeof(wire::PutSource) + sizeof(std::uint64_t);
  if (count == 0 || count > limits::kBatchKeysMax || array.size() != count * each) {
    return absl::InvalidArgumentError(
        fmt::format("sources: {} with an array of {} bytes; 1 to {} of {} bytes each", count,
                    array.size(), limits::kBatchKeysMax, each));
  }
  wire::parse(array.first(count * sizeof(wire::PutSource)), part.sources);
  wire::parse(array.last(count * sizeof(std::uint64_t)), part.offsets);
  return absl::OkStatus();
}

}  // namespace

void Session::put_start(const Call& call) {
  wire::PutStartRequest body;
  if (!parse(call, body)) return;
  const NamespaceRef ns = open_or_refuse(call, body.ns());
  if (!ns) return;
  std::vector<wire::KeyRecord> records;
  if (!records_or_refuse(call, call.array, records)) return;
  count(node_.metrics.puts);
  auto op = std::make_unique<LayerPutOp>(*this, ns, body.request(), call.id,
                                         put_deadline(body.deadline_ms()));
  LayerPutOp& started = *op;
  if (!start(call, std::move(op), body.request())) return;
  started.start(std::move(records), now_);
}

void Session::put_part(const Call& call) {
  wire::PutPartRequest body;
  if (!parse(call, body)) return;
  LayerPutOp::Part part;
  part.id = call.id;
  part.control_word = body.control_word();
  part.checksums.assign(body.checksums().begin(), body.checksums().end());
  const auto found = ops_.find(body.put());
  LayerPutOp* op = found == ops_.end() ? nullptr : layer_put(found->second.get());
  if (op == nullptr) {
    return refuse(call, absl::NotFoundError(fmt::format("put: {} is not open", body.put())));
  }
  if (absl::Status split = split_part(call.array, body.sources(), part); !split.ok()) {
    return refuse(call, split);
  }
  if (part.control_word >= limits::kControlWords || (call.payload == 0 && !shm())) {
    return refuse(call, absl::InvalidArgumentError(
                            fmt::format("control_word: {} (limit {}) or a part without payload "
                                        "outside shm",
                                        part.control_word, limits::kControlWords)));
  }
  if (absl::Status added = op->add_part(std::move(part), call.payload, now_); !added.ok()) {
    return refuse(call, added);
  }
  if (call.payload > 0) {
    payload_op_ = body.put();
    reader_.receive_payload(op->payload_sink({}, call.payload).pieces);
  }
}

void Session::put_end(const Call& call) {
  wire::PutEndRequest body;
  if (!parse(call, body)) return;
  const auto found = ops_.find(body.put());
  LayerPutOp* op = found == ops_.end() ? nullptr : layer_put(found->second.get());
  if (op == nullptr) {
    return refuse(call, absl::NotFoundError(fmt::format("put: {} is not open", body.put())));
  }
  if (body.control_word() >= limits::kControlWords) {
    return refuse(
        call, absl::InvalidArgumentError(fmt::format("control_word: {} is not below {}",
                                                     body.control_word(), limits::kControlWords)));
  }
  std::vector<std::uint64_t> checksums(body.checksums().begin(), body.checksums().end());
  if (!checksums.empty() && checksums.size() != op->keys()) {
    return refuse(call, absl::InvalidArgumentError(fmt::format("checksums: {} for {} keys",
                                                               checksums.size(), op->keys())));
  }
  if (!op->takes_end()) {
    return refuse(call, absl::FailedPreconditionError(
                            fmt::format("put: {} is ending, or was given up", body.put())));
  }
  op->end(call.id, body.control_word(), body.abort(), std::move(checksums), now_);
}

}  // namespace larder
