#include "client/client.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "client/client_impl.h"
#include "client/get_shm.h"
#include "client/get_tcp.h"
#include "client/milliseconds.h"
#include "client/put_shm.h"
#include "client/put_tcp.h"
#include "client/server_address.h"
#include "client/view.h"
#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {

absl::Status check_batch(std::size_t keys, std::size_t buffers, std::uint32_t limit) {
  const std::uint32_t most =
      limit == 0 ? limits::kBatchKeysMax : std::min(limit, limits::kBatchKeysMax);
  if (keys > most) {
    return absl::InvalidArgumentError(
        fmt::format("keys: the batch has {}, the limit (batch_keys) is {}", keys, most));
  }
  if (keys != buffers) {
    return absl::InvalidArgumentError(
        fmt::format("buffers: {} entries for {} keys", buffers, keys));
  }
  return absl::OkStatus();
}

Completion failed_completion(const absl::Status& why, std::size_t keys) {
  Completion out;
  out.code = why.code();
  out.message = std::string(why.message());
  out.keys.resize(keys, key_status_of(why.code()));
  return out;
}

namespace {

absl::Status check_lengths(std::span<const Key> keys, const BufferTable& buffers) {
  for (std::size_t n = 0; n < keys.size(); ++n) {
    const std::uint64_t length = buffers.length(n);
    if (length > limits::kBlockBytesMax.count) {
      return absl::InvalidArgumentError(fmt::format("buffers[{}]: {} bytes, the limit is {}", n,
                                                    length, limits::kBlockBytesMax.count));
    }
  }
  return absl::OkStatus();
}

absl::Status check_put(std::span<const Key> keys, const BufferTable& buffers) {
  for (std::size_t n = 0; n < keys.size(); ++n) {
    if (keys[n].length != 0 && keys[n].length != buffers.length(n)) {
      return absl::InvalidArgumentError(fmt::format("buffers[{}]: {} bytes, the key's length is {}",
                                                    n, buffers.length(n), keys[n].length));
    }
  }
  const std::size_t array =
      keys.size() * sizeof(Key) + buffers.piece_count() * sizeof(wire::PutSource);
  if (array > limits::kFrameArrayMax.count) {
    return absl::InvalidArgumentError(
        fmt::format("buffers: {} keys in {} pieces need a frame array of {} bytes, the limit is {}",
                    keys.size(), buffers.piece_count(), array, limits::kFrameArrayMax.count));
  }
  return absl::OkStatus();
}

std::vector<Key> sized_keys(std::span<const Key> keys, const BufferTable& buffers) {
  std::vector<Key> out(keys.begin(), keys.end());
  for (std::size_t n = 0; n < out.size(); ++n) {
    out[n].length = static_cast<std::uint32_t>(buffers.length(n));
  }
  return out;
}

}  // namespace

absl::Status Client::Impl::usable() const {
  if (!engine->forked()) return absl::OkStatus();
  return absl::FailedPreconditionError("the client was made before fork(); connect a new one");
}

Duration Client::Impl::deadline_of(const CallOptions& call) const {
  return call.deadline > Duration(0) ? std::min(call.deadline, kLongest)
                                     : engine->options().deadline;
}

Completion Client::Impl::run(const std::shared_ptr<Operation>& op) const {
  if (!op->finished()) engine->run(op);
  op->completion().id = op->id;
  return std::move(op->completion());
}

namespace {

/// Carries the completion of a call whose arguments were wrong, or that had no keys.
class Stillborn final : public Operation {
 public:
  explicit Stillborn(Completion completion) : Operation(0, std::chrono::seconds(1)) {
    completion_ = std::move(completion);
    finish();
  }
  absl::Status start(Link& /*link*/) override { return absl::OkStatus(); }
  void on_reply(Link& /*link*/, FrameReader::Frame& /*frame*/) override {}
  void give_up(Link* /*link*/, absl::StatusCode /*code*/, std::string /*message*/) override {}
};

std::shared_ptr<Operation> stillborn(const absl::Status& why, std::size_t keys) {
  return std::make_shared<Stillborn>(failed_completion(why, keys));
}

}  // namespace

absl::Status Client::Impl::check_call(std::span<const Key> keys, const BufferTable& buffers,
                                      LinkTerms& terms) const {
  LARDER_RETURN_IF_ERROR(usable());
  terms = engine->terms();
  LARDER_RETURN_IF_ERROR(check_batch(keys.size(), buffers.keys(), terms.batch_keys));
  return check_lengths(keys, buffers);
}

std::shared_ptr<Operation> Client::Impl::make_get(NamespaceId ns, std::span<const Key> keys,
                                                  BufferTable buffers,
                                                  const CallOptions& call) const {
  LinkTerms terms;
  const absl::Status status = check_call(keys, buffers, terms);
  if (!status.ok() || keys.empty()) return stillborn(status, keys.size());
  Get::Request request{.ns = ns,
                       .request = call.request,
                       .verify = call.verify || engine->options().verify,
                       .copy = true,
                       .keys = {keys.begin(), keys.end()},
                       .buffers = std::move(buffers)};
  if (terms.shm) return std::make_shared<ShmGet>(std::move(request), deadline_of(call));
  return std::make_shared<TcpGet>(std::move(request), deadline_of(call));
}

std::shared_ptr<Operation> Client::Impl::make_put(NamespaceId ns, std::span<const Key> keys,
                                                  BufferTable buffers,
                                                  const CallOptions& call) const {
  LinkTerms terms;
  absl::Status status = check_call(keys, buffers, terms);
  if (status.ok()) status = check_put(keys, buffers);
  if (!status.ok() || keys.empty()) return stillborn(status, keys.size());
  std::vector<Key> sized = sized_keys(keys, buffers);
  if (!terms.shm) {
    return std::make_shared<TcpPut>(TcpPut::Request{.ns = ns,
                                                    .request = call.request,
                                                    .keys = std::move(sized),
                                                    .buffers = std::move(buffers)},
                                    deadline_of(call));
  }
  ShmPut::Request request;
  request.ns = ns;
  request.request = call.request;
  request.keys = std::move(sized);
  request.buffers = std::move(buffers);
  return std::make_shared<ShmPut>(std::move(request), deadline_of(call));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Client::~Client() {
  if (impl_->engine->forked()) {
    // Its threads and locks stayed with the parent: nothing of it can be taken down here.
    (void)impl_.release();
    return;
  }
  impl_->engine->stop();
}

absl::StatusOr<std::unique_ptr<Client>> Client::connect(Options options) {
  if (options.server.empty()) {
    const char* named = std::getenv("LARDER_SERVER");  // NOLINT(concurrency-mt-unsafe)
    if (named != nullptr) options.server = named;
  }
  // Left empty, it tells the engine too that nobody named the address.
  LARDER_ASSIGN_OR_RETURN(
      Address address,
      parse_address(options.server.empty() ? server_of(default_server(), kHostServer)
                                           : options.server));
  if (options.transport == Transport::kShm && !address.is_unix()) {
    return absl::InvalidArgumentError(fmt::format(
        "transport shm needs a unix socket, the server's address is {}", address.text()));
  }
  if (options.deadline <= Duration(0) || options.connect_deadline <= Duration(0)) {
    return absl::InvalidArgumentError(
        fmt::format("deadline is {} ns and connect_deadline {} ns, both must be above 0",
                    options.deadline.count(), options.connect_deadline.count()));
  }
  if (options.tls_ca.empty()) {
    const char* named = std::getenv("LARDER_TLS_CA");  // NOLINT(concurrency-mt-unsafe)
    if (named != nullptr) options.tls_ca = named;
  }
  const char* plain = std::getenv("LARDER_PLAIN_TOKEN");  // NOLINT(concurrency-mt-unsafe)
  options.plain_token = options.plain_token || (plain != nullptr && std::string_view(plain) == "1");
  std::shared_ptr<const TlsContext> tls;
  if (!options.tls_ca.empty() && !address.is_unix()) {
    LARDER_ASSIGN_OR_RETURN(tls, TlsContext::client(options.tls_ca));
  }
  options.deadline = std::min(options.deadline, kLongest);
  options.connect_deadline = std::min(options.connect_deadline, kLongest);
  auto engine = std::make_shared<Engine>(std::move(options), std::move(address), std::move(tls));
  LARDER_RETURN_IF_ERROR(engine->start());
  return std::unique_ptr<Client>(new Client(std::make_unique<Impl>(std::move(engine))));
}

// -- bytes
// ------------------------------------------------------------------------------------------

Completion Client::get(NamespaceId ns, std::span<const Key> keys,
                       std::span<const std::vector<MutableBuffer>> buffers,
                       const CallOptions& options) {
  return impl_->run(impl_->make_get(ns, keys, table_of(buffers), options));
}

Completion Client::get(NamespaceId ns, std::span<const Key> keys,
                       std::span<const MutableBuffer> buffers, const CallOptions& options) {
  return impl_->run(impl_->make_get(ns, keys, table_of(buffers), options));
}

Completion Client::put(NamespaceId ns, std::span<const Key> keys,
                       std::span<const std::vector<ConstBuffer>> buffers,
                       const CallOptions& options) {
  return impl_->run(impl_->make_put(ns, keys, table_of(buffers), options));
}

Completion Client::put(NamespaceId ns, std::span<const Key> keys,
                       std::span<const ConstBuffer> buffers, const CallOptions& options) {
  return impl_->run(impl_->make_put(ns, keys, table_of(buffers), options));
}

absl::StatusOr<std::vector<View>> Client::view(NamespaceId ns, std::span<const Key> keys,
                                               const CallOptions& options) {
  LARDER_RETURN_IF_ERROR(impl_->usable());
  const LinkTerms terms = impl_->engine->terms();
  LARDER_RETURN_IF_ERROR(check_batch(keys.size(), keys.size(), terms.batch_keys));
  if (!terms.shm) {
    return absl::FailedPreconditionError(
        "views need shared memory: connect over the unix socket of a larderd on this host");
  }
  std::vector<View> views(keys.size());
  if (keys.empty()) return views;
  const auto op = std::make_shared<ShmGet>(
      Get::Request{.ns = ns,
                   .request = options.request,
                   .verify = options.verify || impl_->engine->options().verify,
                   .copy = false,
                   .keys = {keys.begin(), keys.end()},
                   .buffers = {}},
      impl_->deadline_of(options));
  const Completion done = impl_->run(op);
  if (done.code != absl::StatusCode::kOk) return absl::Status(done.code, done.message);
  std::shared_ptr<ViewBatch> batch;
  if (op->leased()) {
    impl_->engine->hold_lease(op->lease(), op->link_serial);
    batch = std::make_shared<ViewBatch>(impl_->engine, op->lease());
  }
  for (std::size_t n = 0; n < views.size(); ++n) {
    views[n].impl_ = std::make_unique<View::Impl>();
    views[n].impl_->status = done.keys[n];
    if (done.keys[n] != KeyStatus::kOk) continue;
    views[n].impl_->hit = std::move(op->hits()[n]);
    views[n].impl_->batch = batch;
  }
  return views;
}

// -- asynchronous forms
// -----------------------------------------------------------------------------

std::uint64_t Client::submit_get(NamespaceId ns, std::span<const Key> keys,
                                 std::span<const std::vector<MutableBuffer>> buffers,
                                 const CallOptions& options) {
  if (!impl_->usable().ok()) return 0;
  return impl_->engine->submit(impl_->make_get(ns, keys, table_of(buffers), options));
}

std::uint64_t Client::submit_put(NamespaceId ns, std::span<const Key> keys,
                                 std::span<const std::vector<ConstBuffer>> buffers,
                                 const CallOptions& options) {
  if (!impl_->usable().ok()) return 0;
  return impl_->engine->submit(impl_->make_put(ns, keys, table_of(buffers), options));
}

void Client::cancel(std::uint64_t id) {
  if (impl_->usable().ok()) impl_->engine->cancel(id);
}

int Client::event_fd() const {
  return impl_->engine->event_fd();
}

std::vector<Completion> Client::drain_completions() {
  if (!impl_->usable().ok()) return {};
  return impl_->engine->drain();
}

}  // namespace larder
