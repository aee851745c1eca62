// The driver's part of the engine: it moves frames between the socket and the operations.

#include <algorithm>

#include <poll.h>
#include <sys/eventfd.h>

#include "client/clock.h"
#include "client/engine.h"
#include "transport/wire.pb.h"

namespace larder {
namespace {

constexpr std::size_t kSlice = 1 << 20;  ///< bytes moved at most before the lock is given up
/// Time that it takes to wake a thread that waits for the lock.
constexpr Duration kLetIn = std::chrono::microseconds(200);
/// What is left of a slice is not worth cutting a chunk for: four whole ones and their heads go.
constexpr std::size_t kRest = 128 << 10;
/// With less payload than this queued, the next chunk is made: more than about one would leave the
/// cache between its checksum and the socket.
constexpr std::size_t kSendAhead = 128 << 10;
/// How long before an answer is due its caller is woken: it takes that long on a virtual machine.
constexpr Duration kWakeMargin = std::chrono::microseconds(200);
/// An answer may be late by this part of the time that it takes before its caller sleeps again.
constexpr int kLateShare = 4;
/// A lease's end may travel so much later, with the next frame.
constexpr Duration kReleaseDelay = std::chrono::milliseconds(10);

}  // namespace

/// Until when a caller polls that waits for `op`, nothing having come since `since`; before the
/// answer is due it sleeps for all but kWakeMargin: see CopyPace.
Engine::Wait Engine::wait_for(const Operation& op, Time since, Time now) const {
  const Duration spin = options_.spin;
  if (spin == Duration(0)) return {.until = next_due_, .polls = false};
  if (now < since + spin) return {.until = since + spin, .polls = true};
  const Time due = op.answer_due;
  if (now < due - kWakeMargin) return {.until = due - kWakeMargin, .polls = false};
  const Duration late = std::max<Duration>(spin, (due - since) / kLateShare);
  if (now < due + late) return {.until = due + late, .polls = true};
  return {.until = next_due_, .polls = false};
}

void Engine::drive(Lock& lock, const OperationPtr& op) {
  driver_ = op.get();
  Time active = monotonic_now();
  while (!op->retired && link_ != nullptr && driver_ == op.get() && !op->wants_work()) {
    pumping_ = true;
    take_submitted();
    if (link_ == nullptr) break;
    const Time now = monotonic_now();
    if (pump(now)) {
      active = now;
      let_in(lock);
      continue;
    }
    expire(now);
    if (op->retired || link_ == nullptr || op->wants_work()) continue;
    const Wait wait = wait_for(*op, active, now);
    if (wait.polls) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    } else {
      poll_unlocked(lock, wait.until);
    }
  }
  stop_pumping();
  if (driver_ != op.get()) return;
  driver_ = nullptr;
  hand_over();
}

/// The background as driver, until nothing moves or there is something else to do.
void Engine::drive_background(Lock& lock, Time until) {
  driver_ = this;
  pumping_ = true;
  Time now = monotonic_now();
  for (; pump(now); now = monotonic_now()) {
    background_progress_ = now;
    let_in(lock);
    take_submitted();
    const bool other_work =
        link_ == nullptr || driver_ != this || stopping_ || !background_work_.empty();
    if (other_work || now >= std::min(until, next_due_)) return stop_pumping();
  }
  stop_pumping();
  expire(now);
  if (link_ == nullptr || !background_work_.empty() || !background_needed()) return;
  if (now < background_progress_ + options_.spin) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
    return;
  }
  poll_unlocked(lock, std::min(until, next_due_));
}

/// Gives the lock to those who wait for it: without bytes to wait for, the driver would keep it.
void Engine::let_in(Lock& lock) {
  if (entering_ == 0) return;
  lock.unlock();
  const Time until = monotonic_now() + kLetIn;
  while (entering_ > 0 && monotonic_now() < until)
    std::this_thread::yield();
  lock.lock();
}

/// Gives the driver's role to whoever needs it: of those who wait, one who has an answer to come.
/// The others may be awake already, with something else to do.
void Engine::hand_over() {
  for (auto at = waiting_.rbegin(); at != waiting_.rend(); ++at) {
    if ((*at)->retired || (*at)->wants_work()) continue;
    (*at)->wake.notify_one();
    return;
  }
  if (background_needed()) wake_background();
}

/// For whoever goes away from the socket: the role may have been meant for him, or he has seen
/// nothing of the one who had it.
void Engine::keep_driven() {
  if (driver_ == nullptr && !waiting_.empty()) hand_over();
}

void Engine::poll_unlocked(Lock& lock, Time until) {
  stop_pumping();
  if (link_ == nullptr) return;
  until = std::min(until, next_due_);
  const std::shared_ptr<Link> link = link_;
  const bool background = driver_ == this;
  bool& polls = background ? background_polls_ : driver_polls_;
  const Fd& wake = background ? background_wake_fd_ : wake_fd_;
  const auto events = static_cast<short>(link->wants_write() ? POLLIN | POLLOUT : POLLIN);
  pollfd entries[] = {{link->fd(), events, 0}, {wake.get(), POLLIN, 0}};
  const Duration left =
      std::clamp<Duration>(until - monotonic_now(), Duration(0), std::chrono::seconds(60));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  polls = true;
  driver_until_ = until;
  lock.unlock();
  const int ready = ppoll(entries, 2, &limit, nullptr);
  lock.lock();
  polls = false;
  eventfd_t count = 0;
  if (ready > 0 && entries[1].revents != 0) eventfd_read(wake.get(), &count);
}

void Engine::wake_driver() {
  if (driver_ == this) {
    wake_background();
  } else if (driver_polls_) {
    eventfd_write(wake_fd_.get(), 1);
  }
}

void Engine::wake_background() {
  background_wake_.notify_one();
  if (background_polls_) eventfd_write(background_wake_fd_.get(), 1);
}

void Engine::schedule_releases(Time now) {
  if (!link_->has_releases() || releases_due_ <= now + kReleaseDelay) return;
  releases_due_ = now + kReleaseDelay;
  if (background_until_ > releases_due_) wake_background();
}

/// Sends and receives what it can without waiting; false when nothing moved.
bool Engine::pump(Time now) {
  const bool sent = flush(now);
  return (link_ != nullptr && read_some(now)) || sent;
}

bool Engine::flush(Time now) {
  const std::shared_ptr<Link> link = link_;
  std::size_t budget = kSlice + kRest / 2;
  const std::size_t whole = budget;
  IoResult result;
  feed(*link);
  if (!link->wants_write()) return false;
  while (result.state == IoState::kDone && budget >= kRest && link->wants_write()) {
    result = link->flush(budget);
    for (const std::uint64_t frame : link->writer().take_sent()) {
      if (const OperationPtr op = link->call(frame)) op->progress = now;
    }
    feed(*link);
  }
  link->sent_at = now;
  if (result.state == IoState::kClosed || result.state == IoState::kFailed) {
    // What it said before it went away may still be read: an error, or answers.
    while (link_ == link && read_some(now)) {
    }
    if (link_ == link) lost(absl::StatusCode::kUnavailable, "larderd closed the connection");
    return true;
  }
  return budget != whole;
}

/// Lets those who have payload to send queue some, the first that can first: what began first ends
/// first, and the next call of whoever made it comes while there is still something to send.
void Engine::feed(Link& link) {
  std::erase_if(link.senders, [](const OperationPtr& op) { return op->finished(); });
  while (link.writer().queued_bytes() < kSendAhead) {
    bool sent = false;
    for (std::size_t n = 0; n < link.senders.size() && !sent; ++n) {
      const OperationPtr op = link.senders[n];
      if (op->finished()) continue;
      sent = op->send_more(link);
      if (op->finished()) after_event(op);
    }
    if (!sent) return;
  }
}

bool Engine::read_some(Time now) {
  const std::shared_ptr<Link> link = link_;
  std::size_t budget = kSlice;
  bool any = false;
  while (link_ == link) {
    // The daemon should have the next call before the bytes of this one are all read.
    if (any && has_submitted_) break;
    const std::size_t before = budget;
    const ReadResult result = link->read(budget);
    if (budget != before) {
      any = true;
      link->received_at = now;
      if (link->payload_owner != nullptr) link->payload_owner->progress = now;
    }
    switch (result.event) {
      case ReadEvent::kFrame:
        on_frame(link->reader().frame(), now);
        any = true;
        break;
      case ReadEvent::kPayloadDone:
        any = true;
        if (const OperationPtr op = std::exchange(link->payload_owner, nullptr)) {
          op->on_payload(*link);
          after_event(op);
        }
        break;
      case ReadEvent::kBlocked:
      case ReadEvent::kBudget:
        resume_stalled();
        return any;
      case ReadEvent::kClosed:
        lost(absl::StatusCode::kUnavailable, "larderd closed the connection");
        return true;
      case ReadEvent::kFailed:
        lost(absl::StatusCode::kUnavailable, std::string(result.status.message()));
        return true;
    }
  }
  resume_stalled();
  return true;
}

void Engine::on_frame(FrameReader::Frame& frame, Time now) {
  if (frame.header.is_reply()) return on_reply_frame(frame, now);
  switch (frame.header.type) {
    case FrameType::kSlabNotice:
      link_->on_slab_notice(frame);
      break;
    case FrameType::kSlabRetired:
      link_->on_slab_retired(frame);
      break;
    case FrameType::kProgress:
      if (const OperationPtr op = link_->call(frame.header.id)) op->progress = now;
      break;
    case FrameType::kError: {
      wire::ErrorNotice notice;
      const bool read = parse_body(frame.body, notice) && notice.status().code() != 0;
      lost(absl::StatusCode::kUnavailable,
           "larderd ended the session: " + (read ? notice.status().message() : "no reason given"));
      break;
    }
    default:
      break;  // of a later version: ignored
  }
}

void Engine::on_reply_frame(FrameReader::Frame& frame, Time now) {
  const std::shared_ptr<Link> link = link_;
  const std::uint64_t id = frame.header.id;
  const OperationPtr op = link->call(id);
  const bool data =
      frame.header.type == FrameType::kGetData || frame.header.type == FrameType::kPutData;
  if (op == nullptr) {
    if (data) return;
    link->on_own_reply(frame);
    // Hits that nobody waits for any more: their leases end now.
    if (frame.header.type == FrameType::kGet && link->terms.shm && !frame.array.empty()) {
      link->release(id);
      schedule_releases(now);
    }
    return;
  }
  if (data) {
    op->on_data(*link, frame);
    if (frame.header.payload > 0 && !op->finished()) link->payload_owner = op;
  } else {
    link->forget(id);
    op->on_reply(*link, frame);
  }
  after_event(op);
}

void Engine::resume_stalled() {
  if (link_ == nullptr || link_->stalled.empty()) return;
  const bool answered = link_->take_region_answered();
  if (!shared_.staging.take_freed() && !answered) return;
  const std::vector<OperationPtr> stalled = std::exchange(link_->stalled, {});
  for (const OperationPtr& op : stalled) {
    if (op->retired || link_ == nullptr) continue;
    op->resume(*link_);
    after_event(op);
  }
}

/// The connection is over: everything that was under way on it ends here.
void Engine::lost(absl::StatusCode code, const std::string& why) {
  const std::shared_ptr<Link> link = std::exchange(link_, nullptr);
  link->dead = true;
  link->stalled.clear();
  link->senders.clear();
  link->payload_owner.reset();
  link->reader().discard_payload();
  std::vector<OperationPtr> ops;
  for (const auto& [id, op] : ops_) {
    if (op->started && op->link_serial == link_serial_) ops.push_back(op);
  }
  for (const OperationPtr& op : ops) {
    if (op->working || op->retired) continue;  // it notices when its work is done
    op->give_up(link.get(), code, why);
    after_event(op);
  }
  link->give_back_buried();
  leases_.clear();
  backoff_ = Duration(0);
  next_attempt_ = monotonic_now();
  for (Operation* op : waiting_)
    op->wake.notify_one();
  wake_driver();
  wake_background();
}

}  // namespace larder
