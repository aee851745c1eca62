#include "actors/io_thread.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "actors/clock.h"
#include "actors/session_abort.h"
#include "actors/session_calls.h"
#include "actors/session_limits.h"
#include "store/assert.h"
#include "transport/frame_head.h"

namespace larder {

namespace {

constexpr std::uint64_t kInboxTag = 0;  // session ids begin at 1; listeners count down from the top
constexpr std::uint64_t kListenerTag = ~0ULL;
constexpr int kEventsMax = 256;
/// Connections that may be on their way to their io threads: the rest waits in the kernel, so that
/// a burst of silent ones is thinned out before it has taken every place.
constexpr std::uint32_t kArrivingMax = 16;
/// Turns are taken for this long before newcomers are looked for.
constexpr Duration kLookPeriod = std::chrono::microseconds(50);
constexpr Duration kTimerPeriod = std::chrono::milliseconds(1);
/// How much longer than a look at all timers the time to the next one is.
constexpr int kTimerRest = 4;
constexpr Duration kIdlePeriod = std::chrono::milliseconds(250);

void watch(int epoll, int fd, std::uint32_t events, std::uint64_t tag, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  LARDER_ASSERT(::epoll_ctl(epoll, operation, fd, &event) == 0);
}

Fd keep_descriptor() {
  return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

IoThread::IoThread(NodeContext& node, QuiescenceDomain::Reader reader, std::vector<Fd> listeners)
    : node_(node),
      reader_(std::move(reader)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      spare_(keep_descriptor()) {
  LARDER_ASSERT(epoll_.valid());
  watch(epoll_.get(), inbox_.event_fd(), EPOLLIN, kInboxTag, EPOLL_CTL_ADD);
  for (Fd& fd : listeners) {
    const bool is_unix = !local_port(fd.get()).ok();
    watch(epoll_.get(), fd.get(), EPOLLIN, kListenerTag - listeners_.size(), EPOLL_CTL_ADD);
    listeners_.push_back({std::move(fd), is_unix});
  }
}

IoThread::~IoThread() {
  LARDER_ASSERT(!thread_.joinable());
}

void IoThread::start() {
  thread_ = std::thread([this] { run(); });
}

void IoThread::stop() {
  if (!thread_.joinable()) return;
  inbox_.post(Inbox::Task([](IoThread& self) { self.request_stop(); }));
  thread_.join();
}

void IoThread::run() {
  now_ = now();
  seen_.store(now_, std::memory_order_relaxed);
  last_activity_ = now_;
  while (!stopping_) {
    reader_.quiescent();
    const bool active = turn();
    now_ = now();
    if (active) last_activity_ = now_;
    if (now_ >= next_timer_) on_time();
  }
  peers_.clear();
  reader_.offline();
}

/// One look at everything; sleeps when there is nothing to do. True when something happened.
bool IoThread::turn() {
  const bool spinning = now_ - last_activity_ < std::chrono::microseconds(node_.config().spin_us);
  if (!turns_.empty() || spinning || !inbox_.empty()) {
    const bool events = look();
    const bool drained = drain_inbox();
    return work() || events || drained;
  }
  if (!inbox_.prepare_sleep()) return drain_inbox();
  reader_.offline();
  const auto until = std::max<Duration>(next_timer_ - now_, std::chrono::milliseconds(1));
  epoll_event event{};
  // Level triggered: what it saw is seen again by the look below, when indexes may be read.
  ::epoll_wait(
      epoll_.get(), &event, 1,
      static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(until).count()));
  reader_.online();
  now_ = now();
  const bool events = look();
  inbox_.awake();
  const bool drained = drain_inbox();
  return work() || events || drained;
}

/// Takes newcomers, and queues the sessions whose sockets are ready.
bool IoThread::look() {
  std::array<epoll_event, kEventsMax> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsMax, 0);
  bool active = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
    if (tag == kInboxTag) continue;
    active = true;
    if (kListenerTag - tag < listeners_.size()) {
      accept_all(kListenerTag - tag);
    } else if (const auto found = peers_.find(tag); found != peers_.end()) {
      on_ready(tag, found->second);
    }
  }
  return active;
}

bool IoThread::drain_inbox() {
  std::vector<Inbox::Item> items = inbox_.take();
  for (Inbox::Item& item : items) {
    if (auto* task = std::get_if<Inbox::Task>(&item)) {
      (*task)(*this);
      continue;
    }
    if (auto* lost = std::get_if<std::shared_ptr<const AbortNote>>(&item)) {
      lost_aborts_.push_back(std::move(*lost));  // its shard is being made anew: not at once
      continue;
    }
    ShardCall& call = *std::get<std::shared_ptr<ShardCall>>(item);
    const auto found = peers_.find(call.session.value());
    now_ = now();
    if (found == peers_.end() || !found->second.session->on_answer(call, now_)) {
      abort_reserved(node_, call);  // nobody is there to fill these slots
      continue;
    }
    const std::string& tenant = found->second.session->tenant();
    turns_.charge(tenant, share_of(tenant), now() - now_);
    queue(call.session.value(), found->second);
  }
  return !items.empty();
}

/// Sessions take turns until none waits, or it is time to look for others.
bool IoThread::work() {
  Duration spent{0};
  while (spent < kLookPeriod) {
    now_ = now();
    const auto id = turns_.begin_turn(now_);
    if (!id) return spent > Duration{0};
    pump(*id);
    const Duration took = now() - now_;
    turns_.end_turn(took);
    spent += std::max<Duration>(took, Duration{1});
  }
  return true;
}

void IoThread::watch_listener(std::size_t number, std::uint32_t events) {
  listeners_[number].paused = events == 0;
  watch(epoll_.get(), listeners_[number].fd.get(), events, kListenerTag - number, EPOLL_CTL_MOD);
}

void IoThread::accept_all(std::size_t number) {
  Listener& listener = listeners_[number];
  while (node_.arriving.load() < kArrivingMax) {
    auto accepted = accept_from(listener.fd.get());
    if (!accepted.ok() || (accepted->has_value() && !keep_spare())) {
      // The kernel looks for a descriptor first: it says so too when nobody waits.
      const Told told = tell_of_descriptors(listener, std::move(accepted));
      if (told == Told::kNobodyWaits) return;
      count(node_.metrics.accepts_failed);
      if (told == Told::kYes) continue;
      // Who waits is tried again later; the listener stays readable meanwhile.
      return watch_listener(number, 0);
    }
    if (!accepted->has_value()) return;
    auto socket = std::make_shared<Fd>(std::move(**accepted));
    PeerCredentials peer;
    if (listener.is_unix) {
      const auto known = peer_credentials(socket->get());
      if (!known.ok()) continue;
      peer = *known;
    }
    // Who was accepted a moment ago counts too: no session has been made of it yet.
    const std::uint32_t open = node_.arriving.load() + node_.sessions.load();
    const std::uint32_t kept = listener.is_unix && is_trusted(peer) ? kSessionsKept : 0;
    // Who says nothing makes room for who comes.
    if (open >= node_.config().max_sessions + kept && !drop_oldest_unknown(0, kUnknownAge)) {
      refuse(*socket, fmt::format("sessions: {} are open, the limit is max_sessions={}", open,
                                  node_.config().max_sessions));
      continue;
    }
    IoThread& target = *node_.io_threads[next_thread_++ % node_.io_threads.size()];
    const bool is_unix = listener.is_unix;
    node_.arriving.fetch_add(1);
    target.inbox().post(Inbox::Task([socket, is_unix, peer](IoThread& self) {
      self.add_session(std::move(*socket), is_unix, peer);
      self.node_.arriving.fetch_sub(1);
    }));
  }
}

/// Others of the process may have taken the spare's place while it was given up. Who comes then
/// must not have the last descriptor, else nobody could be told any more.
bool IoThread::keep_spare() {
  if (!spare_.valid()) spare_ = keep_descriptor();
  return spare_.valid();
}

/// Tells who came, or is next in line, that there is no descriptor for it, with the one that is
/// kept for that.
IoThread::Told IoThread::tell_of_descriptors(const Listener& listener, Accepted accepted) {
  const bool had = std::exchange(spare_, Fd()).valid();
  if (had) accepted = accept_from(listener.fd.get());
  const bool is_there = accepted.ok() && accepted->has_value();
  if (is_there) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    refuse(**accepted, fmt::format("descriptors: none are left, the limit is {} (RLIMIT_NOFILE); "
                                   "raise LimitNOFILE or lower max_sessions={}",
                                   limit.rlim_cur, node_.config().max_sessions));
    accepted = std::optional<Fd>();  // closed: its descriptor is the next spare
  }
  const bool kept = keep_spare();
  if (is_there) return Told::kYes;
  return accepted.ok() && kept ? Told::kNobodyWaits : Told::kNo;
}

void IoThread::refuse(const Fd& socket, const std::string& why) {
  count(node_.metrics.sessions_refused);
  wire::ErrorNotice body;
  set_status(body.mutable_status(), absl::ResourceExhaustedError(why));
  const std::vector<std::byte> head =
      make_head({.type = FrameType::kError, .id = 0, .body = &body});
  const iovec piece{const_cast<std::byte*>(head.data()), head.size()};
  send_message(socket.get(), {&piece, 1});  // best effort: the connection is closed either way
}

void IoThread::add_session(Fd socket, bool is_unix, PeerCredentials peer) {
  const std::uint64_t id = node_.next_session.fetch_add(1, std::memory_order_relaxed);
  const int fd = socket.get();
  Session::Options options{.id = SessionId(id),
                           .socket = std::move(socket),
                           .is_unix = is_unix,
                           .peer = peer,
                           .tls = is_unix ? nullptr : node_.tls.get(),
                           .inbox = &inbox_};
  if (!is_unix || !is_trusted(peer)) {
    make_room_for_unknown();
    unknown_.push_back(id);
  }
  Peer& added = peers_[id];
  added.session = std::make_unique<Session>(std::move(options), node_, now_);
  added.events = EPOLLIN;
  watch(epoll_.get(), fd, EPOLLIN, id, EPOLL_CTL_ADD);
  next_timer_ = std::min(next_timer_, now_ + 20 * kTimerPeriod);
}

/// Who connects and says nothing is not to keep out who does: the oldest of them goes.
void IoThread::make_room_for_unknown() {
  const auto most = static_cast<std::size_t>(node_.config().max_sessions / kUnknownShare /
                                             std::max<std::size_t>(1, node_.io_threads.size()));
  drop_oldest_unknown(std::max<std::size_t>(most, kUnknownMin) - 1, Duration{0});
}

/// False: no more than `kept` have said no Hello, or all are younger than `age`.
bool IoThread::drop_oldest_unknown(std::size_t kept, Duration age) {
  if (unknown_.size() <= kept) return false;
  std::erase_if(unknown_, [this](std::uint64_t id) {
    const auto found = peers_.find(id);
    return found == peers_.end() || found->second.session->greeted();
  });
  if (unknown_.size() <= kept) return false;
  Session& oldest = *peers_.find(unknown_.front())->second.session;
  if (now() - oldest.opened() < age) return false;
  count(node_.metrics.sessions_refused);
  oldest.fail(absl::ResourceExhaustedError(
      fmt::format("hello: none came, and {} newer connections wait for theirs", unknown_.size())));
  oldest.on_time(now_);  // as much of it as the socket takes
  close(unknown_.front());
  unknown_.pop_front();
  return true;
}

void IoThread::pump(std::uint64_t id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  peer.queued = false;
  const Session::Turn turn{.now = now_,
                           .ready = peer.ready,
                           .readable = std::exchange(peer.readable, false),
                           .bytes = turns_.contended(now_) ? kSharedTurnBytes : kTurnBytes};
  if (!peer.session->pump(turn)) return close(id);
  if (peer.session->runnable()) queue(id, peer);
  update_events(id, peer);
}

std::uint32_t IoThread::share_of(const std::string& tenant) const {
  return node_.tenant_limits.get().of(tenant).share;
}

/// For one turn, however many events it has.
void IoThread::queue(std::uint64_t id, Peer& peer) {
  if (peer.queued) return;
  peer.queued = true;
  peer.ready = now_;
  const std::string& tenant = peer.session->tenant();
  turns_.push(id, tenant, share_of(tenant), peer.session->priority(peer.readable));
}

/// Its socket has something to read, or room. One that waits for its turn and is told of again is
/// not watched until then: else a thousand of them stood before every newcomer.
void IoThread::on_ready(std::uint64_t id, Peer& peer) {
  if (peer.queued && peer.readable) return watch_events(id, peer, 0);
  peer.readable = true;
  queue(id, peer);
}

void IoThread::update_events(std::uint64_t id, Peer& peer) {
  watch_events(id, peer,
               (peer.session->wants_read() ? std::uint32_t{EPOLLIN} : 0U) |
                   (peer.session->wants_write() ? std::uint32_t{EPOLLOUT} : 0U));
}

void IoThread::watch_events(std::uint64_t id, Peer& peer, std::uint32_t wanted) {
  if (wanted == peer.events) return;
  peer.events = wanted;
  watch(epoll_.get(), peer.session->fd(), wanted, id, EPOLL_CTL_MOD);
}

void IoThread::close(std::uint64_t id) {
  // The descriptor leaves epoll with its last reference, which the session has.
  peers_.erase(id);
}

void IoThread::announce_retired(SlabId slab) {
  for (auto& [id, peer] : peers_) {
    peer.session->announce_retired(slab);
    queue(id, peer);
  }
}

void IoThread::on_time() {
  seen_.store(now_, std::memory_order_relaxed);
  std::vector<std::uint64_t> over;
  bool waiting = false;
  for (auto& [id, peer] : peers_) {
    if (!peer.session->on_time(now_)) over.push_back(id);
    waiting = waiting || peer.session->waiting();
    if (peer.session->runnable()) queue(id, peer);
    update_events(id, peer);
  }
  for (const std::uint64_t id : over)
    close(id);
  bool somebody_may_wait = !peers_.empty();
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    if (!listeners_[i].paused) continue;
    somebody_may_wait = true;
    watch_listener(i, EPOLLIN);
  }
  node_.pins.expire(node_.store, now_);
  for (auto& note : std::exchange(lost_aborts_, {})) {
    const ShardId shard = note->shard;
    node_.shards.send(shard, std::move(note));
  }
  const Duration period = waiting             ? kTimerPeriod
                          : somebody_may_wait ? 20 * kTimerPeriod
                                              : kIdlePeriod;
  // Thousands of waits take long to look at: most of the time is for those who ask.
  const Time ended = now();
  next_timer_ = ended + std::max(period, kTimerRest * (ended - now_));
}

}  // namespace larder
