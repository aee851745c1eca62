// Layer-by-layer puts: PutStart, PutPart, PutEnd.

#include <algorithm>

#include <fmt/format.h>

#include "client/client_impl.h"
#include "client/milliseconds.h"
#include "client/put_shm.h"
#include "client/put_tcp.h"
#include "store/limits.h"
#include "store/status_macros.h"
#include "transport/wire.pb.h"

namespace larder {
namespace {

absl::Status check_parts(std::span<const Client::Part> parts, std::size_t keys) {
  if (parts.size() > limits::kBatchKeysMax) {
    return absl::InvalidArgumentError(
        fmt::format("parts: {} given, the limit is {}", parts.size(), limits::kBatchKeysMax));
  }
  for (std::size_t n = 0; n < parts.size(); ++n) {
    if (parts[n].key >= keys) {
      return absl::InvalidArgumentError(
          fmt::format("parts[{}].key is {}, the put has {} keys", n, parts[n].key, keys));
    }
  }
  return absl::OkStatus();
}

std::vector<Client::Part> sorted(std::span<const Client::Part> parts) {
  std::vector<Client::Part> out(parts.begin(), parts.end());
  std::sort(out.begin(), out.end(), [](const Client::Part& a, const Client::Part& b) {
    return std::pair(a.key, a.offset) < std::pair(b.key, b.offset);
  });
  std::erase_if(out, [](const Client::Part& part) { return part.buffer.length == 0; });
  return out;
}

std::shared_ptr<Operation> shm_parts(std::uint64_t put, std::span<const Client::Part> parts,
                                     Duration deadline) {
  ShmPut::Request request;
  request.part_of = put;
  for (const Client::Part& part : parts) {
    request.buffers.add(std::span<const ConstBuffer>(&part.buffer, 1));
    request.part_keys.push_back(part.key);
    request.part_offsets.push_back(part.offset);
  }
  return std::make_shared<ShmPut>(std::move(request), deadline);
}

std::shared_ptr<Operation> stream_parts(std::uint64_t put, std::span<const Client::Part> parts,
                                        Duration deadline) {
  std::vector<TcpPart::Piece> pieces;
  for (const Client::Part& part : parts) {
    pieces.push_back({.key = part.key,
                      .offset = part.offset,
                      .memory = {const_cast<void*>(part.buffer.data), part.buffer.length}});
  }
  return std::make_shared<TcpPart>(put, std::move(pieces), deadline);
}

}  // namespace

absl::StatusOr<Client::LayerPut> Client::put_start(NamespaceId ns, std::span<const Key> keys,
                                                   const CallOptions& options) {
  LARDER_RETURN_IF_ERROR(impl_->usable());
  LARDER_RETURN_IF_ERROR(check_batch(keys.size(), keys.size(), impl_->engine->terms().batch_keys));
  const Duration deadline = impl_->deadline_of(options);
  wire::PutStartRequest body;
  body.set_ns(ns.value());
  body.set_request(options.request);
  body.set_deadline_ms(to_ms(deadline));
  Completion done = impl_->exchange_keys(FrameType::kPutStart, body, keys, deadline);
  if (done.code != absl::StatusCode::kOk) return absl::Status(done.code, done.message);
  const std::lock_guard lock(impl_->puts_mutex);
  impl_->puts[done.id] = keys.size();
  return LayerPut{.id = done.id, .keys = std::move(done.keys)};
}

absl::Status Client::put_part(std::uint64_t put, std::span<const Part> parts) {
  LARDER_RETURN_IF_ERROR(impl_->usable());
  std::size_t keys = 0;
  {
    const std::lock_guard lock(impl_->puts_mutex);
    const auto at = impl_->puts.find(put);
    if (at == impl_->puts.end()) return absl::NotFoundError("no such put is under way");
    keys = at->second;
  }
  LARDER_RETURN_IF_ERROR(check_parts(parts, keys));
  const std::vector<Part> ordered = sorted(parts);
  if (ordered.empty()) return absl::OkStatus();
  const Duration deadline = impl_->engine->options().deadline;
  const auto op = impl_->engine->terms().shm ? shm_parts(put, ordered, deadline)
                                             : stream_parts(put, ordered, deadline);
  const Completion done = impl_->run(op);
  if (done.code != absl::StatusCode::kOk) return absl::Status(done.code, done.message);
  const auto fault = std::find(done.keys.begin(), done.keys.end(), KeyStatus::kFault);
  if (fault == done.keys.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("parts[{}]: its memory cannot be read", fault - done.keys.begin()));
}

Completion Client::put_end(std::uint64_t put) {
  if (const absl::Status status = impl_->usable(); !status.ok()) {
    return failed_completion(status, 0);
  }
  std::size_t keys = 0;
  {
    const std::lock_guard lock(impl_->puts_mutex);
    const auto at = impl_->puts.find(put);
    if (at == impl_->puts.end()) {
      return failed_completion(absl::NotFoundError("no such put is under way"), 0);
    }
    keys = at->second;
    impl_->puts.erase(at);
  }
  if (keys == 0) return {};
  const Duration deadline = impl_->engine->options().deadline;
  if (impl_->engine->terms().shm) {
    return impl_->run(std::make_shared<PutEnd>(put, keys, deadline));
  }
  wire::PutEndRequest body;
  body.set_put(put);
  return impl_->run(std::make_shared<Call>(make_head({.type = FrameType::kPutEnd, .body = &body}),
                                           keys, deadline));
}

void Client::put_abort(std::uint64_t put) {
  if (!impl_->usable().ok()) return;
  {
    const std::lock_guard lock(impl_->puts_mutex);
    if (impl_->puts.erase(put) == 0) return;
  }
  wire::PutEndRequest body;
  body.set_put(put);
  body.set_abort(true);
  impl_->engine->tell(FrameType::kPutEnd, body);
}

}  // namespace larder
