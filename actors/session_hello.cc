// Hello, namespaces and regions.

#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "actors/session.h"
#include "actors/session_calls.h"
#include "actors/session_limits.h"
#include "store/limits.h"
#include "transport/frame_head.h"
#include "transport/namespace_wire.h"

namespace larder {

namespace {

constexpr std::size_t kClientNameMax = 64;

void fill_limits(const Config& config, wire::Limits* out) {
  out->set_batch_keys(limits::kBatchKeysMax);
  out->set_match_units(limits::kMatchUnitsMax);
  out->set_inline_put_bytes(limits::kInlinePutMax.count);
  out->set_chunk_bytes(limits::kFramePayloadMax.count);
  out->set_stream_credits(kStreamCredits);
  out->set_heartbeat_ms(config.heartbeat_ms);
  out->set_lease_ms(config.lease_ms);
  out->set_batches(limits::kSessionBatchesMax);
  out->set_block_bytes_max(limits::kBlockBytesMax.count);
}

/// Waits for the tenant registry.
class OpenNamespaceOp : public SessionOp {
 public:
  OpenNamespaceOp(Session& session, std::uint64_t id) : session_(session), id_(id) {}
  void on_answer(ShardCall& call) override {
    done_ = true;
    if (cancelled_) return answer(absl::CancelledError("the opening was cancelled"));
    if (call.lost) return answer(absl::UnavailableError("the tenant registry is gone"));
    auto& opened = static_cast<OpenNamespaceCall&>(call);
    if (!opened.result.ok()) return answer(opened.result.status());
    session_.add_namespace(*opened.result);
    wire::OpenNamespaceReply body;
    body.set_id((*opened.result)->id.value());
    session_.reply(FrameType::kOpenNamespace, id_, body);
  }
  void step(Time, std::size_t&) override {}
  bool runnable() const override { return false; }
  void on_time(Time) override {}
  void cancel() override { cancelled_ = true; }
  bool done() const override { return done_; }

 private:
  void answer(const absl::Status& status) {
    session_.reply_error(FrameType::kOpenNamespace, id_, status);
  }

  Session& session_;
  std::uint64_t id_;
  bool cancelled_ = false;
  bool done_ = false;  ///< only once answered: the id is not free before
};

}  // namespace

void Session::hello(const Call& call) {
  wire::HelloRequest body;
  if (!parse(call, body)) return;
  if (greeted_) return fail(absl::FailedPreconditionError("hello: sent twice"));
  if (body.version_min() > kProtocolVersion || body.version_max() < kProtocolVersion) {
    return fail(absl::FailedPreconditionError(
        fmt::format("version: the client speaks {} to {}, this daemon {}", body.version_min(),
                    body.version_max(), kProtocolVersion)));
  }
  client_ = for_log(body.client().substr(0, kClientNameMax));
  from_ = options_.is_unix ? fmt::format("uid={} pid={}", options_.peer.uid, options_.peer.pid)
                           : peer_name(fd());
  absl::Status allowed = grant_access(body.token());
  if (allowed.ok()) allowed = join_tenant();
  if (!allowed.ok()) {
    audit_refused(call.type, allowed);
    return fail(allowed);
  }
  greeted_ = true;
  audit(call.type, fmt::format("admin={}", grant_.admin));
  wire::HelloReply answer;
  answer.set_version(kProtocolVersion);
  answer.set_session(id().value());
  answer.set_tenant(grant_.tenant);
  answer.set_admin(grant_.admin);
  answer.set_node(node_.node_id);
  answer.set_incarnation(node_.incarnation);
  fill_limits(node_.config(), answer.mutable_limits());
  const bool wanted = options_.is_unix && body.want_shm();
  const bool shared = wanted && open_control_page();
  if (wanted && !shared) count(node_.metrics.shm_refused);
  answer.set_shm(shared);
  if (shared) {
    const absl::Status attached = try_attach(body.probe_address(), body.probe_value());
    answer.set_attach(attached.ok());
    if (!attached.ok()) answer.set_attach_reason(std::string(attached.message()));
  }
  OutFrame frame;
  frame.head = make_head({.type = FrameType::kHello,
                          .id = call.id,
                          .reply = true,
                          .fds = static_cast<std::uint8_t>(shared ? 1 : 0),
                          .body = &answer});
  if (shared) frame.fds.push_back(control_page_->fd());
  push(std::move(frame));
}

bool Session::open_control_page() {
  auto page = ControlPage::create();
  if (!page.ok()) return false;
  control_page_ = std::make_unique<ControlPage>(*std::move(page));
  return true;
}

absl::Status Session::try_attach(std::uint64_t address, std::uint64_t value) {
  NodeMetrics& metrics = node_.metrics;
  if (node_.config().attach == "off") {
    count(metrics.attach_refused_off);
    return absl::PermissionDeniedError("switched off: attach=off");
  }
  // A page-fault handler of the client can block the read for ever, and this is an io thread: only
  // for who could stop the daemon anyway.
  if (options_.peer.uid != ::geteuid()) {
    count(metrics.attach_refused_uid);
    return absl::PermissionDeniedError(
        fmt::format("uid {} is not the daemon's ({})", options_.peer.uid, ::geteuid()));
  }
  auto process = AttachedProcess::open(fd());
  const absl::Status attached = process.ok() ? process->probe(address, value) : process.status();
  if (!attached.ok()) {
    count(metrics.attach_refused_host);
    return attached;
  }
  peer_process_ = std::make_unique<AttachedProcess>(*std::move(process));
  return absl::OkStatus();
}

void Session::open_namespace(const Call& call) {
  wire::OpenNamespaceRequest body;
  if (!parse(call, body)) return;
  if (body.groups_size() > static_cast<int>(limits::kGroupsMax)) {
    return refuse(call,
                  absl::InvalidArgumentError(fmt::format("groups: {}, the limit is {}",
                                                         body.groups_size(), limits::kGroupsMax)));
  }
  if (namespaces_.size() >= limits::kSessionNamespacesMax) {
    return refuse(call, absl::ResourceExhaustedError(
                            fmt::format("namespace: {} are open in this session, the limit is {}",
                                        namespaces_.size(), limits::kSessionNamespacesMax)));
  }
  const auto ttl_max = std::chrono::duration_cast<std::chrono::milliseconds>(kNamespaceTtlMax);
  if (body.ttl_ms() > static_cast<std::uint64_t>(ttl_max.count())) {
    return refuse(call, absl::InvalidArgumentError(fmt::format("ttl_ms: {}, the limit is {}",
                                                               body.ttl_ms(), ttl_max.count())));
  }
  for (const wire::Group& group : body.groups()) {
    if (group.kind() > 2) {
      return refuse(call,
                    absl::InvalidArgumentError(fmt::format(
                        "group kind: {} is not 0 (full), 1 (window) or 2 (state)", group.kind())));
    }
  }
  if (!start(call, std::make_unique<OpenNamespaceOp>(*this, call.id))) return;
  auto ask = std::make_shared<OpenNamespaceCall>();
  ask->reply_to = inbox();
  ask->session = id();
  ask->op = call.id;
  ask->tenant = grant_.tenant;
  ask->spec = from_wire(body);
  node_.tenants.send(std::move(ask));
}

void Session::register_region(const Call& call, Fds& fds) {
  wire::RegisterRegionRequest body;
  if (!parse(call, body)) return;
  if (!shm() || fds.size() != 1) {
    return refuse(
        call,
        absl::InvalidArgumentError(fmt::format(
            "region {}: {} descriptors in a session {} shm; one in a session with shm is needed",
            body.region(), fds.size(), shm() ? "with" : "without")));
  }
  if (absl::Status added = regions_.add(body.region(), fds[0], Bytes{body.bytes()}); !added.ok()) {
    return refuse(call, added);
  }
  reply(call.type, call.id, wire::SimpleReply());
}

void Session::unregister_region(const Call& call) {
  wire::UnregisterRegionRequest body;
  if (!parse(call, body)) return;
  if (absl::Status removed = regions_.remove(body.region()); !removed.ok()) {
    return refuse(call, removed);
  }
  reply(call.type, call.id, wire::SimpleReply());
}

}  // namespace larder
