#include "client/engine.h"

#include <algorithm>

#include <fmt/format.h>
#include <sys/eventfd.h>

#include "client/clock.h"
#include "store/assert.h"
#include "store/limits.h"

namespace larder {
namespace {

/// A connection that was quiet for so long is looked at before it is used.
constexpr Duration kQuiet = std::chrono::milliseconds(10);

}  // namespace

bool Engine::admit(const OperationPtr& op) {
  if (op->id == 0) op->id = ++shared_.last_frame_id;
  if (op->finished()) return false;  // its arguments were wrong
  if (stopping_) {
    op->finish_with(absl::StatusCode::kCancelled, "the client is closed");
  } else if (ops_.size() >= limits::kSessionBatchesMax) {
    op->finish_with(absl::StatusCode::kResourceExhausted,
                    fmt::format("{} operations are under way, the limit is {}", ops_.size(),
                                limits::kSessionBatchesMax));
  }
  return !op->finished();
}

Link* Engine::link_of(const Operation& op) const {
  return link_ != nullptr && op.started && op.link_serial == link_serial_ ? link_.get() : nullptr;
}

void Engine::begin(const OperationPtr& op) {
  const Time now = monotonic_now();
  op->progress = now;
  ops_[op->id] = op;
  next_due_ = std::min(next_due_, now + op->deadline());
  if (!op->sync) ++async_ops_;
  // A daemon that went away while nothing was under way is found out before the call is lost on it.
  if (link_ != nullptr && driver_ == nullptr && now - link_->received_at > kQuiet) read_some(now);
  if (link_ != nullptr) start_op(op);
}

void Engine::start_op(const OperationPtr& op) {
  op->started = true;
  op->link_serial = link_serial_;
  op->progress = monotonic_now();
  const bool shm = link_->terms.shm;
  if ((op->mode == Operation::Mode::kShm && !shm) ||
      (op->mode == Operation::Mode::kStream && shm)) {
    op->give_up(nullptr, absl::StatusCode::kUnavailable, "the connection changed its transport");
    return after_event(op);
  }
  const absl::Status status = op->start(*link_);
  if (!status.ok() && !op->finished()) {
    op->give_up(link_.get(), status.code(), std::string(status.message()));
  }
  after_event(op);
}

/// Looks at what an event left an operation in.
void Engine::after_event(const OperationPtr& op) {
  op->progress = monotonic_now();
  if (op->finished()) return retire(op);
  if (!op->wants_work() || op->working || op->queued) return;
  if (op->sync) {
    op->wake.notify_one();
    return;
  }
  op->queued = true;
  background_work_.push_back(op);
  wake_background();
}

void Engine::retire(const OperationPtr& op) {
  LARDER_ASSERT(op->finished());
  if (std::exchange(op->retired, true)) return;
  op->forget_frames(link_of(*op));
  ops_.erase(op->id);
  if (op->sync) {
    op->wake.notify_one();
    return;
  }
  --async_ops_;
  if (op->internal) {
    // Whoever drives may have taken the answer: the background's next beat is due again.
    ping_under_way_ = false;
    wake_background();
    return;
  }
  op->completion().id = op->id;
  const std::lock_guard lock(completions_mutex_);
  completions_.push_back(std::move(op->completion()));
  eventfd_write(event_fd_.get(), 1);
}

void Engine::give_up(const OperationPtr& op, absl::StatusCode code, const std::string& message) {
  if (op->retired) return;
  if (op->working) {
    op->give_up_after_work = code;
    op->abandon.store(true, std::memory_order_relaxed);
    return;
  }
  op->give_up(link_of(*op), code, message);
  after_event(op);
}

void Engine::do_work(Lock& lock, const OperationPtr& op) {
  op->queued = false;
  op->working = true;
  lock.unlock();
  op->work();
  lock.lock();
  op->working = false;
  if (op->give_up_after_work != absl::StatusCode::kOk) {
    op->give_up(link_of(*op), op->give_up_after_work, "given up");
  } else {
    op->worked(link_of(*op));
  }
  after_event(op);
  if (link_ != nullptr) schedule_releases(monotonic_now());
}

void Engine::expire(Time now) {
  if (now < next_due_) return;
  std::vector<OperationPtr> due;
  Time next = Time::max();
  for (const auto& [id, op] : ops_) {
    const Time at = op->progress + op->deadline();
    if (at <= now) {
      due.push_back(op);
    } else {
      next = std::min(next, at);
    }
  }
  next_due_ = next;
  for (const OperationPtr& op : due) {
    expire_op(op, now);
    if (!op->retired) next_due_ = std::min(next_due_, op->progress + op->deadline());
  }
}

void Engine::expire_op(const OperationPtr& op, Time now) {
  if (op->retired) return;
  if (op->working) {
    op->progress = now;
    return;
  }
  if (op->internal) {
    if (link_ != nullptr && now - link_->received_at >= op->deadline()) {
      return lost(absl::StatusCode::kUnavailable, "larderd was silent for the heartbeat's time");
    }
    op->progress = now;
    return;
  }
  give_up(
      op, absl::StatusCode::kDeadlineExceeded,
      fmt::format("no progress within {} ms",
                  std::chrono::duration_cast<std::chrono::milliseconds>(op->deadline()).count()));
}

Engine::Lock Engine::enter() {
  ++entering_;
  Lock lock(mutex_);
  --entering_;
  return lock;
}

void Engine::run(const OperationPtr& op) {
  Lock lock = enter();
  op->sync = true;
  if (!admit(op)) return;
  ++callers_;
  begin(op);
  run_loop(lock, op);
  keep_driven();
  if (link_ != nullptr && link_->has_releases()) schedule_releases(monotonic_now());
  if (--callers_ == 0 && stopping_) callers_gone_.notify_all();
}

void Engine::run_loop(Lock& lock, const OperationPtr& op) {
  while (!op->retired) {
    const Time now = monotonic_now();
    if (op->wants_work()) {
      keep_driven();
      do_work(lock, op);
    } else if (now >= op->progress + op->deadline()) {
      expire_op(op, now);
    } else if (stopping_) {
      give_up(op, absl::StatusCode::kCancelled, "the client is closed");
    } else if (link_ == nullptr && connecting_) {
      wait_for_turn(lock, op, Time::max());
    } else if (link_ == nullptr && now < next_connect()) {
      wait_for_turn(lock, op, next_connect());
    } else if (link_ == nullptr) {
      connect(lock, std::min(options_.connect_deadline, op->progress + op->deadline() - now));
    } else if (driver_ != nullptr && driver_ != this) {
      flush(now);
      if (link_ != nullptr && !link_->writer().empty()) wake_driver();
      if (!op->retired && !op->wants_work()) wait_for_turn(lock, op, Time::max());
    } else {
      drive(lock, op);
    }
  }
}

/// Until somebody wakes it, its deadline, or `until`.
void Engine::wait_for_turn(Lock& lock, const OperationPtr& op, Time until) {
  waiting_.push_back(op.get());
  op->wake.wait_until(lock, std::min(until, op->progress + op->deadline()));
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), op.get()));
}

std::uint64_t Engine::submit(const OperationPtr& op) {
  const std::uint64_t id = ++shared_.last_frame_id;
  op->id = id;
  {
    const std::lock_guard lock(submitted_mutex_);
    submitted_.push_back(op);
  }
  has_submitted_ = true;
  if (pumping_) return id;  // whoever pumps looks again when he has stopped
  const Lock lock = enter();
  take_submitted();
  return id;
}

/// Starts what was submitted.
void Engine::take_submitted() {
  if (!has_submitted_.exchange(false)) return;
  std::vector<OperationPtr> ops;
  {
    const std::lock_guard lock(submitted_mutex_);
    ops.swap(submitted_);
  }
  Duration shortest = Duration::max();
  for (const OperationPtr& op : ops) {
    if (admit(op)) {
      shortest = std::min(shortest, op->deadline());
      begin(op);
    } else {
      ++async_ops_;
      retire(op);
    }
  }
  const Time now = monotonic_now();
  if (link_ != nullptr) flush(now);
  if (driver_ == nullptr) {
    wake_background();
  } else if (link_ != nullptr && (!link_->writer().empty() || shortest < driver_until_ - now)) {
    wake_driver();
  }
}

void Engine::stop_pumping() {
  pumping_ = false;
  take_submitted();
}

void Engine::cancel(std::uint64_t id) {
  const Lock lock = enter();
  take_submitted();
  const auto at = ops_.find(id);
  if (at == ops_.end() || at->second->sync || at->second->internal) return;
  const OperationPtr op = at->second;
  give_up(op, absl::StatusCode::kCancelled, "cancelled by the caller");
  if (link_ != nullptr) flush(monotonic_now());
}

std::vector<Completion> Engine::drain() {
  const std::lock_guard lock(completions_mutex_);
  eventfd_t count = 0;
  if (!completions_.empty()) eventfd_read(event_fd_.get(), &count);
  return std::exchange(completions_, {});
}

void Engine::tell(FrameType type, const google::protobuf::MessageLite& body) {
  const Lock lock = enter();
  if (link_ == nullptr) return;
  link_->queue_releases();
  link_->tell(type, body);
  flush(monotonic_now());
}

}  // namespace larder
