// Whole sessions: a small node, two clients (one over shared memory, one a stream) and a few
// hundred steps chosen by the input. Most frames are well formed with fields from the input, some
// are raw; frames are torn, shards work and answer when told to, die, and time goes on. Whatever
// comes: no crash, no step that never ends; and once both clients are gone nothing is held, every
// committed block has its checksum, and all of the capacity can be had.

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "store/assert.h"
#include "store/checksum.h"
#include "store/limits.h"
#include "tests/fuzz/reached.h"
#include "tests/fuzz/session_frames.h"
#include "tests/fuzz/session_world.h"
#include "tests/session/lone_session.h"
#include "transport/records.h"
#include "transport/wire.pb.h"
#include "transport/wire_log.h"

namespace larder {
namespace {

constexpr int kStepsMax = 250;
constexpr Bytes kRegion{128 << 10};
constexpr uid_t kSomebody = 12'345;
fuzz::Reached reached;
const Time kStart = Time(std::chrono::hours(1));

class Run : SessionFrames {
 public:
  Run(const std::uint8_t* data, std::size_t size) : SessionFrames(data, size) {
    node_ = std::make_unique<sim::SessionNode>(sim::SessionNode::Options{
        .capacity = Bytes{512 << 10}, .lease_ms = 500, .now = [this] { return now_; }});
    world_ = std::make_unique<fuzz::SessionWorld>(in_, *node_);
    for (std::uint64_t i = 0; i < 2; ++i) {
      sim::LoneSession::Options options{.id = i + 1, .is_unix = i == 0};
      if (small() == 9) options.uid = kSomebody;
      clients_.push_back(std::make_unique<sim::LoneSession>(*node_, options, now_));
    }
    auto region = make_sealed_memfd("fuzz", kRegion);
    LARDER_ASSERT(region.ok());
    region_ = *std::move(region);
  }

  void run() {
    if (in_.ConsumeIntegralInRange(0, 15) != 0) greet();
    for (int n = 0; n < kStepsMax && in_.remaining_bytes() > 0; ++n) {
      client_ = clients_[in_.ConsumeBool() ? 1 : 0].get();
      step();
    }
    end();
  }

 private:
  // -- steps -------------------------------------------------------------------------------------
  void greet() {
    for (auto& client : clients_) {
      client_ = client.get();
      wire::HelloRequest hello;
      hello.set_version_min(1);
      hello.set_version_max(1);
      hello.set_want_shm(true);
      hello.set_token(world_->token());
      hello.set_probe_address(reinterpret_cast<std::uintptr_t>(&probe_));
      hello.set_probe_value(probe_);
      client->add({.type = FrameType::kHello, .id = 100, .body = &hello});
      for (const NamespaceSpec& spec : {chain_spec(), flat_spec()}) {
        const wire::OpenNamespaceRequest body = to_wire(spec);
        client->add({.type = FrameType::kOpenNamespace, .id = 101, .body = &body});
        client->send_all(now_);
        client->settle(now_);
        take_replies(*client);
      }
    }
    register_region();
  }

  /// An answer: a frame got past the header's checks.
  void take_replies(sim::LoneSession& client) {
    if (!client.replies().empty() && !std::exchange(answered_, true)) reached.past();
  }

  void register_region() {
    wire::RegisterRegionRequest body;
    body.set_region(1 + small() % 2);
    body.set_bytes(small() != 0 ? kRegion.count : number());
    const int fd = region_.get();
    client_->add_with_fds({.type = FrameType::kRegisterRegion, .id = 102, .body = &body}, {&fd, 1},
                          now_);
  }

  void step() {
    switch (in_.ConsumeIntegralInRange(0, 31)) {
      case 0:
        client_->send_some(number());
        return;
      case 1:
        client_->send_some(client_->waiting());
        client_->pump(now_);
        return;
      case 2:
        return client_->send_all(now_);
      case 3:
        return client_->pump(now_);
      case 4:
        node_->shards().run_one(small() % node_->shards().queues());
        return;
      case 5:
        return node_->shards().run_all();
      case 6:
        return client_->deliver(1 + small(), now_);
      case 7:
        client_->send_all(now_);
        return client_->settle(now_);
      case 8:
        return pass_time();
      case 9:
        take_replies(*client_);
        return;
      case 10:
        return seldom();
      case 11:
        if (small() == 0) client_->end();
        return;
      case 12:
        if (small() == 0) client_->hang_up();
        return;
      case 13:
        return raw_frame();
      case 14:
        return control_word();
      case 15:
        return requests();
      default:
        return data_frame();
    }
  }

  void seldom() {
    switch (small()) {
      case 0:
        return node_->shards().kill_shard(ShardId(small() % 2));
      case 1:
        return world_->reload();
      case 2:
        if (client_->alive()) client_->session()->announce_retired(SlabId(small()));
        return;
      case 3:
        // As its thread asks when it looks whose turn it is.
        if (client_->alive()) LARDER_ASSERT(client_->session()->priority(in_.ConsumeBool()) < 3);
        return;
      case 4:
        return many_keys();
      default:
        return again_region();
    }
  }

  void again_region() {
    wire::UnregisterRegionRequest body;
    body.set_region(1 + small() % 2);
    send(FrameType::kUnregisterRegion, body);
    register_region();
  }

  void pass_time() {
    now_ += std::chrono::milliseconds(small() == 0 ? 20'000 : small() * 60);
    node_->shards().tick_all();
    for (auto& client : clients_)
      client->on_time(now_);
    node_->context().pins.expire(node_->store(), now_);
  }

  void raw_frame() {
    if (small() == 0) {
      const auto bytes = in_.ConsumeBytes<std::uint8_t>(small() * 8);
      return client_->add_bytes(std::as_bytes(std::span(bytes)));
    }
    FrameHeader header;
    header.type = static_cast<FrameType>(in_.ConsumeIntegralInRange<int>(0, 35));
    header.flags = in_.ConsumeBool() ? 0 : in_.ConsumeIntegral<std::uint16_t>();
    header.id = small();
    header.body = in_.ConsumeIntegralInRange<std::uint32_t>(0, 64);
    header.array = in_.ConsumeIntegralInRange<std::uint32_t>(0, 160);
    header.payload = in_.ConsumeBool() ? 0 : in_.ConsumeIntegralInRange<std::uint32_t>(0, 9'000);
    std::vector<std::byte> frame(kFrameHeaderBytes);
    encode(header, std::span<std::byte, kFrameHeaderBytes>(frame.data(), kFrameHeaderBytes));
    const auto body = in_.ConsumeBytes<std::uint8_t>(header.body + header.array);
    const auto bytes = std::as_bytes(std::span(body));
    frame.insert(frame.end(), bytes.begin(), bytes.end());
    frame.resize(kFrameHeaderBytes + header.body + header.array + header.payload);
    client_->add_bytes(frame);
  }

  void control_word() {
    ControlPage* page = client_->control_page();
    if (page == nullptr) return;
    const std::uint32_t word = small() % 3;
    switch (small() % 3) {
      case 0:
        page->cancel(word, small());
        return;
      case 1:
        page->clear(word);
        return;
      default:
        // By hand: activate() is for words that are free, and a client may do anything.
        page->clear(word);
        page->activate(word, small());
    }
  }

  void data_frame() {
    switch (in_.ConsumeIntegralInRange(0, 22)) {
      case 0:
      case 1:
        return match();
      case 2:
      case 3: {
        wire::GetRequest body;
        body.set_ns(ns());
        body.set_request(number());
        body.set_lease_ms(number32());
        body.set_verify(in_.ConsumeBool());
        return send_keys(FrameType::kGet, body);
      }
      case 4:
      case 5:
        return put_inline();
      case 6:
        return put_stream();
      case 7:
      case 8:
        return put_shared();
      case 9:
        return chunk(small());
      case 10: {
        wire::PutStartRequest body;
        body.set_ns(ns());
        body.set_request(number());
        body.set_deadline_ms(number32());
        return send_keys(FrameType::kPutStart, body);
      }
      case 11:
      case 12:
        return part();
      case 13: {
        wire::PutEndRequest body;
        body.set_put(small());
        body.set_control_word(number32());
        body.set_abort(small() == 0);
        return send(FrameType::kPutEnd, body);
      }
      case 14: {
        wire::WaitRequest body;
        body.set_ns(ns());
        body.set_deadline_ms(number32());
        return send_keys(FrameType::kWait, body);
      }
      case 15: {
        wire::ReleaseRequest body;
        for (const std::uint64_t id : ids())
          body.add_gets(id);
        return send(FrameType::kRelease, body);
      }
      case 16: {
        wire::RenewRequest body;
        for (const std::uint64_t id : ids())
          body.add_gets(id);
        body.set_lease_ms(number32());
        return send(FrameType::kRenew, body);
      }
      case 17: {
        wire::PinRequest body;
        body.set_ns(ns());
        body.set_ttl_ms(number32());
        return send_keys(in_.ConsumeBool() ? FrameType::kPin : FrameType::kUnpin, body);
      }
      case 18: {
        wire::RemoveRequest body;
        body.set_ns(ns());
        return send_keys(FrameType::kRemove, body);
      }
      case 19:
        return remove_prefix_or_touch();
      case 20: {
        wire::ListRequest body;
        body.set_ns(ns());
        body.set_cursor(number());
        body.set_limit(number32());
        return send(FrameType::kList, body);
      }
      case 21:
        return administer();
      default: {
        wire::CancelRequest body;
        body.set_id(small());
        if (small() == 0) return send(FrameType::kStats, wire::StatsRequest());
        return send(FrameType::kCancel, body);
      }
    }
  }

  void administer() {
    switch (small() % 3) {
      case 0: {
        wire::NamespacesRequest body;
        body.set_first(number());
        body.set_limit(number32());
        body.set_all_tenants(in_.ConsumeBool());
        return send(FrameType::kNamespaces, body);
      }
      case 1: {
        wire::SetModeRequest body;
        body.set_ns(ns());
        body.set_mode(small() % 6);
        return send(FrameType::kSetMode, body);
      }
      default: {
        wire::PurgeRequest body;
        switch (small() % 4) {
          case 0:
            body.set_ns(ns());
            break;
          case 1:
            body.set_tenant("default");
            break;
          case 2:
            body.set_writer(small());
            break;
          default:
            break;
        }
        return send(FrameType::kPurge, body);
      }
    }
  }

  void put_stream() {
    wire::PutRequest body;
    body.set_ns(ns());
    body.set_request(number());
    body.set_deadline_ms(number32());
    const std::vector<wire::KeyRecord> keys = records();
    array(std::span<const wire::KeyRecord>(keys));
    const std::uint64_t id = 1 + small();
    send_as(FrameType::kPut, id, body, {});
    if (in_.ConsumeBool()) {
      client_->send_all(now_);
      client_->settle(now_);
    }
    for (std::uint32_t i = 0; i < keys.size(); ++i) {
      if (keys[i].length > 100'000) continue;
      std::uint32_t at = 0;
      while (at < keys[i].length && in_.remaining_bytes() > 0) {
        const std::uint32_t n = in_.ConsumeBool()
                                    ? keys[i].length - at
                                    : std::min(keys[i].length - at, 100 * (1 + small()));
        wire::ChunkRecord record{.key = i, .offset = at};
        at += n;
        record.last = at == keys[i].length ? 1 : 0;
        if (record.last != 0) record.checksum = checksum(payload(keys[i].length));
        if (!honest()) record.checksum = number();
        array(std::span<const wire::ChunkRecord>(&record, 1));
        send_as(FrameType::kPutData, id, wire::SimpleReply(), payload(n));
      }
    }
  }

  void put_shared() {
    wire::PutRequest body;
    body.set_ns(ns());
    body.set_request(number());
    body.set_control_word(small() % 3);
    body.set_deadline_ms(number32());
    std::vector<wire::PutSource> sources;
    const std::vector<wire::KeyRecord> keys = records();
    for (std::uint32_t i = 0; i < keys.size(); ++i) {
      if (!honest()) {
        sources.push_back(source(i));
        continue;
      }
      const std::uint32_t cut = in_.ConsumeBool() ? keys[i].length : keys[i].length / 2;
      sources.push_back({.key = i, .region = 1, .address = small(), .length = cut});
      if (cut != keys[i].length) {
        sources.push_back({.key = i, .region = 1, .address = cut, .length = keys[i].length - cut});
      }
    }
    body.set_sources(static_cast<std::uint32_t>(honest() ? sources.size() : small()));
    array(std::span<const wire::KeyRecord>(keys));
    array(std::span<const wire::PutSource>(sources));
    const std::uint64_t id = 1 + small();
    if (ControlPage* page = client_->control_page(); page != nullptr && honest()) {
      page->clear(body.control_word());
      page->activate(body.control_word(), id);
    }
    send_as(FrameType::kPut, id, body, payload(honest() ? 0 : small()));
  }

  void part() {
    wire::PutPartRequest body;
    body.set_put(small());
    body.set_control_word(small() % 3);
    const bool streamed = in_.ConsumeBool();
    std::vector<wire::PutSource> sources;
    std::vector<std::uint64_t> offsets;
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i <= small() % 4; ++i) {
      wire::PutSource one = source(i);
      if (honest()) {
        one.region = streamed ? wire::PutSource::kStream : 1;
        one.length = in_.ConsumeBool() ? 1000 : one.length % 5'000;
      }
      if (one.region == wire::PutSource::kStream) total += one.length;
      sources.push_back(one);
      offsets.push_back(in_.ConsumeBool() ? 0 : number());
      if (streamed) {
        body.add_checksums(honest() && one.length < 10'000 ? checksum(payload(one.length))
                                                           : number());
      }
    }
    body.set_sources(static_cast<std::uint32_t>(honest() ? sources.size() : small()));
    array(std::span<const wire::PutSource>(sources));
    array(std::span<const std::uint64_t>(offsets));
    const std::uint64_t id = 1 + small();
    if (ControlPage* page = client_->control_page(); page != nullptr && honest()) {
      page->clear(body.control_word());
      page->activate(body.control_word(), id);
    }
    send_as(FrameType::kPutPart, id, body,
            payload(honest() ? std::min<std::uint64_t>(total, 100'000) : small()));
  }

  // -- the end -----------------------------------------------------------------------------------
  void end() {
    for (auto& client : clients_) {
      client->end();
      client->settle(now_);
    }
    now_ += std::chrono::hours(1);
    NodeContext& context = node_->context();
    context.pins.expire(node_->store(), Time::max());
    node_->shards().tick_all();
    for (auto& client : clients_)
      client->settle(now_);
    node_->shards().tick_all();
    LARDER_ASSERT(sim::held_in(node_->store()) == sim::Held{});
    LARDER_ASSERT(context.sessions.load() == 0);
    world_ = nullptr;
    LARDER_ASSERT(context.pins.pot().taken() == 0);
    LARDER_ASSERT(context.held.taken() == 0);
    for (std::size_t n = 0; n < kCommons; ++n)
      LARDER_ASSERT(context.commons.taken(static_cast<Common>(n)) == 0);
    LARDER_ASSERT(sim::whole_bytes(node_->store()) == node_->store().budget.ledger.used());
    node_->evict_all(now_);
    LARDER_ASSERT(node_->store().budget.ledger.used() == Bytes{0});
    for (const SlotPools::Usage& pool : node_->store().pools.usage())
      LARDER_ASSERT(pool.free == pool.slots);
  }

  bool answered_ = false;
  Time now_ = kStart;
  std::uint64_t probe_ = 0x1234567890abcdef;
  std::unique_ptr<sim::SessionNode> node_;
  std::unique_ptr<fuzz::SessionWorld> world_;
  std::vector<std::unique_ptr<sim::LoneSession>> clients_;
  Fd region_;
};

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Of text that is no UTF-8 it would tell each time.
  larder::silence_wire_log();
  larder::reached.input();
  larder::Run(data, size).run();
  return 0;
}
