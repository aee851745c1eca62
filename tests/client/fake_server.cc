#include "tests/client/fake_server.h"

#include <algorithm>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/clock.h"
#include "tests/client/fake_connection.h"
#include "transport/frame_head.h"

namespace larder::sim {
FakeServer::FakeServer(Options options)
    : options_(std::move(options)), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  static std::atomic<int> number{0};
  address_ = options_.tcp ? "127.0.0.1:0"
                          : "/tmp/larder-fake-" + std::to_string(getpid()) + "-" +
                                std::to_string(number.fetch_add(1));
  start();
}

FakeServer::~FakeServer() {
  stop();
  if (!options_.tcp) unlink(address_.c_str());
}

void FakeServer::start() {
  if (!options_.tcp) unlink(address_.c_str());
  absl::StatusOr<Fd> listener = listen_on(*parse_address(address_));
  LARDER_ASSERT(listener.ok());
  listener_ = *std::move(listener);
  if (options_.tcp) address_ = "127.0.0.1:" + std::to_string(*local_port(listener_.get()));
  running_ = true;
  thread_ = std::thread([this] { loop(); });
}

void FakeServer::stop() {
  if (!running_.exchange(false)) return;
  eventfd_write(wake_.get(), 1);
  thread_.join();
  connections_.clear();
  listener_.reset();
}

bool FakeServer::has(const wire::KeyRecord& key) {
  const std::lock_guard lock(blocks_mutex_);
  return std::any_of(blocks_.all().begin(), blocks_.all().end(), [&key](const auto& entry) {
    return std::get<1>(entry.first) == key.hash && std::get<2>(entry.first) == key.group &&
           std::get<3>(entry.first) == key.rank;
  });
}

std::size_t FakeServer::blocks() {
  const std::lock_guard lock(blocks_mutex_);
  return blocks_.size();
}

void FakeServer::loop() {
  while (running_) {
    std::vector<pollfd> polls = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const auto& connection : connections_) {
      const auto events =
          static_cast<short>(connection->writer.empty() ? POLLIN : POLLIN | POLLOUT);
      polls.push_back({faults.frozen ? -1 : connection->fd.get(), events, 0});
    }
    poll(polls.data(), polls.size(), 1);
    if (faults.frozen) continue;
    if ((polls[1].revents & POLLIN) != 0) {
      absl::StatusOr<std::optional<Fd>> fd = accept_from(listener_.get());
      if (fd.ok() && fd->has_value()) {
        connections_.push_back(std::make_unique<Connection>(std::move(**fd)));
        accepted_.fetch_add(1);
      }
    }
    for (const auto& connection : connections_)
      serve(*connection);
    std::erase_if(connections_, [this](const auto& connection) {
      if (!connection->over) return false;
      for (const auto& [get, count] : connection->leases)
        leases_.fetch_sub(count);
      return true;
    });
  }
}

void FakeServer::serve(Connection& connection) {
  finish_held(connection);
  const Time now = monotonic_now();
  while (!connection.delayed.empty() && connection.delayed.front().first <= now) {
    (void)connection.writer.push(std::move(connection.delayed.front().second));
    connection.delayed.erase(connection.delayed.begin());
  }
  for (bool more = true; more && !connection.over;) {
    std::size_t budget = 4 << 20;
    const ReadResult got = connection.reader.read(connection.fd.get(), budget);
    switch (got.event) {
      case ReadEvent::kFrame:
        on_frame(connection);
        break;
      case ReadEvent::kPayloadDone:
        if (connection.muted) break;
        if (connection.payload_of.type == FrameType::kPutData) take_chunk(connection);
        if (connection.payload_of.type == FrameType::kPutPart) take_part(connection);
        if (connection.payload_of.type == FrameType::kPut) take_inline(connection);
        break;
      case ReadEvent::kBlocked:
      case ReadEvent::kBudget:
        more = false;
        break;
      case ReadEvent::kClosed:
      case ReadEvent::kFailed:
        connection.over = true;
        break;
    }
  }
  std::size_t budget = 16 << 20;
  const IoResult sent = connection.writer.flush(connection.fd.get(), budget);
  if (sent.state == IoState::kClosed || sent.state == IoState::kFailed) connection.over = true;
}

void FakeServer::on_frame(Connection& connection) {
  FrameReader::Frame& frame = connection.reader.frame();
  seen_[static_cast<std::size_t>(frame.header.type)].fetch_add(1);
  connection.payload_of = frame.header;
  if (static_cast<int>(frame.header.type) == faults.drop_on) {
    connection.over = true;
    return;
  }
  // Decided once for a frame, so that no part of an answer is lost. A region is a state of the
  // session: without it, puts that come after the silence would fail.
  connection.muted = faults.silent && frame.header.type != FrameType::kRegisterRegion;
  if (!connection.muted) dispatch(connection, frame);
}

void FakeServer::dispatch(Connection& connection, FrameReader::Frame& frame) {
  switch (frame.header.type) {
    case FrameType::kHello:
      return on_hello(connection, frame);
    case FrameType::kOpenNamespace:
      return on_open(connection, frame);
    case FrameType::kRegisterRegion:
      return on_region(connection, frame);
    case FrameType::kMatch:
      return on_match(connection, frame);
    case FrameType::kGet:
      return on_get(connection, frame);
    case FrameType::kPut:
      return on_put(connection, frame);
    case FrameType::kPutData:
      return on_put_data(connection, frame);
    case FrameType::kPutStart:
      return on_layer(connection, frame);
    case FrameType::kPutPart:
      return on_layer_part(connection, frame);
    case FrameType::kPutEnd:
      return on_layer_end(connection, frame);
    case FrameType::kRelease:
      return on_release(frame, connection);
    case FrameType::kCancel:
      return on_cancel(connection, frame);
    case FrameType::kRenew:
      return;
    case FrameType::kWait:
    case FrameType::kTouch:
    case FrameType::kPin:
    case FrameType::kUnpin:
    case FrameType::kRemove:
      return on_keys(connection, frame);
    default:
      return reply(connection, frame.header.type, frame.header.id, wire::SimpleReply());
  }
}

void FakeServer::push(Connection& connection, OutFrame frame, int delay_ms) {
  if (faults.truncate.exchange(false)) {
    frame.head.resize(frame.head.size() / 2);
    frame.payload.clear();
    (void)connection.writer.push(std::move(frame));
    std::size_t budget = 1 << 20;
    connection.writer.flush(connection.fd.get(), budget);
    connection.over = true;
    return;
  }
  if (faults.garbage.exchange(false)) std::fill(frame.head.begin(), frame.head.end(), std::byte{7});
  if (delay_ms > 0) {
    connection.delayed.emplace_back(monotonic_now() + std::chrono::milliseconds(delay_ms),
                                    std::move(frame));
  } else {
    (void)connection.writer.push(std::move(frame));
  }
}

void FakeServer::reply(Connection& connection, FrameType type, std::uint64_t id,
                       const google::protobuf::MessageLite& body,
                       std::span<const std::byte> array) {
  wire::SimpleReply error;
  const int code = type == FrameType::kHello ? 0 : faults.error_code.load();
  if (code != 0) {
    error.mutable_status()->set_code(code);
    error.mutable_status()->set_message("told to fail");
    array = {};
  }
  OutFrame out{.head = make_head({.type = type,
                                  .id = id,
                                  .reply = true,
                                  .body = code != 0 ? &error : &body,
                                  .array = array})};
  const bool delayed = faults.delay_on == 0 || faults.delay_on == static_cast<int>(type);
  const int delay_ms = delayed ? faults.delay_ms.load() : 0;
  constexpr int kProgressMs = 50;
  for (int ms = kProgressMs; faults.progress && ms < delay_ms; ms += kProgressMs) {
    const wire::SimpleReply none;
    push(connection, {.head = make_head({.type = FrameType::kProgress, .id = id, .body = &none})},
         ms);
  }
  push(connection, std::move(out), delay_ms);
}

void FakeServer::on_hello(Connection& connection, FrameReader::Frame& frame) {
  wire::HelloRequest hello;
  LARDER_ASSERT(parse_body(frame.body, hello));
  wire::HelloReply body;
  body.set_version(kProtocolVersion);
  body.set_session(1);
  if (hello.token() != options_.token) {
    body.mutable_status()->set_code(static_cast<int>(absl::StatusCode::kUnauthenticated));
    body.mutable_status()->set_message("wrong token");
    return reply(connection, FrameType::kHello, frame.header.id, body);
  }
  wire::Limits* limits = body.mutable_limits();
  limits->set_batch_keys(4096);
  limits->set_inline_put_bytes(64 << 10);
  limits->set_chunk_bytes(256 << 10);
  limits->set_stream_credits(1 << 20);
  limits->set_heartbeat_ms(options_.heartbeat_ms);
  limits->set_lease_ms(options_.lease_ms);
  OutFrame out;
  const bool shm = options_.shm && !options_.tcp && hello.want_shm();
  if (shm) {
    connection.page = *ControlPage::create();
    body.set_shm(true);
    out.fds.push_back(connection.page->fd());
    body.set_attach_reason("the fake server was told not to");
    absl::StatusOr<AttachedProcess> peer = AttachedProcess::open(connection.fd.get());
    if (options_.attach && peer.ok() &&
        peer->probe(hello.probe_address(), hello.probe_value()).ok()) {
      body.set_attach(true);
      body.set_attach_reason("");
      connection.peer = *std::move(peer);
    }
  }
  out.head = make_head({.type = FrameType::kHello,
                        .id = frame.header.id,
                        .reply = true,
                        .fds = static_cast<std::uint8_t>(shm ? 1 : 0),
                        .body = &body});
  push(connection, std::move(out));
}

void FakeServer::on_open(Connection& connection, FrameReader::Frame& frame) {
  wire::OpenNamespaceRequest body;
  LARDER_ASSERT(parse_body(frame.body, body));
  NamespaceSpec spec;
  spec.fingerprint.model = body.model();
  spec.fingerprint.flat = body.flat();
  spec.unit_tokens = body.unit_tokens();
  spec.ranks = body.ranks();
  for (const wire::Group& group : body.groups()) {
    spec.groups.push_back({.kind = static_cast<GroupKind>(group.kind()),
                           .block_tokens = group.block_tokens(),
                           .window_tokens = group.window_tokens(),
                           .block_bytes = {group.block_bytes()}});
  }
  std::uint64_t id = 0;
  for (const auto& [known, other] : namespaces_) {
    if (other.fingerprint == spec.fingerprint) id = known;
  }
  if (id == 0) id = next_namespace_++;
  namespaces_[id] = spec;
  wire::OpenNamespaceReply out;
  out.set_id(id);
  reply(connection, FrameType::kOpenNamespace, frame.header.id, out);
}

void FakeServer::on_region(Connection& connection, FrameReader::Frame& frame) {
  wire::RegisterRegionRequest body;
  wire::SimpleReply out;
  LARDER_ASSERT(parse_body(frame.body, body) && frame.fds.size() == 1);
  absl::StatusOr<RegionMap> map = RegionMap::map(frame.fds[0], {body.bytes()}, {1ULL << 40});
  if (faults.refuse_regions) map = absl::ResourceExhaustedError("over the quota of regions");
  if (map.ok()) {
    connection.regions.insert_or_assign(body.region(), *std::move(map));
  } else {
    out.mutable_status()->set_code(static_cast<int>(map.status().code()));
    out.mutable_status()->set_message(std::string(map.status().message()));
  }
  reply(connection, FrameType::kRegisterRegion, frame.header.id, out);
}

}  // namespace larder::sim
