#include "client/handshake.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <poll.h>

#include "client/clock.h"
#include "client/milliseconds.h"
#include "client/server_address.h"
#include "store/status_macros.h"
#include "transport/namespace_wire.h"
#include "transport/own_directory.h"

namespace larder {
namespace {

/// Apart from the ids of calls, which begin at 1.
constexpr std::uint64_t kFirstId = 1ULL << 61;
constexpr std::size_t kBudget = 1 << 20;
constexpr Duration kLongestWait = std::chrono::seconds(60);

/// One blocking exchange after the other on a stream that nobody else uses yet.
class Dialogue {
 public:
  Dialogue(Link& link, const Address& address, Time end)
      : link_(&link), address_(&address), end_(end) {}

  /// Sends and waits for the reply, which stays in the reader until the next exchange.
  absl::StatusOr<FrameReader::Frame*> exchange(FrameType type,
                                               const google::protobuf::MessageLite& body,
                                               int fd = -1) {
    OutFrame frame{.head = make_head({.type = type,
                                      .id = ++id_,
                                      .fds = static_cast<std::uint8_t>(fd < 0 ? 0 : 1),
                                      .body = &body})};
    if (fd >= 0) frame.fds.push_back(fd);
    LARDER_RETURN_IF_ERROR(link_->send(std::move(frame)));
    for (;;) {
      std::size_t budget = kBudget;
      const IoResult sent = link_->flush(budget);
      if (sent.state == IoState::kClosed || sent.state == IoState::kFailed) {
        const auto said = receive();  // it may have said why before it closed
        if (!said.ok()) return said.status();
        return lost(sent.error == 0 ? "closed" : errno_status({}, "send", sent.error).message());
      }
      LARDER_ASSIGN_OR_RETURN(const bool got, receive());
      if (got) return &link_->reader().frame();
    }
  }

 private:
  absl::Status lost(absl::string_view why) const {
    return absl::UnavailableError(
        fmt::format("larderd at {} ended the connection: {}", address_->text(), std::string(why)));
  }

  /// True when the awaited reply is in the reader; waits for more otherwise.
  absl::StatusOr<bool> receive() {
    std::size_t budget = kBudget;
    const ReadResult result = link_->read(budget);
    switch (result.event) {
      case ReadEvent::kFrame:
        return on_frame(link_->reader().frame());
      case ReadEvent::kPayloadDone:
      case ReadEvent::kBudget:
        return false;
      case ReadEvent::kBlocked:
        LARDER_RETURN_IF_ERROR(wait());
        return false;
      case ReadEvent::kClosed:
        return lost("closed");
      case ReadEvent::kFailed:
        return lost(result.status.message());
    }
    return false;
  }

  absl::StatusOr<bool> on_frame(FrameReader::Frame& frame) {
    if (frame.header.is_reply()) return frame.header.id == id_;
    if (frame.header.type == FrameType::kSlabNotice) link_->on_slab_notice(frame);
    if (frame.header.type == FrameType::kError) {
      wire::ErrorNotice notice;
      if (!parse_body(frame.body, notice)) return lost("malformed error notice");
      // OK would be no error: whoever says so is not believed either.
      if (notice.status().code() == 0) return lost("error notice without an error");
      return absl::Status(static_cast<absl::StatusCode>(notice.status().code()),
                          notice.status().message());
    }
    return false;
  }

  absl::Status wait() {
    const Duration left = end_ - monotonic_now();
    const auto ms = std::min<std::uint32_t>(to_ms(left), std::numeric_limits<int>::max());
    const auto events = static_cast<short>(link_->wants_write() ? POLLIN | POLLOUT : POLLIN);
    pollfd entry{link_->fd(), events, 0};
    if (left.count() > 0 && poll(&entry, 1, static_cast<int>(ms)) != 0) return absl::OkStatus();
    return absl::DeadlineExceededError(fmt::format(
        "larderd at {} does not answer; is it frozen or overloaded?", address_->text()));
  }

  Link* link_;
  const Address* address_;
  Time end_;
  std::uint64_t id_ = kFirstId;
};

absl::Status status_of(const wire::Status& status) {
  if (status.code() == 0) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.code()), status.message());
}

void read_terms(const wire::HelloReply& reply, LinkTerms& terms) {
  const wire::Limits& limits = reply.limits();
  terms.session = reply.session();
  terms.tenant = reply.tenant();
  terms.node = reply.node();
  terms.incarnation = reply.incarnation();
  terms.batch_keys = limits.batch_keys();
  terms.match_units = limits.match_units();
  terms.inline_put_bytes = limits.inline_put_bytes();
  terms.chunk_bytes = limits.chunk_bytes();
  terms.stream_credits = limits.stream_credits();
  terms.heartbeat = std::chrono::milliseconds(limits.heartbeat_ms());
  terms.lease = std::chrono::milliseconds(limits.lease_ms());
  terms.batches = limits.batches();
  terms.shm = reply.shm();
  terms.attach = reply.attach();
  terms.attach_reason = reply.attach_reason();
}

absl::Status say_hello(const HandshakePlan& plan, Link& link, Dialogue& dialogue) {
  wire::HelloRequest hello;
  hello.set_version_min(kProtocolVersion);
  hello.set_version_max(kProtocolVersion);
  hello.set_token(plan.token);
  hello.set_client(plan.name);
  hello.set_want_shm(plan.want_shm);
  if (plan.want_shm) {
    hello.set_probe_address(plan.probe_address);
    hello.set_probe_value(plan.probe_value);
  }
  LARDER_ASSIGN_OR_RETURN(FrameReader::Frame * frame, dialogue.exchange(FrameType::kHello, hello));
  wire::HelloReply reply;
  if (!parse_body(frame->body, reply)) return absl::InternalError("malformed answer to Hello");
  LARDER_RETURN_IF_ERROR(status_of(reply.status()));
  if (reply.version() != kProtocolVersion) {
    return absl::FailedPreconditionError(
        fmt::format("larderd at {} speaks protocol version {}, this client version {}",
                    plan.address.text(), reply.version(), kProtocolVersion));
  }
  read_terms(reply, link.terms);
  if (!reply.shm()) return absl::OkStatus();
  if (frame->fds.empty()) return absl::InternalError("no control page came with the Hello");
  LARDER_ASSIGN_OR_RETURN(ControlPage page, ControlPage::map(std::move(frame->fds[0])));
  link.set_page(std::move(page));
  return absl::OkStatus();
}

/// That the default socket is not one that another user planted.
absl::Status check_directory(const std::string& socket) {
  const std::string directory = socket.substr(0, socket.rfind('/'));
  const absl::Status status = check_own_directory(
      directory, {.name = fmt::format("directory {} of the default socket", directory),
                  .remedy = "have it removed, or name larderd's address in LARDER_SERVER",
                  .user_may_own = socket == kHostServer ? kHostUser : "",
                  .root_may_own = true});
  // Where none is, no larderd is.
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

/// True when the handshake is done in time.
absl::StatusOr<bool> shake_hands(TlsStream& stream, int fd, Time end) {
  for (;;) {
    LARDER_ASSIGN_OR_RETURN(const bool done, stream.shake_hands());
    if (done) return true;
    const Duration left = std::clamp<Duration>(end - monotonic_now(), Duration(0), kLongestWait);
    pollfd entry{fd, static_cast<short>(stream.unsent() ? POLLIN | POLLOUT : POLLIN), 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (left.count() == 0 || poll(&entry, 1, static_cast<int>(ms)) == 0) return false;
  }
}

absl::StatusOr<std::unique_ptr<ByteStream>> encrypt(const HandshakePlan& plan, int fd, Time end) {
  const std::string& name = plan.tls_name.empty() ? plan.address.host : plan.tls_name;
  auto stream = TlsStream::connect(*plan.tls, fd, name);
  const absl::StatusOr<bool> done = shake_hands(*stream, fd, end);
  if (done.ok() && *done) return stream;
  const absl::Status why =
      done.ok() ? absl::DeadlineExceededError("tls handshake: no answer in time") : done.status();
  return absl::Status(why.code(), fmt::format("larderd at {}: {}", plan.address.text(),
                                              std::string(why.message())));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Link>> open_link(const HandshakePlan& plan, Shared& shared,
                                                Duration deadline) {
  const Time end = monotonic_now() + deadline;
  if (plan.address_is_default) LARDER_RETURN_IF_ERROR(check_directory(plan.address.path));
  absl::StatusOr<Fd> fd = connect_to(plan.address, deadline);
  if (!fd.ok()) {
    return absl::Status(fd.status().code(),
                        fmt::format("no larderd at {}: {}; start `larderd`, or name its address in "
                                    "LARDER_SERVER",
                                    plan.address.text(), std::string(fd.status().message())));
  }
  if (!plan.token.empty() && !plan.tls && !plan.plain_token && leaves_host(fd->get())) {
    return absl::FailedPreconditionError(fmt::format(
        "token: not sent to {}: without TLS everybody on the way could read it; name who vouches "
        "for larderd's certificate in LARDER_TLS_CA, or set LARDER_PLAIN_TOKEN=1 where the network "
        "is trusted",
        plan.address.text()));
  }
  std::unique_ptr<ByteStream> stream;
  if (plan.tls && !plan.address.is_unix()) {
    LARDER_ASSIGN_OR_RETURN(stream, encrypt(plan, fd->get(), end));
  }
  auto link = std::make_unique<Link>(*std::move(fd), std::move(stream), shared);
  Dialogue dialogue(*link, plan.address, end);
  LARDER_RETURN_IF_ERROR(say_hello(plan, *link, dialogue));
  // Why a namespace or region was refused, the calls that use it will say.
  for (const NamespaceSpec& spec : plan.namespaces) {
    LARDER_RETURN_IF_ERROR(dialogue.exchange(FrameType::kOpenNamespace, to_wire(spec)).status());
  }
  for (const HandshakePlan::KnownRegion& region : plan.regions) {
    wire::RegisterRegionRequest body;
    body.set_region(region.number);
    body.set_bytes(region.bytes);
    if (!link->terms.shm) break;
    LARDER_RETURN_IF_ERROR(
        dialogue.exchange(FrameType::kRegisterRegion, body, region.memfd.get()).status());
  }
  link->sent_at = link->received_at = monotonic_now();
  return link;
}

}  // namespace larder
