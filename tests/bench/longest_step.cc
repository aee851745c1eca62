// The longest steps of a node with many small blocks, in CPU time of the thread that does them: of
// a shard a message, of an io thread a session's turn. While one lasts, nobody else is served.
//
//   larder_longest_step [BLOCKS]        default 10,000,000 of 256 B; prints one JSON object

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <time.h>

#include "store/checksum.h"
#include "tests/bench/drawn_hash.h"
#include "tests/session/lone_session.h"
#include "transport/namespace_wire.h"
#include "transport/wire.pb.h"

namespace larder {
namespace {

constexpr std::uint32_t kBlock = 256;
constexpr std::size_t kPutKeys = limits::kInlinePutMax.count / kBlock;

double thread_cpu_us() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) * 1e6 + static_cast<double>(at.tv_nsec) / 1e3;
}

/// What steps of one kind took.
struct Steps {
  std::uint64_t count = 0;
  double longest_us = 0;
  double sum_us = 0;

  template <class Do>
  void time(const Do& step) {
    const double begun = thread_cpu_us();
    step();
    const double took = thread_cpu_us() - begun;
    count += 1;
    sum_us += took;
    longest_us = std::max(longest_us, took);
  }
};

NamespaceSpec spec() {
  NamespaceSpec out;
  out.fingerprint.model = "m";
  out.unit_tokens = 16;
  out.groups.push_back({GroupKind::kFull, 16, 0, {}});
  return out;
}

/// A node of one shard and one session of it, on this thread.
class Node {
 public:
  explicit Node(std::uint64_t blocks)
      : node_({.capacity = Bytes{blocks * kBlock}, .shards = 1, .now = [this] { return now_; }}),
        client_(node_, {.id = 1}, now_) {
    wire::HelloRequest hello;
    hello.set_version_min(1);
    hello.set_version_max(1);
    hello.set_want_shm(true);
    ask("hello", FrameType::kHello, hello);
    ask("open", FrameType::kOpenNamespace, to_wire(spec()));
  }

  /// One call until its answer; its steps count under `what`.
  void ask(const std::string& what, FrameType type, const google::protobuf::MessageLite& body,
           std::span<const std::byte> array = {}, std::span<const std::byte> payload = {}) {
    client_.add({.type = type, .id = ++ids_, .body = &body, .array = array}, payload);
    finish(what);
  }
  void put(const std::string& what, std::uint64_t first, std::uint64_t request) {
    wire::PutRequest body;
    body.set_ns(ns());
    body.set_request(request);
    std::vector<wire::KeyRecord> records;
    for (std::size_t n = 0; n < kPutKeys; ++n) {
      records.push_back(record(first + n));
      body.add_inline_checksums(checksum_);
    }
    ask(what, FrameType::kPut, body, std::as_bytes(std::span(records)), bytes_);
  }
  /// A session's timer, and the shard's tick.
  void tick() {
    now_ += std::chrono::milliseconds(20);
    steps_["io thread: timer"].time([&] { client_.on_time(now_); });
    steps_["shard: tick"].time([&] { node_.shards().tick_all(); });
    finish("tick");
  }
  void rebuild() {
    Steps& steps = steps_["shard: made anew after its actor died"];
    node_.shards().kill_shard(ShardId(0), [&](const auto& step) { steps.time(step); });
  }

  static wire::KeyRecord record(std::uint64_t n) {
    wire::KeyRecord out;
    out.hash = out.anchor = drawn_hash(n);
    out.position = static_cast<std::uint32_t>(n);
    out.length = kBlock;
    return out;
  }
  std::uint64_t ns() const { return namespace_id("default", spec().fingerprint).value(); }
  sim::SessionNode& node() { return node_; }
  const std::map<std::string, Steps>& steps() const { return steps_; }

 private:
  void finish(const std::string& what) {
    Steps& io = steps_["io thread: " + what];
    Steps& shard = steps_["shard: " + what];
    bool any = true;
    while (any) {
      any = client_.waiting() > 0;
      client_.send_some(client_.waiting());
      io.time([&] { client_.pump(now_); });
      while (run(0, shard))
        any = true;
      while (run(1, steps_["slab actor"]) || run(2, steps_["tenant actor"]))
        any = true;
      io.time([&] { client_.deliver(1, now_); });
      any = any || client_.arrived() > 0 || client_.runnable();
      (void)client_.replies();
    }
  }
  bool run(std::size_t queue, Steps& steps) {
    bool ran = false;
    steps.time([&] { ran = node_.shards().run_one(queue); });
    return ran;
  }

  Time now_ = Time(std::chrono::hours(1));
  sim::SessionNode node_;
  sim::LoneSession client_;
  std::map<std::string, Steps> steps_;
  std::uint64_t ids_ = 0;
  const std::vector<std::byte> bytes_ = std::vector<std::byte>(kPutKeys * kBlock);
  const std::uint64_t checksum_ = checksum(std::span(bytes_).first(kBlock));
};

std::vector<BlockHash> chain_from(std::uint64_t first, std::size_t count) {
  std::vector<BlockHash> chain;
  for (std::uint64_t n = first; n < first + count; ++n)
    chain.push_back(drawn_hash(n));
  return chain;
}

std::vector<wire::KeyRecord> records_from(std::uint64_t first, std::size_t count) {
  std::vector<wire::KeyRecord> out;
  for (std::uint64_t n = first; n < first + count; ++n)
    out.push_back(Node::record(n));
  return out;
}

void match(Node& node, const std::string& what, std::uint64_t first, std::uint32_t units,
           std::uint64_t request, bool claim) {
  wire::MatchRequest body;
  body.set_ns(node.ns());
  body.set_request(request);
  body.set_claim(claim);
  body.add_chain_units(units);
  const auto chain = chain_from(first, units);
  node.ask(what, FrameType::kMatch, body, std::as_bytes(std::span(chain)));
}

void begin(Node& node, std::uint64_t request) {
  wire::BeginRequestRequest body;
  body.set_ns(node.ns());
  body.set_request(request);
  node.ask("begin request", FrameType::kBeginRequest, body);
}

void end(Node& node, std::uint64_t request) {
  wire::EndRequestRequest body;
  body.set_request(request);
  node.ask("end of a request", FrameType::kEndRequest, body);
}

template <class Body>
void batch(Node& node, const std::string& what, FrameType type, std::uint64_t first) {
  Body body;
  body.set_ns(node.ns());
  const auto records = records_from(first, limits::kBatchKeysMax);
  node.ask(what, type, body, std::as_bytes(std::span(records)));
}

void run_calls(Node& node, std::uint64_t blocks) {
  const std::uint64_t last = 2 * blocks;  // of what was put, the second half is there
  const std::uint64_t there = last - std::min<std::uint64_t>(blocks, 2 * limits::kMatchUnitsMax);
  for (std::uint64_t round = 1; round <= 5; ++round) {
    begin(node, round);
    match(node, fmt::format("match of {} positions", 1'000), there, 1'000, round, false);
    match(node, fmt::format("match of {} positions", limits::kMatchUnitsMax), there,
          limits::kMatchUnitsMax, round, false);
    match(node, "match that claims 65,536 positions", last + round * 100'000, 65'536, 0, true);
    batch<wire::GetRequest>(node, "get of a full batch", FrameType::kGet, there);
    batch<wire::TouchRequest>(node, "touch of a full batch", FrameType::kTouch, there);
    batch<wire::PutStartRequest>(node, "start of a put of a full batch", FrameType::kPutStart,
                                 last + 1'000'000 + round * limits::kBatchKeysMax);
    batch<wire::RemoveRequest>(node, "removal of a full batch", FrameType::kRemove,
                               there + round * limits::kBatchKeysMax);
    node.tick();
    end(node, round);
    node.tick();
  }
  wire::ListRequest list;
  list.set_ns(node.ns());
  list.set_limit(limits::kListPageMax);
  node.ask("list of a page", FrameType::kList, list);
}

int run(std::uint64_t blocks) {
  Node node(blocks);
  // Half as many as there is room for grow the index; the other half comes into a full store.
  for (std::uint64_t n = 0; n < 2 * blocks; n += kPutKeys) {
    node.put(n < blocks ? "put of 64 KiB in 256 blocks" : "the same, into a full store", n, 0);
    if (n % (64 * kPutKeys) == 0) node.tick();
  }
  const std::uint64_t held = node.node().store().indexes[0]->size();
  run_calls(node, blocks);
  node.rebuild();
  wire::PurgeRequest purge;
  purge.set_ns(node.ns());
  node.ask("purge of everything", FrameType::kPurge, purge);
  fmt::print("{{\"blocks\": {}, \"entries\": {}, \"goal_us\": 1000, \"rows\": [", blocks, held);
  const char* comma = "";
  for (const auto& [what, steps] : node.steps()) {
    fmt::print("{}{{\"step\": \"{}\", \"count\": {}, \"longest_us\": {:.0f}, \"mean_us\": {:.1f}}}",
               comma, what, steps.count, steps.longest_us,
               steps.sum_us / static_cast<double>(steps.count));
    comma = ", ";
  }
  fmt::print("]}}\n");
  return 0;
}

}  // namespace
}  // namespace larder

int main(int argc, char** argv) {
  const std::uint64_t blocks = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  return blocks < 1'000 ? 2 : larder::run(blocks);
}
