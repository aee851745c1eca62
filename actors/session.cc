#include "actors/session.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/session_calls.h"
#include "actors/session_limits.h"
#include "store/chain.h"
#include "store/limits.h"
#include "transport/frame_head.h"

namespace larder {

namespace {

std::unique_ptr<ByteStream> make_stream(const Session::Options& options) {
  if (options.tls) return TlsStream::accept(*options.tls, options.socket.get());
  return std::make_unique<SocketStream>(options.socket.get());
}

}  // namespace

Session::Session(Options options, NodeContext& node, Time now)
    : options_(std::move(options)),
      node_(node),
      now_(now),
      ready_(now),
      turn_bytes_(kTurnBytes),
      opened_(now),
      last_heard_(now),
      last_sent_progress_(now),
      stream_(make_stream(options_)),
      requests_(node),
      touches_(node),
      leases_(node),
      regions_(node) {
  node_.sessions.fetch_add(1, std::memory_order_relaxed);
  count(node_.metrics.sessions_opened);
}

Session::~Session() {
  reader_.discard_payload();
  ops_.clear();  // each takes back what it reserved
  touches_.flush();
  leases_.release_all();
  requests_.end_all();
  if (!claims_.empty()) {
    auto note = std::make_shared<DropClaimsNote>();
    note->session = id();
    for (std::uint32_t shard = 0; shard < node_.store.shards(); ++shard) {
      node_.shards.send(ShardId(shard), std::shared_ptr<const DropClaimsNote>(note));
    }
  }
  forget_claims(Time::max());
  charge_reader(0);
  if (tenant_ != nullptr) node_.members.give(tenant_->sessions, 1);
  node_.sessions.fetch_sub(1, std::memory_order_relaxed);
}

// -- the io thread
// -----------------------------------------------------------------------------------

bool Session::pump(const Turn& turn) {
  now_ = turn.now;
  ready_ = turn.ready;
  turn_bytes_ = turn.bytes;
  turn_keys_ = kTurnKeys;
  step_call();
  if ((turn.readable || more_to_read_) && wants_read()) read_frames();
  step_ops();
  reap_ops();
  if (!flush()) return false;
  return !failed_ || wants_write();
}

bool Session::wants_read() const {
  return !failed_ && !closed_ && !in_steps() && writer_.queued_bytes() < kWriterPauseBytes;
}

bool Session::runnable() const {
  if (in_steps() && !failed_) return true;
  if (more_to_read_ && wants_read()) return true;
  return std::any_of(ops_.begin(), ops_.end(),
                     [](const auto& item) { return item.second->runnable(); });
}

std::uint8_t Session::priority(bool unread) const {
  if (const auto receiving = ops_.find(payload_op_); receiving != ops_.end()) {
    return receiving->second->priority();
  }
  std::optional<std::uint8_t> most_urgent;
  if (unread || more_to_read_) most_urgent = last_priority_;
  for (const auto& [id, op] : ops_) {
    if (op->runnable())
      most_urgent = std::min(most_urgent.value_or(op->priority()), op->priority());
  }
  return most_urgent.value_or(last_priority_);
}

std::uint8_t Session::note_priority(std::uint64_t request) {
  const SessionRequest* open = request == 0 ? nullptr : requests_.find(request);
  return last_priority_ = open == nullptr ? 0 : open->context.priority;
}

void Session::read_frames() {
  read_what_is_here();
  count_reader();
}

void Session::read_what_is_here() {
  std::size_t budget = turn_bytes_;
  more_to_read_ = false;
  while (wants_read()) {
    if (turn_keys_ == 0) {
      more_to_read_ = true;
      return;
    }
    const ReadResult got = reader_.read(*stream_, budget);
    switch (got.event) {
      case ReadEvent::kFrame:
        last_heard_ = now_;
        handle(reader_.frame());
        break;
      case ReadEvent::kPayloadDone:
        last_heard_ = now_;
        finish_payload();
        break;
      case ReadEvent::kBlocked:
        return;
      case ReadEvent::kBudget:
        last_heard_ = now_;
        more_to_read_ = true;
        return;
      case ReadEvent::kClosed:
        closed_ = true;
        return;
      case ReadEvent::kFailed:
        // A client that died in the middle of a frame has done nothing wrong.
        if (!absl::IsUnavailable(got.status)) count(node_.metrics.frames_refused);
        fail(got.status);
        return;
    }
  }
  more_to_read_ = reader_.buffered() || stream_->pending();
}

void Session::handle(FrameReader::Frame& frame) {
  const Call call{frame.header.id, frame.header.type, frame.body, frame.array,
                  frame.header.payload};
  if (frame.header.is_reply()) {
    // Neither an answer nor a sign of life: nothing is asked of clients.
    return fail(absl::InvalidArgumentError("flags: a client sends no replies"));
  }
  if (!greeted_ && call.type != FrameType::kHello) {
    return fail(absl::UnauthenticatedError("hello: must be the first frame"));
  }
  if (call.id == 0) return fail(absl::InvalidArgumentError("id: 0 is not allowed"));
  payload_op_ = 0;
  if (frame.discarded) return refuse(call, no_room_);
  dispatch(call, frame.fds);
}

void Session::dispatch(const Call& call, Fds& fds) {
  if (absl::Status allowed = check_right(call); !allowed.ok()) {
    audit_refused(call.type, allowed);
    return refuse(call, allowed);
  }
  switch (call.type) {
    case FrameType::kHello:
      return hello(call);
    case FrameType::kPing:
      return reply(call.type, call.id, wire::SimpleReply());
    case FrameType::kOpenNamespace:
      return open_namespace(call);
    case FrameType::kRegisterRegion:
      return register_region(call, fds);
    case FrameType::kUnregisterRegion:
      return unregister_region(call);
    case FrameType::kBeginRequest:
      return begin_request(call);
    case FrameType::kEndRequest:
      return end_request(call);
    case FrameType::kMatch:
      return match(call);
    case FrameType::kGet:
      return get(call);
    case FrameType::kPut:
      return put(call);
    case FrameType::kPutData:
      return put_data(call);
    case FrameType::kPutStart:
      return put_start(call);
    case FrameType::kPutPart:
      return put_part(call);
    case FrameType::kPutEnd:
      return put_end(call);
    case FrameType::kWait:
      return wait(call);
    case FrameType::kRelease:
      return release_gets(call);
    case FrameType::kRenew:
      return renew(call);
    case FrameType::kTouch:
      return touch(call);
    case FrameType::kPin:
      return pin(call);
    case FrameType::kUnpin:
      return unpin(call);
    case FrameType::kRemove:
      return remove(call);
    case FrameType::kRemovePrefix:
      return remove_prefix(call);
    case FrameType::kList:
      return list(call);
    case FrameType::kCancel:
      return cancel(call);
    case FrameType::kStats:
      return stats(call);
    case FrameType::kNamespaces:
      return namespaces(call);
    case FrameType::kSetMode:
      return set_mode(call);
    case FrameType::kPurge:
      return purge(call);
    case FrameType::kGetData:
    case FrameType::kSlabNotice:
    case FrameType::kSlabRetired:
    case FrameType::kError:
    case FrameType::kProgress:
      break;
  }
  refuse(call, absl::UnimplementedError(fmt::format("type: {} is not known to this daemon",
                                                    static_cast<int>(call.type))));
}

void Session::put_data(const Call& call) {
  const auto found = ops_.find(call.id);
  if (found == ops_.end()) return;  // late: the payload goes to scratch memory
  auto* op = dynamic_cast<PayloadOp*>(found->second.get());
  if (op == nullptr || call.payload == 0) return;  // nothing comes
  payload_op_ = call.id;
  const PayloadSink sink = op->payload_sink(call.array, call.payload);
  reader_.receive_payload(sink.pieces, sink.sum, CopyWay::kStreaming);
}

void Session::finish_payload() {
  const auto found = ops_.find(payload_op_);
  payload_op_ = 0;
  if (found == ops_.end()) return;
  if (auto* op = dynamic_cast<PayloadOp*>(found->second.get())) op->on_payload_done(now_);
}

void Session::step_ops() {
  if (ops_.empty()) return;
  std::size_t budget = turn_bytes_;
  for (const std::uint8_t priority : TurnQueue::order_of(++turns_))
    step_ops_of(priority, budget);
}

void Session::step_ops_of(std::uint8_t priority, std::size_t& budget) {
  // One op a turn has the budget's first use; the next turn begins behind it.
  std::uint64_t& last = last_stepped_[priority];
  auto next = ops_.upper_bound(last);
  for (std::size_t n = ops_.size(); n > 0 && budget > 0; --n) {
    if (next == ops_.end()) next = ops_.begin();
    if (next->second->priority() == priority && next->second->runnable()) {
      last = next->first;
      next->second->step(now_, budget);
    }
    ++next;
  }
}

void Session::reap_ops() {
  std::erase_if(ops_, [this](const auto& item) {
    if (!item.second->done()) return false;
    if (item.first == payload_op_) {
      reader_.discard_payload();  // the slots are not ours any more
      payload_op_ = 0;
    }
    return true;
  });
}

bool Session::flush() {
  std::size_t budget = turn_bytes_;
  const std::size_t before = budget;
  const IoResult sent = writer_.flush(*stream_, budget);
  sent_since_progress_ += before - budget;
  if (!wants_write() || sent_since_progress_ >= kReadAtLeast) note_progress();
  if (sent.state == IoState::kClosed || sent.state == IoState::kFailed) return false;
  return !closed_;
}

void Session::note_progress() {
  last_sent_progress_ = now_;
  sent_since_progress_ = 0;
}

bool Session::on_answer(ShardCall& call, Time now) {
  now_ = now;
  const auto found = ops_.find(call.op);
  if (found == ops_.end()) return false;
  found->second->on_answer(call);
  return true;
}

bool Session::on_time(Time now) {
  now_ = now;
  turn_keys_ = kTurnKeys;
  if (in_steps()) last_heard_ = now;  // it is not listened to
  check_grant();
  node_.refusals.on_time(now);
  for (auto& [id, op] : ops_)
    op->on_time(now);
  reap_ops();
  touches_.flush();
  leases_.expire(now);
  requests_.expire(now);
  forget_claims(now);
  // It may have spoken while this thread could not listen (stopped, or starved of time).
  if (!overdue().ok() && wants_read()) read_frames();
  const absl::Status why = overdue();
  if (why.ok()) return flush() && (!failed_ || wants_write());
  count(node_.metrics.sessions_timed_out);
  fail(why);
  flush();  // as much of it as the socket takes
  return false;
}

absl::Status Session::overdue() const {
  using std::chrono::milliseconds;
  const auto ms = [](Duration time) { return std::chrono::ceil<milliseconds>(time).count(); };
  const Config& config = node_.config();
  const Duration silence = now_ - last_heard_;
  if (const Duration age = now_ - opened_; !greeted_ && age > kHelloDeadline) {
    return absl::DeadlineExceededError(
        fmt::format("hello: none came in {} ms, the limit is {}", ms(age), ms(kHelloDeadline)));
  }
  if (greeted_ && silence > milliseconds(config.heartbeat_ms)) {
    return absl::DeadlineExceededError(
        fmt::format("silence: nothing came in {} ms, the limit is heartbeat_ms = {}", ms(silence),
                    config.heartbeat_ms));
  }
  const Duration unread = wants_write() ? now_ - last_sent_progress_ : Duration(0);
  if (unread > milliseconds(config.lease_ms)) {
    return absl::DeadlineExceededError(
        fmt::format("answers: {} bytes of {} were read in {} ms, at least {} must be in lease_ms = "
                    "{}",
                    sent_since_progress_, sent_since_progress_ + writer_.queued_bytes(), ms(unread),
                    kReadAtLeast, config.lease_ms));
  }
  return absl::OkStatus();
}

void Session::announce_retired(SlabId slab) {
  if (announced_.erase(slab) == 0) return;
  wire::SlabRetired body;
  body.set_slab(slab.value());
  tell(FrameType::kSlabRetired, 0, body);
}

// -- for ops and operations
// --------------------------------------------------------------------------

NamespaceRef Session::find_namespace(std::uint64_t id) const {
  const auto found = namespaces_.find(id);
  return found == namespaces_.end() ? nullptr : found->second;
}

ShardId Session::shard_of_name(const BlockHash& name) const {
  return shard_of(name, node_.store.shards());
}

void Session::reply(FrameType type, std::uint64_t id, const google::protobuf::MessageLite& body,
                    std::span<const std::byte> array) {
  OutFrame frame;
  frame.head = make_head({.type = type, .id = id, .reply = true, .body = &body, .array = array});
  push(std::move(frame));
}

void Session::tell(FrameType type, std::uint64_t id, const google::protobuf::MessageLite& body) {
  OutFrame frame;
  frame.head = make_head({.type = type, .id = id, .body = &body});
  push(std::move(frame));
}

void Session::reply_error(FrameType type, std::uint64_t id, const absl::Status& why) {
  wire::SimpleReply body;
  set_status(body.mutable_status(), why);
  reply(type, id, body);
}

void Session::push(OutFrame frame) {
  if (!wants_write()) note_progress();                  // it was not waited for before
  if (!writer_.push(std::move(frame))) failed_ = true;  // does not read what it asks for
}

void Session::discard_payload(std::uint64_t op) {
  if (payload_op_ == op) reader_.discard_payload();
}

bool Session::announce_slab(SlabId slab) {
  if (announced_.contains(slab)) return true;
  auto fds = node_.store.slabs.open_read_only(slab);
  if (!fds.ok()) return false;
  auto owned = std::make_shared<std::pair<Fd, Fd>>(Fd(fds->data), Fd(fds->headers));
  const Slab* found = node_.store.slabs.find(slab);
  if (found == nullptr) return false;
  wire::SlabNotice body;
  body.set_slab(slab.value());
  body.set_bytes(found->bytes().count);
  body.set_slots(found->slots());
  body.set_slot_bytes(found->slot_bytes().count);
  body.set_header_bytes(found->header_bytes().count);
  OutFrame frame;
  frame.head = make_head({.type = FrameType::kSlabNotice, .id = 0, .fds = 2, .body = &body});
  frame.fds = {owned->first.get(), owned->second.get()};
  frame.keep = owned;
  push(std::move(frame));
  announced_.insert(slab);
  return true;
}

void Session::fail(const absl::Status& why) {
  if (failed_) return;
  wire::ErrorNotice body;
  set_status(body.mutable_status(), why);
  OutFrame frame;
  frame.head = make_head({.type = FrameType::kError, .id = 0, .body = &body});
  push(std::move(frame));
  failed_ = true;
}

void Session::refuse(const Call& call, const absl::Status& why) {
  count(node_.metrics.frames_refused);
  reply_error(call.type, call.id, why);
}

NamespaceRef Session::open_or_refuse(const Call& call, std::uint64_t ns) {
  NamespaceRef found = find_namespace(ns);
  if (!found) {
    refuse(call,
           absl::NotFoundError(fmt::format("namespace: {:016x} is not open in this session", ns)));
  }
  return found;
}

bool Session::batch_size_ok(const Call& call, std::size_t keys) {
  if (keys > 0 && keys <= limits::kBatchKeysMax) return true;
  refuse(call, absl::InvalidArgumentError(
                   fmt::format("keys: {}, the limits are 1 to {}", keys, limits::kBatchKeysMax)));
  return false;
}

bool Session::records_or_refuse(const Call& call, std::span<const std::byte> array,
                                std::vector<wire::KeyRecord>& records) {
  if (!wire::parse(array, records)) {
    refuse(call, absl::InvalidArgumentError(fmt::format("array: {} bytes are not key records of {}",
                                                        array.size(), sizeof(wire::KeyRecord))));
    return false;
  }
  if (!batch_size_ok(call, records.size())) return false;
  spend(records.size());
  return true;
}

bool Session::start(const Call& call, std::unique_ptr<SessionOp> op,
                    std::optional<std::uint64_t> request) {
  if (request) op->set_priority(note_priority(*request));
  absl::Status status;
  if (ops_.contains(call.id)) {
    status = absl::AlreadyExistsError(fmt::format("id: {} is in use", call.id));
  } else if (ops_.size() >= limits::kSessionBatchesMax) {
    status = absl::ResourceExhaustedError(fmt::format("calls: {} are open, the limit is {}",
                                                      ops_.size(), limits::kSessionBatchesMax));
  }
  if (!status.ok()) {
    refuse(call, status);
    return false;
  }
  ops_.emplace(call.id, std::move(op));
  return true;
}

}  // namespace larder
