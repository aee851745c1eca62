#include "actors/turn_queue.h"

#include <algorithm>

#include "store/assert.h"

namespace larder {

namespace {

/// Tags start again from nothing before a nanosecond is lost in them.
constexpr double kTagMax = 0x1p50;
/// Idle tenants are forgotten when there are more: who comes back owes nothing after a while.
constexpr std::size_t kFlowsKept = 64;

}  // namespace

bool TurnQueue::Flow::idle() const {
  return std::all_of(sessions.begin(), sessions.end(), [](const auto& of) { return of.empty(); });
}

std::uint64_t TurnQueue::Flow::take() {
  const Order priorities = order_of(++turns);
  auto& from = sessions[*std::find_if(priorities.begin(), priorities.end(),
                                      [this](std::uint8_t at) { return !sessions[at].empty(); })];
  const std::uint64_t session = from.front();
  from.pop_front();
  return session;
}

TurnQueue::Order TurnQueue::order_of(std::uint32_t turn) {
  if (turn % kReliefTurns != 0) return {0, 1, 2};
  return turn / kReliefTurns % 2 == 0 ? Order{1, 2, 0} : Order{2, 1, 0};
}

TurnQueue::Flow& TurnQueue::flow_of(std::string_view tenant) {
  if (const auto found = flows_.find(tenant); found != flows_.end()) return found->second;
  if (flows_.size() >= kFlowsKept) forget_idle();
  Flow& made = flows_[std::string(tenant)];
  made.order = ++orders_;
  return made;
}

void TurnQueue::forget_idle() {
  std::erase_if(flows_, [this](const auto& item) {
    const Flow& flow = item.second;
    return &flow != current_ && flow.idle() && flow.tag <= tag_;
  });
}

void TurnQueue::push(std::uint64_t session, std::string_view tenant, std::uint32_t share,
                     std::uint8_t priority) {
  Flow& flow = flow_of(tenant);
  flow.share = share;
  if (&flow != current_ && flow.idle()) {
    flow.tag = std::max(flow.tag, tag_);
    waiting_.insert({flow.tag, flow.order, &flow});
  }
  flow.sessions[std::min<std::size_t>(priority, kPriorities - 1)].push_back(session);
}

std::optional<std::uint64_t> TurnQueue::begin_turn(Time now) {
  LARDER_ASSERT(current_ == nullptr);
  if (waiting_.empty()) return std::nullopt;
  current_ = waiting_.begin()->flow;
  waiting_.erase(waiting_.begin());
  tag_ = current_->tag;
  const std::uint64_t session = current_->take();
  if (last_ != 0 && last_ != session) contended_until_ = now + kContended;
  last_ = session;
  return session;
}

void TurnQueue::end_turn(Duration took) {
  LARDER_ASSERT(current_ != nullptr);
  // A turn costs something however short it was: else a thousand of nothing would be free.
  const auto ns = std::max<Duration>(took, std::chrono::microseconds(1)).count();
  current_->tag += static_cast<double>(ns) / current_->share;
  if (!current_->idle()) waiting_.insert({current_->tag, current_->order, current_});
  if (waiting_.empty()) tag_ = std::max(tag_, current_->tag);  // nobody is owed anything
  current_ = nullptr;
  if (waiting_.empty() && tag_ > kTagMax) start_over();
}

void TurnQueue::start_over() {
  for (auto& [tenant, flow] : flows_)
    flow.tag = std::max(0.0, flow.tag - tag_);
  tag_ = 0;
}

void TurnQueue::charge(std::string_view tenant, std::uint32_t share, Duration took) {
  Flow& flow = flow_of(tenant);
  const double cost = static_cast<double>(took.count()) / share;
  if (&flow == current_ || flow.idle()) {
    flow.tag = std::max(flow.tag, tag_) + cost;
    return;
  }
  waiting_.erase({flow.tag, flow.order, &flow});
  flow.tag += cost;
  waiting_.insert({flow.tag, flow.order, &flow});
}

}  // namespace larder
