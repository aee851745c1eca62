// The background thread's part of the engine: timers, connections, the work of submitted
// operations.

#include <algorithm>
#include <random>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "client/call.h"
#include "client/clock.h"
#include "client/engine.h"
#include "store/assert.h"
#include "transport/wire.pb.h"

namespace larder {
namespace {

constexpr Duration kBackoffMin = std::chrono::milliseconds(20);
/// Between the end of an attempt to connect and the next one, whoever wants it.
constexpr Duration kAttemptGap = std::chrono::milliseconds(20);
constexpr Duration kBackoffMax = std::chrono::seconds(1);
/// A client that is closed waits this long for room in its socket.
constexpr Duration kLingerMax = std::chrono::milliseconds(100);
constexpr int kLingerPollMs = 5;
/// A client sends something this many times in a heartbeat, and renews as often in a lease.
constexpr int kBeats = 3;

std::uint64_t random_probe() {
  std::random_device source;
  return static_cast<std::uint64_t>(source()) << 32 | source();
}

}  // namespace

Engine::Engine(Client::Options options, Address address, std::shared_ptr<const TlsContext> tls)
    : options_(std::move(options)),
      address_(std::move(address)),
      tls_(std::move(tls)),
      probe_value_(random_probe()),
      next_due_(Time::max()),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      background_wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  shared_.allow_attach = options_.allow_attach;
}

Engine::~Engine() {
  stop();
}

absl::Status Engine::start() {
  if (!wake_fd_.valid() || !background_wake_fd_.valid() || !event_fd_.valid()) {
    return absl::ResourceExhaustedError("out of file descriptors");
  }
  Lock lock(mutex_);
  connect(lock, options_.connect_deadline);
  if (link_ == nullptr) return connect_failure_;
  if (options_.transport == Client::Transport::kShm && !link_->terms.shm) {
    return absl::FailedPreconditionError("larderd at " + address_.text() +
                                         " does not grant shared memory to this client");
  }
  thread_ = std::thread([this] { background(); });
  return absl::OkStatus();
}

void Engine::stop() {
  {
    Lock lock = enter();
    send_the_rest();
    stopping_ = true;
    take_submitted();
    if (link_ != nullptr) lost(absl::StatusCode::kCancelled, "the client is closed");
    std::vector<OperationPtr> rest;
    for (const auto& [id, op] : ops_)
      rest.push_back(op);
    for (const OperationPtr& op : rest) {
      give_up(op, absl::StatusCode::kCancelled, "the client is closed");
    }
    wake_background();
    callers_gone_.wait(lock, [this] { return callers_ == 0; });
  }
  if (thread_.joinable()) thread_.join();
}

/// What is queued when the client is closed: releases, and doubts about blocks that nobody will
/// voice again. A daemon that does not read costs kLingerMax.
void Engine::send_the_rest() {
  if (link_ == nullptr) return;
  link_->queue_releases();
  const Time end = monotonic_now() + kLingerMax;
  while (link_->wants_write() && monotonic_now() < end) {
    std::size_t budget = FrameWriter::kQueueMax;
    const IoResult result = link_->flush(budget);
    if (result.state == IoState::kClosed || result.state == IoState::kFailed) return;
    pollfd entry{link_->fd(), POLLOUT, 0};
    if (link_->wants_write()) poll(&entry, 1, kLingerPollMs);
  }
}

void Engine::background() {
  Lock lock(mutex_);
  while (!stopping_) {
    const Time now = monotonic_now();
    run_timers(now);
    if (work_in_background(lock)) continue;
    if (link_ == nullptr && !connecting_ && now >= next_connect()) {
      connect(lock, options_.connect_deadline);
      continue;
    }
    const bool free = driver_ == nullptr || driver_ == this;
    if (free && background_needed()) {
      drive_background(lock, next_timer(now));
      continue;
    }
    if (driver_ == this) driver_ = nullptr;
    keep_driven();
    background_until_ = next_timer(now);
    background_wake_.wait_until(lock, background_until_);
  }
  if (driver_ == this) driver_ = nullptr;
}

bool Engine::background_needed() const {
  return link_ != nullptr && (async_ops_ > 0 || !link_->writer().empty());
}

/// Copies for one submitted operation; true when there was one.
bool Engine::work_in_background(Lock& lock) {
  while (!background_work_.empty()) {
    const OperationPtr op = std::move(background_work_.front());
    background_work_.pop_front();
    op->queued = false;
    if (op->retired || op->working || !op->wants_work()) continue;
    if (driver_ == this) driver_ = nullptr;
    keep_driven();
    do_work(lock, op);
    return true;
  }
  return false;
}

Time Engine::next_timer(Time now) const {
  if (link_ == nullptr) {
    const Time next = connecting_ ? now + kBackoffMax : next_connect();
    return async_ops_ > 0 ? std::min(next, next_due_) : next;
  }
  Time next = std::min(releases_due_, now + std::chrono::seconds(60));
  if (async_ops_ > 0) next = std::min(next, next_due_);
  if (link_->terms.heartbeat > Duration(0) && !ping_under_way_) {
    next = std::min(next, link_->sent_at + link_->terms.heartbeat / kBeats);
  }
  for (const auto& [get, lease] : leases_)
    next = std::min(next, lease.renew_at);
  return next;
}

void Engine::run_timers(Time now) {
  expire(now);
  if (now >= releases_due_) {
    releases_due_ = Time::max();
    if (link_ != nullptr) link_->queue_releases();
  }
  if (link_ != nullptr) renew_leases(now);
  if (link_ != nullptr && link_->terms.heartbeat > Duration(0) && !ping_under_way_ &&
      now >= link_->sent_at + link_->terms.heartbeat / kBeats) {
    send_ping();
  }
  if (link_ != nullptr) flush(now);
}

void Engine::renew_leases(Time now) {
  wire::RenewRequest body;
  for (auto& [get, lease] : leases_) {
    if (now < lease.renew_at) continue;
    lease.renew_at = now + lease.life / kBeats;
    body.add_gets(get);
    body.set_lease_ms(static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(lease.life).count()));
  }
  if (body.gets_size() > 0) link_->tell(FrameType::kRenew, body);
}

void Engine::send_ping() {
  const auto ping =
      std::make_shared<Call>(make_head({.type = FrameType::kPing}), 0, link_->terms.heartbeat);
  ping->internal = true;
  ping_under_way_ = true;
  ping->id = ++shared_.last_frame_id;
  ping->progress = monotonic_now();
  ops_[ping->id] = ping;
  ++async_ops_;
  next_due_ = std::min(next_due_, ping->progress + ping->deadline());
  start_op(ping);
}

HandshakePlan Engine::make_plan() const {
  HandshakePlan plan;
  plan.address = address_;
  plan.address_is_default = options_.server.empty();
  plan.tls = tls_;
  plan.tls_name = options_.tls_name;
  plan.token = options_.token;
  plan.plain_token = options_.plain_token;
  plan.name = options_.name;
  plan.want_shm = address_.is_unix() && options_.transport != Client::Transport::kTcp;
  plan.probe_address = reinterpret_cast<std::uintptr_t>(&probe_value_);
  plan.probe_value = probe_value_;
  plan.namespaces = namespaces_;
  for (const auto& [base, region] : shared_.regions.all()) {
    plan.regions.push_back(
        {region.number, region.size, Fd(fcntl(region.memfd.get(), F_DUPFD_CLOEXEC, 0))});
  }
  return plan;
}

void Engine::connect(Lock& lock, Duration limit) {
  LARDER_ASSERT(!connecting_ && link_ == nullptr);
  connecting_ = true;
  attempt_began_ = monotonic_now();
  const HandshakePlan plan = make_plan();
  lock.unlock();
  absl::StatusOr<std::unique_ptr<Link>> link = open_link(plan, shared_, limit);
  lock.lock();
  connecting_ = false;
  attempt_ended_ = monotonic_now();
  if (stopping_) {
    // stop() has ended all operations.
  } else if (link.ok()) {
    install(*std::move(link));
  } else {
    connect_failure_ = link.status();
    backoff_ = std::clamp(backoff_ * 2, kBackoffMin, kBackoffMax);
    next_attempt_ = attempt_ended_ + backoff_;
    fail_pending(connect_failure_);
  }
  for (Operation* op : waiting_)
    op->wake.notify_one();
  if (link_ != nullptr) wake_background();
}

void Engine::install(std::unique_ptr<Link> link) {
  link_ = std::move(link);
  ++link_serial_;
  {
    const std::lock_guard lock(terms_mutex_);
    last_terms_ = link_->terms;
  }
  if (std::exchange(connected_once_, true)) ++shared_.counters.reconnects;
  connect_failure_ = absl::OkStatus();
  backoff_ = Duration(0);
  releases_due_ = Time::max();
  std::vector<OperationPtr> pending;
  for (const auto& [id, op] : ops_) {
    if (!op->started) pending.push_back(op);
  }
  std::sort(pending.begin(), pending.end(),
            [](const OperationPtr& a, const OperationPtr& b) { return a->id < b->id; });
  for (const OperationPtr& op : pending)
    start_op(op);
  flush(monotonic_now());
}

/// When somebody may connect next: soon, when it is for an operation.
Time Engine::next_connect() const {
  const Time soonest = attempt_ended_ + kAttemptGap;
  return ops_.empty() ? std::max(next_attempt_, soonest) : soonest;
}

/// Nobody is there: what waits for a connection ends now, but for what came after the attempt had
/// begun, which has another one. A daemon that only does not answer gets each operation's own
/// deadline.
void Engine::fail_pending(const absl::Status& why) {
  if (absl::IsDeadlineExceeded(why)) return;
  std::vector<OperationPtr> pending;
  for (const auto& [id, op] : ops_) {
    if (!op->started && op->progress <= attempt_began_) pending.push_back(op);
  }
  for (const OperationPtr& op : pending) {
    give_up(op, why.code(), std::string(why.message()));
  }
}

bool Engine::remember_namespace(const NamespaceSpec& spec, std::uint64_t serial) {
  const Lock lock = enter();
  if (link_ == nullptr || serial != link_serial_) return false;
  const auto same = [&spec](const NamespaceSpec& known) {
    return known.fingerprint == spec.fingerprint;
  };
  if (std::none_of(namespaces_.begin(), namespaces_.end(), same)) namespaces_.push_back(spec);
  return true;
}

absl::StatusOr<bool> Engine::add_region(Region& region, std::uint64_t serial) {
  const Lock lock = enter();
  if (serial != 0 && (link_ == nullptr || serial != link_serial_)) return false;
  const absl::Status added = shared_.regions.add(std::move(region));
  if (!added.ok()) return added;
  return true;
}

std::optional<Region> Engine::take_region(const std::byte* base) {
  const Lock lock = enter();
  return shared_.regions.take(base);
}

void Engine::hold_lease(std::uint64_t get, std::uint64_t serial) {
  const Lock lock = enter();
  if (link_ == nullptr || serial != link_serial_) return;
  const Duration life = link_->terms.lease;
  const Time renew_at = life > Duration(0) ? monotonic_now() + life / kBeats : Time::max();
  leases_[get] = {.life = life, .renew_at = renew_at};
  if (background_until_ > renew_at) wake_background();
}

void Engine::drop_lease(std::uint64_t get) {
  const Lock lock = enter();
  if (leases_.erase(get) == 0 || link_ == nullptr) return;
  link_->release(get);
  schedule_releases(monotonic_now());
}

LinkTerms Engine::terms() {
  const std::lock_guard lock(terms_mutex_);
  return last_terms_;
}

Counters Engine::counters() {
  const Lock lock = enter();
  return shared_.counters;
}

}  // namespace larder
