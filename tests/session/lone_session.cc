#include "tests/session/lone_session.h"

#include <algorithm>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "actors/session_abort.h"
#include "actors/session_limits.h"
#include "store/assert.h"

namespace larder::sim {

LoneSession::LoneSession(SessionNode& node, const Options& options, Time now)
    : node_(node), inbox_(node.make_inbox()) {
  int fds[2];
  LARDER_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
  here_ = Fd(fds[0]);
  Session::Options made{.id = SessionId(options.id),
                        .socket = Fd(fds[1]),
                        .is_unix = options.is_unix,
                        .peer = {},
                        .tls = nullptr,
                        .inbox = &inbox_};
  if (options.is_unix) made.peer = {::getpid(), options.uid.value_or(::geteuid()), ::getegid()};
  session_ = std::make_unique<Session>(std::move(made), node.context(), now);
}

LoneSession::~LoneSession() {
  end();
}

// -- the client's end ----------------------------------------------------------------------------

void LoneSession::add(const FrameParts& parts, std::span<const std::byte> payload) {
  FrameParts whole = parts;
  whole.payload = static_cast<std::uint32_t>(payload.size());
  add_bytes(make_head(whole));
  add_bytes(payload);
}

void LoneSession::add_bytes(std::span<const std::byte> bytes) {
  out_.insert(out_.end(), bytes.begin(), bytes.end());
}

void LoneSession::add_with_fds(const FrameParts& parts, std::span<const int> fds, Time now) {
  send_all(now);
  FrameParts whole = parts;
  whole.fds = static_cast<std::uint8_t>(fds.size());
  std::vector<std::byte> head = make_head(whole);
  if (waiting() > 0 || !here_.valid()) return;  // the session does not read any more
  const iovec piece{head.data(), head.size()};
  const IoResult sent = send_message(here_.get(), {&piece, 1}, fds);
  if (sent.state != IoState::kDone) return;
  add_bytes(std::span(head).subspan(sent.bytes));
}

void LoneSession::send_some(std::size_t bytes) {
  bytes = std::min(bytes, waiting());
  while (bytes > 0 && here_.valid()) {
    const iovec piece{out_.data() + sent_, bytes};
    const IoResult sent = send_message(here_.get(), {&piece, 1});
    if (sent.state != IoState::kDone) break;
    sent_ += sent.bytes;
    bytes -= sent.bytes;
  }
  if (waiting() == 0) {
    out_.clear();
    sent_ = 0;
  }
}

void LoneSession::send_all(Time now) {
  constexpr int kTriesMax = 1'000;
  for (int n = 0; n < kTriesMax && alive() && waiting() > 0; ++n) {
    send_some(waiting());
    pump(now);
    read_replies();
  }
}

std::vector<LoneSession::Reply> LoneSession::replies() {
  read_replies();
  return std::exchange(replies_, {});
}

void LoneSession::read_replies() {
  while (here_.valid()) {
    std::size_t budget = 1 << 20;
    const ReadResult got = reader_.read(here_.get(), budget);
    if (got.event == ReadEvent::kPayloadDone || got.event == ReadEvent::kBudget) continue;
    if (got.event != ReadEvent::kFrame) break;
    FrameReader::Frame& frame = reader_.frame();
    replies_.push_back({frame.header,
                        {frame.body.begin(), frame.body.end()},
                        {frame.array.begin(), frame.array.end()}});
    if (frame.header.type != FrameType::kHello || frame.fds.empty()) continue;
    auto page = ControlPage::map(std::move(frame.fds[0]));
    if (page.ok()) control_page_ = std::make_unique<ControlPage>(*std::move(page));
  }
}

// -- the io thread's part ------------------------------------------------------------------------

void LoneSession::pump(Time now) {
  if (alive() && !session_->pump({.now = now, .ready = now, .readable = true, .bytes = kTurnBytes}))
    end();
}

void LoneSession::on_time(Time now) {
  if (alive() && !session_->on_time(now)) end();
}

void LoneSession::take_inbox() {
  for (Inbox::Item& item : inbox_.take())
    arrived_.push_back(std::move(item));
}

void LoneSession::deliver(std::size_t count, Time now, bool turns) {
  take_inbox();
  count = std::min(count, arrived_.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (auto* lost = std::get_if<std::shared_ptr<const AbortNote>>(&arrived_[i])) {
      const ShardId shard = (*lost)->shard;
      node_.shards().send(shard, std::move(*lost));
      continue;
    }
    ShardCall& call = *std::get<std::shared_ptr<ShardCall>>(arrived_[i]);
    if (!alive() || !session_->on_answer(call, now)) {
      abort_reserved(node_.context(), call);
      continue;
    }
    if (turns) pump(now);
  }
  arrived_.erase(arrived_.begin(), arrived_.begin() + static_cast<std::ptrdiff_t>(count));
}

void LoneSession::settle(Time now) {
  constexpr int kRoundsMax = 10'000;
  for (int n = 0;; ++n) {
    node_.shards().run_all();
    take_inbox();
    const bool answers = !arrived_.empty();
    deliver(arrived_.size(), now);
    if (!answers && (!alive() || !session_->runnable())) return;
    LARDER_ASSERT(n < kRoundsMax);  // else it has something to do for ever
    pump(now);
  }
}

void LoneSession::end() {
  session_ = nullptr;
}

}  // namespace larder::sim
