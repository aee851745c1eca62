// A larderd that means no good, played from a fuzzer's input: it answers what it is asked, mostly
// in the form that is due, with fields, lengths, checksums and descriptors of the input's choice.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/assert.h"
#include "store/checksum.h"
#include "store/limits.h"
#include "store/slot_header.h"
#include "transport/control_page.h"
#include "transport/frame_head.h"
#include "transport/frame_reader.h"
#include "transport/records.h"
#include "transport/socket.h"
#include "transport/wire.pb.h"

namespace larder::fuzz {

/// A few sessions on `listener`, one after the other, in a thread of its own, until its input is
/// used up; then it hangs up. Whoever asks nothing for a while is told something all the same, so
/// that no call waits for its deadline.
class HostileServer {
 public:
  static constexpr std::uint32_t kSlot = 8192;
  static constexpr std::uint32_t kSlots = 4;

  HostileServer(int listener, const std::vector<std::uint8_t>& input)
      : in_(input.data(), input.size()), listener_(listener), thread_([this] { serve(); }) {}
  ~HostileServer() {
    stop_ = true;
    thread_.join();
  }
  HostileServer(const HostileServer&) = delete;
  HostileServer& operator=(const HostileServer&) = delete;

  /// True once the client is alone: whatever it asks costs it an attempt to connect.
  bool gone() const { return gone_; }

 private:
  static constexpr int kWaitMs = 1;
  static constexpr int kSessionsMax = 3;
  static constexpr int kIdleMax = 6;  ///< times in a row that nothing was asked

  // -- the session -------------------------------------------------------------------------------
  void serve() {
    for (int n = 0; n < kSessionsMax && !stop_ && in_.remaining_bytes() > 0; ++n) {
      while (!accept_client() && !stop_) {
      }
      serve_client();
    }
    gone_ = true;
    // Who connects again is turned away at once: otherwise it waits for its deadline.
    while (!stop_) {
      if (accept_client()) fd_.reset();
    }
  }

  /// Until it has gone, or is to be left alone.
  void serve_client() {
    reader_.emplace();
    shm_ = false;
    page_.reset();
    idle_ = 0;
    while (!stop_ && fd_.valid() && in_.remaining_bytes() > 0 && idle_ < kIdleMax) {
      std::size_t budget = 1 << 20;
      const ReadResult got = reader_->read(fd_.get(), budget);
      if (got.event == ReadEvent::kClosed || got.event == ReadEvent::kFailed) break;
      if (got.event == ReadEvent::kFrame) {
        idle_ = 0;
        answer(reader_->frame());
      } else if (got.event == ReadEvent::kBlocked && !wait(fd_.get(), POLLIN)) {
        ++idle_;
        unasked();
      }
    }
    fd_.reset();
  }

  bool accept_client() {
    if (!wait(listener_, POLLIN)) return false;
    auto client = accept_from(listener_);
    if (!client.ok() || !client->has_value()) return false;
    fd_ = *std::move(*client);
    return true;
  }

  static bool wait(int fd, short events) {
    pollfd entry{fd, events, 0};
    return ::poll(&entry, 1, kWaitMs) > 0;
  }

  void send(std::vector<std::byte> bytes, std::vector<int> fds = {}) {
    if (rarely()) bytes.resize(in_.ConsumeIntegralInRange<std::size_t>(0, bytes.size()));
    for (std::size_t at = 0; at < bytes.size() && !stop_;) {
      const iovec piece{bytes.data() + at, bytes.size() - at};
      const IoResult sent = send_message(fd_.get(), {&piece, 1}, fds);
      if (sent.state == IoState::kClosed || sent.state == IoState::kFailed) return fd_.reset();
      if (sent.state == IoState::kBlocked) {
        // It may be blocked, too: what it says is not heard any more.
        std::size_t budget = 1 << 20;
        (void)reader_->read(fd_.get(), budget);
        wait(fd_.get(), POLLIN | POLLOUT);
        continue;
      }
      fds.clear();
      at += sent.bytes;
    }
  }

  void frame(FrameParts parts, std::vector<int> fds = {}, std::span<const std::byte> payload = {}) {
    if (rarely()) parts.id = number();
    if (rarely()) parts.type = static_cast<FrameType>(in_.ConsumeIntegralInRange(0, 32));
    parts.reply = parts.reply != rarely();
    parts.fds = static_cast<std::uint8_t>(fds.size());
    parts.payload = static_cast<std::uint32_t>(payload.size());
    std::vector<std::byte> head = make_head(parts);
    head.insert(head.end(), payload.begin(), payload.end());
    send(std::move(head), std::move(fds));
  }

  // -- fields ------------------------------------------------------------------------------------
  bool rarely() { return in_.ConsumeIntegralInRange(0, 31) == 31; }
  std::uint32_t few() { return in_.ConsumeIntegralInRange(0U, 7U); }
  std::uint64_t number() {
    return in_.ConsumeBool() ? few() : in_.ConsumeIntegral<std::uint64_t>();
  }
  std::uint64_t number_near(std::uint64_t right) { return rarely() ? number() : right; }

  template <class Reply>
  void set_status(Reply& reply) {
    if (!rarely()) return;
    reply.mutable_status()->set_code(in_.ConsumeIntegral<std::int32_t>());
    reply.mutable_status()->set_message(in_.ConsumeRandomLengthString(40));
  }

  template <class Record>
  static std::size_t count(const FrameReader::Frame& frame) {
    return frame.array.size() / sizeof(Record);
  }
  std::size_t count_near(std::size_t right) { return rarely() ? few() : right; }

  // -- answers -----------------------------------------------------------------------------------
  void answer(FrameReader::Frame& asked) {
    if (in_.ConsumeIntegralInRange(0, 15) == 15) unasked();
    const std::uint64_t id = asked.header.id;
    switch (asked.header.type) {
      case FrameType::kHello:
        return hello(id, asked);
      case FrameType::kGet:
        return get(id, asked);
      case FrameType::kPut:
        return put(id, asked);
      case FrameType::kMatch:
        return match(id, asked);
      case FrameType::kPutData:
        return acknowledge(id);
      case FrameType::kList:
        return list(id);
      case FrameType::kStats:
        return stats(id);
      case FrameType::kPutEnd:
      case FrameType::kPutStart:
      case FrameType::kWait:
      case FrameType::kTouch:
      case FrameType::kPin:
      case FrameType::kUnpin:
      case FrameType::kRemove:
        return keys(id, asked);
      case FrameType::kBeginRequest:
      case FrameType::kCancel:
      case FrameType::kRelease:
      case FrameType::kRenew:
        return;
      default:
        return simple(asked.header.type, id);
    }
  }

  /// What no one asked for.
  void unasked() {
    switch (in_.ConsumeIntegralInRange(0, 5)) {
      case 0: {
        const auto bytes =
            in_.ConsumeBytes<std::uint8_t>(in_.ConsumeIntegralInRange<std::size_t>(0, 80));
        const auto view = std::as_bytes(std::span(bytes));
        return send({view.begin(), view.end()});
      }
      case 1: {
        wire::ErrorNotice body;
        set_status(body);
        return frame({.type = FrameType::kError, .body = &body});
      }
      case 2: {
        wire::SlabRetired body;
        body.set_slab(few());
        return frame({.type = FrameType::kSlabRetired, .body = &body});
      }
      case 3:
        return chunk(number());
      case 4:
        return slab(few());
      case 5: {
        wire::SimpleReply body;
        body.set_count(number());
        return frame({.type = FrameType::kProgress, .id = few(), .body = &body});
      }
      default:
        return simple(static_cast<FrameType>(in_.ConsumeIntegralInRange(0, 32)), number());
    }
  }

  void hello(std::uint64_t id, const FrameReader::Frame& asked) {
    wire::HelloRequest said;
    (void)parse_body(asked.body, said);
    wire::HelloReply body;
    set_status(body);
    body.set_version(static_cast<std::uint32_t>(number_near(1)));
    body.set_session(1);
    wire::Limits* limits = body.mutable_limits();
    limits->set_batch_keys(static_cast<std::uint32_t>(number_near(4096)));
    limits->set_match_units(static_cast<std::uint32_t>(number_near(4096)));
    limits->set_inline_put_bytes(number_near(4096));
    limits->set_chunk_bytes(number_near(16'384));
    limits->set_stream_credits(number_near(65'536));
    limits->set_heartbeat_ms(static_cast<std::uint32_t>(number_near(3000)));
    limits->set_lease_ms(static_cast<std::uint32_t>(number_near(10'000)));
    limits->set_batches(static_cast<std::uint32_t>(number_near(64)));
    body.set_attach_reason("why not");
    shm_ = said.want_shm() && in_.ConsumeIntegralInRange(0, 7) != 7;
    body.set_shm(shm_);
    body.set_attach(in_.ConsumeBool());
    const FrameParts parts{.type = FrameType::kHello, .id = id, .reply = true, .body = &body};
    if (!shm_) return frame(parts);
    page_ = *ControlPage::create();
    files_.clear();
    files_.push_back(*make_sealed_memfd("fuzz", Bytes{4096}));
    frame(parts, rarely() ? std::vector<int>()
                          : std::vector<int>{rarely() ? files_[0].get() : page_->fd()});
    if (in_.ConsumeBool()) slab(1);
  }

  /// Announces a slab of zeros.
  void slab(std::uint32_t number) {
    wire::SlabNotice body;
    body.set_slab(number);
    body.set_bytes(number_near(std::uint64_t{kSlot} * kSlots));
    body.set_slots(static_cast<std::uint32_t>(number_near(kSlots)));
    body.set_slot_bytes(number_near(kSlot));
    body.set_header_bytes(number_near(kSlotHeadersOffset + kSlots * sizeof(SlotHeader)));
    // Not sealed: they may be cut behind the client's back.
    Fd data(::memfd_create("fuzz", MFD_CLOEXEC));
    Fd headers(::memfd_create("fuzz", MFD_CLOEXEC));
    LARDER_ASSERT(data.valid() && headers.valid());
    LARDER_ASSERT(::ftruncate(data.get(), kSlot * kSlots) == 0);
    LARDER_ASSERT(::ftruncate(headers.get(), 2 * kSlotHeadersOffset) == 0);
    std::vector<int> fds = {data.get(), headers.get()};
    if (rarely()) fds.pop_back();
    frame({.type = FrameType::kSlabNotice, .body = &body}, fds);
    if (rarely()) LARDER_ASSERT(::ftruncate(data.get(), 0) == 0);
    if (rarely()) LARDER_ASSERT(::ftruncate(headers.get(), 0) == 0);
  }

  void get(std::uint64_t id, const FrameReader::Frame& asked) {
    std::vector<wire::KeyRecord> keys;
    (void)wire::parse(asked.array, keys);
    std::vector<wire::GetResult> results(count_near(keys.size()));
    for (std::size_t n = 0; n < results.size(); ++n) {
      wire::GetResult& to = results[n];
      to.status = in_.ConsumeBool() ? 0 : in_.ConsumeIntegralInRange<std::uint16_t>(0, 20);
      to.slab = static_cast<std::uint32_t>(number_near(1));
      to.slot = static_cast<std::uint32_t>(number_near(few() % kSlots));
      to.offset = number_near(std::uint64_t{to.slot} * kSlot);
      to.length = number_near(n < keys.size() ? keys[n].length : 0);
      to.generation = number_near(0);
      to.checksum = checksum_of(to.length);
    }
    wire::GetReply body;
    set_status(body);
    frame({.type = FrameType::kGet,
           .id = id,
           .reply = true,
           .body = &body,
           .array = std::as_bytes(std::span(results))});
    if (!shm_) chunks(id, results);
  }

  /// Of zeros.
  std::uint64_t checksum_of(std::uint64_t length) {
    if (length > zeros_.size() || rarely()) return number();
    return checksum(std::span(zeros_).first(length));
  }

  void chunks(std::uint64_t id, const std::vector<wire::GetResult>& results) {
    for (std::uint32_t n = 0; n < results.size(); ++n) {
      const std::uint64_t length = std::min<std::uint64_t>(results[n].length, zeros_.size());
      for (std::uint64_t at = 0; results[n].status == 0 && at < length && !stop_;) {
        const std::uint64_t rest = std::min(length - at, limits::kFramePayloadMax.count);
        const std::uint64_t part = in_.ConsumeBool() ? rest : (rest + 1) / 2;
        wire::ChunkRecord record{.key = n, .last = at + part == length, .offset = at};
        at += part;
        if (rarely()) record = {.key = few(), .last = few() % 2, .offset = number()};
        if (rarely()) continue;
        frame({.type = FrameType::kGetData,
               .id = id,
               .reply = true,
               .array = std::as_bytes(std::span(&record, 1))},
              {}, std::span(zeros_).first(part));
      }
    }
  }

  void chunk(std::uint64_t id) {
    const wire::ChunkRecord record{.key = few(), .last = few() % 2, .offset = number()};
    frame({.type = in_.ConsumeBool() ? FrameType::kGetData : FrameType::kPutData,
           .id = id,
           .reply = true,
           .array = std::as_bytes(std::span(&record, 1))},
          {}, std::span(zeros_).first(few() * 100));
  }

  std::vector<wire::PutResult> results(std::size_t count) {
    std::vector<wire::PutResult> out(count_near(count));
    for (wire::PutResult& one : out)
      one.status = in_.ConsumeBool() ? 0 : in_.ConsumeIntegralInRange<std::uint16_t>(0, 20);
    return out;
  }

  void put(std::uint64_t id, const FrameReader::Frame& asked) {
    wire::PutRequest said;
    (void)parse_body(asked.body, said);
    const std::size_t all = asked.array.size() - said.sources() * sizeof(wire::PutSource);
    std::size_t keys = all / sizeof(wire::KeyRecord);
    if (page_ && in_.ConsumeBool()) page_->commit(said.control_word() % 1024, id);
    if (!shm_ && asked.header.payload == 0 && !rarely()) {
      std::vector<wire::PutResult> wanted(count_near(keys));
      for (wire::PutResult& one : wanted)
        one.status = in_.ConsumeBool() ? 14 : in_.ConsumeIntegralInRange<std::uint16_t>(0, 20);
      frame({.type = FrameType::kPutData,
             .id = id,
             .reply = true,
             .array = std::as_bytes(std::span(wanted))});
      streamed_ = keys;
      if (in_.ConsumeBool()) return;  // answered when its chunks have come
    }
    put_reply(FrameType::kPut, id, keys);
  }

  void put_reply(FrameType type, std::uint64_t id, std::size_t keys) {
    const std::vector<wire::PutResult> said = results(keys);
    wire::PutReply body;
    set_status(body);
    frame({.type = type,
           .id = id,
           .reply = true,
           .body = &body,
           .array = std::as_bytes(std::span(said))});
  }

  void acknowledge(std::uint64_t id) {
    if (in_.ConsumeBool()) return put_reply(FrameType::kPut, id, streamed_);
    wire::SimpleReply body;
    body.set_count(number_near(1 << 20));
    frame({.type = FrameType::kPutData, .id = id, .reply = true, .body = &body});
  }

  void keys(std::uint64_t id, const FrameReader::Frame& asked) {
    // A PutEnd names no keys: those of the puts here are two.
    const std::size_t keys =
        asked.header.type == FrameType::kPutEnd ? 2 : count<wire::KeyRecord>(asked);
    put_reply(asked.header.type, id, keys);
  }

  void match(std::uint64_t id, const FrameReader::Frame& asked) {
    wire::MatchRequest said;
    (void)parse_body(asked.body, said);
    wire::MatchReply body;
    set_status(body);
    std::vector<wire::MatchRecord> records;
    const auto chains = count_near(static_cast<std::size_t>(said.chain_units_size()));
    for (std::size_t n = 0; n < chains; ++n) {
      wire::ChainMatch* chain = body.add_chains();
      chain->set_usable_tokens(static_cast<std::uint32_t>(number()));
      for (std::uint32_t groups = few(); groups > 0; --groups) {
        const std::uint32_t blocks = few();
        chain->add_group_blocks(static_cast<std::uint32_t>(number_near(blocks)));
        records.resize(records.size() + blocks, {.state = static_cast<std::uint8_t>(few())});
      }
    }
    body.set_flat(std::string(count_near(count<BlockHash>(asked)), static_cast<char>(few())));
    frame({.type = FrameType::kMatch,
           .id = id,
           .reply = true,
           .body = &body,
           .array = std::as_bytes(std::span(records))});
  }

  void list(std::uint64_t id) {
    wire::ListReply body;
    set_status(body);
    body.set_end(in_.ConsumeBool());
    const std::vector<std::byte> records(few() * sizeof(wire::ListRecord) + (rarely() ? 1 : 0));
    frame({.type = FrameType::kList, .id = id, .reply = true, .body = &body, .array = records});
  }

  void stats(std::uint64_t id) {
    wire::StatsReply body;
    set_status(body);
    for (std::uint32_t n = few(); n > 0; --n)
      body.add_stats()->set_name(in_.ConsumeRandomLengthString(8));
    frame({.type = FrameType::kStats, .id = id, .reply = true, .body = &body});
  }

  /// A Status and a number, or bytes that are no body.
  void simple(FrameType type, std::uint64_t id) {
    wire::SimpleReply body;
    set_status(body);
    body.set_count(number());
    if (!rarely()) return frame({.type = type, .id = id, .reply = true, .body = &body});
    frame({.type = type, .id = id, .reply = true, .array = std::span(zeros_).first(few() * 4)});
  }

  FuzzedDataProvider in_;
  const int listener_;
  Fd fd_;
  std::optional<FrameReader> reader_;  ///< of the session
  bool shm_ = false;
  std::optional<ControlPage> page_;
  std::vector<Fd> files_;
  std::size_t streamed_ = 0;
  int idle_ = 0;
  static inline const std::vector<std::byte> zeros_ = std::vector<std::byte>(400'000);
  std::atomic<bool> stop_{false};
  std::atomic<bool> gone_{false};
  std::thread thread_;
};

}  // namespace larder::fuzz
