#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"

#include "client/buffers.h"
#include "client/call.h"
#include "client/client.h"
#include "client/engine.h"

namespace larder {

/// What the client's methods share: making operations of arguments, running them.
struct Client::Impl {
  explicit Impl(std::shared_ptr<Engine> runs) : engine(std::move(runs)) {}

  /// Not OK in a forked child.
  absl::Status usable() const;
  Duration deadline_of(const CallOptions& call) const;

  /// A frame and its reply; the call is returned when OK.
  absl::StatusOr<std::shared_ptr<Call>> exchange(FrameType type,
                                                 const google::protobuf::MessageLite& body,
                                                 std::span<const std::byte> array = {}) const;
  /// The same with one result a key.
  Completion exchange_keys(FrameType type, const google::protobuf::MessageLite& body,
                           std::span<const Key> keys, Duration deadline) const;

  /// The terms of the connection, when the arguments are right.
  absl::Status check_call(std::span<const Key> keys, const BufferTable& buffers,
                          LinkTerms& terms) const;
  /// The operation of a get or put; finished already when the arguments are wrong or say nothing.
  std::shared_ptr<Operation> make_get(NamespaceId ns, std::span<const Key> keys,
                                      BufferTable buffers, const CallOptions& call) const;
  std::shared_ptr<Operation> make_put(NamespaceId ns, std::span<const Key> keys,
                                      BufferTable buffers, const CallOptions& call) const;
  Completion run(const std::shared_ptr<Operation>& op) const;

  std::shared_ptr<Engine> engine;
  std::atomic<std::uint64_t> last_request{0};

  /// Layer-by-layer puts under way: how many keys each has.
  std::mutex puts_mutex;
  absl::flat_hash_map<std::uint64_t, std::size_t> puts;
};

/// INVALID_ARGUMENT naming what is wrong and the limit.
absl::Status check_batch(std::size_t keys, std::size_t buffers, std::uint32_t limit);
Completion failed_completion(const absl::Status& why, std::size_t keys);

/// Buffers of either form as a table; one more entry than keys never passes check_batch().
template <class Buffer>
BufferTable table_of(std::span<const std::vector<Buffer>> buffers) {
  BufferTable out;
  for (const std::vector<Buffer>& pieces : buffers)
    out.add(std::span<const Buffer>(pieces));
  return out;
}
template <class Buffer>
BufferTable table_of(std::span<const Buffer> buffers) {
  BufferTable out;
  for (const Buffer& buffer : buffers)
    out.add(std::span<const Buffer>(&buffer, 1));
  return out;
}

}  // namespace larder
