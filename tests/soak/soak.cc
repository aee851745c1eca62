// A mixed load with faults, in three legs: one in which larderd is killed too; one that brings the
// larderd of then to its working size; and the one over which it must stay flat.

#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "tests/e2e/daemon.h"
#include "tests/eventually.h"
#include "tests/soak/crew.h"
#include "tests/soak/footprint.h"
#include "tests/soak/options.h"
#include "tests/soak/prompt.h"
#include "tests/soak/schedule.h"

namespace larder::soak {

namespace {

constexpr std::uint64_t kCapacity = 128 << 20;
constexpr Duration kProgressWithin = std::chrono::seconds(30);

/// How long a leg lasts: a number of steps, else a time.
struct LegLength {
  std::uint64_t steps;
  Duration time;
};

class Soak {
 public:
  explicit Soak(std::uint64_t seed);

  void leg(const std::string& name, Schedule schedule, LegLength length);
  /// At rest, its store full of the same blocks.
  Footprint rest(const std::string& name);
  nlohmann::json result();
  void stop() { BOOST_TEST(daemon_->terminate() == 0, daemon_->log()); }

 private:
  void apply(Crew& crew, const Step& step);
  void set_capacity(std::uint64_t bytes);
  void await_progress();
  void fill();

  test::TempDir dir_;
  std::uint64_t seed_;
  std::unique_ptr<Counts> counts_;
  std::unique_ptr<sim::Daemon> daemon_;
  Footprint fresh_;
  std::uint64_t capacity_ = 0;
  std::map<std::string, std::uint64_t> faults_;
  nlohmann::json rests_;
};

Soak::Soak(std::uint64_t seed)
    : seed_(seed), counts_(std::make_unique<Counts>(dir_.path() + "/counts")) {
  const std::string config = dir_.file("larder.toml", fmt::format("host_bytes = {}\n", kCapacity));
  capacity_ = kCapacity;
  daemon_ = std::make_unique<sim::Daemon>(sim::Daemon::Options{
      .host_bytes = Bytes{0},
      .shards = 2,
      .flags = {"--config", config, "--lease-ms", "800", "--heartbeat-ms", "1000",
                "--request-deadline-ms", "2000", "--scrub-mib-s", "16"},
      .environment = {},
      .program = {}});
  fresh_ = footprint(*daemon_);
}

void Soak::set_capacity(std::uint64_t bytes) {
  if (bytes == capacity_) return;
  capacity_ = bytes;
  dir_.file("larder.toml", fmt::format("host_bytes = {}\n", bytes));
  daemon_->reload("reload_changed key=host_bytes");
}

void Soak::apply(Crew& crew, const Step& step) {
  faults_[kFaultNames[static_cast<std::size_t>(step.fault)]] += 1;
  switch (step.fault) {
    case Fault::kNone:
      crew.thaw();
      break;
    case Fault::kKillDaemon:
      daemon_->kill();
      daemon_->start();
      break;
    case Fault::kFreezeDaemon:
      daemon_->freeze();
      std::this_thread::sleep_for(step.hold);
      daemon_->thaw();
      break;
    case Fault::kKillWorker:
      crew.kill(step.draw);
      break;
    case Fault::kFreezeWorker:
      crew.freeze(step.draw);
      break;
    case Fault::kHolder:
      crew.hold();
      break;
    case Fault::kKillHolder:
      crew.kill_holder(step.draw / 2, step.draw % 2 == 0);
      break;
    case Fault::kCapacity:
      set_capacity(kCapacity * (30 + step.draw % 71) / 100);
      break;
    case Fault::kEnd:
      break;
  }
  std::this_thread::sleep_for(step.pause);
}

void Soak::await_progress() {
  const std::uint64_t before = counts_->total();
  BOOST_REQUIRE_MESSAGE(
      test::eventually([&] { return counts_->total() > before; }, kProgressWithin),
      "workers get nowhere: " << daemon_->log());
}

void Soak::leg(const std::string& name, Schedule schedule, LegLength length) {
  Crew crew({.socket = daemon_->socket(),
             .tcp = daemon_->tcp(),
             .counts_file = dir_.path() + "/counts",
             .workers = 4,
             .seed = seed_++});
  const auto end = std::chrono::steady_clock::now() + length.time;
  for (std::uint64_t n = 0;; ++n) {
    if (length.steps > 0 ? n >= length.steps : std::chrono::steady_clock::now() > end) break;
    const Step step = schedule.next();
    std::cerr << fmt::format("{} {} {} draw {}\n", name, n,
                             kFaultNames[static_cast<std::size_t>(step.fault)], step.draw);
    apply(crew, step);
    BOOST_REQUIRE(crew.well());
    BOOST_REQUIRE(!daemon_->wait_exit(Duration(0)));
    await_progress();
  }
  crew.end();
}

/// Every slot can be had again: as many blocks as fit go in, and everything else leaves.
void Soak::fill() {
  const NamespaceSpec spec = prompt_spec("soak");
  const auto client = daemon_->shm();
  const NamespaceId ns = *client->open_namespace(spec);
  constexpr std::uint64_t kFirst = 1ULL << 58;
  constexpr std::uint32_t kBlocks = 8;
  std::vector<std::byte> memory(kBlocks << 20);
  const std::uint64_t prompts = kCapacity / memory.size() * 5 / 4;
  const std::uint64_t first = kFirst + rests_.size() * prompts;
  for (std::uint64_t n = 0; n < prompts; ++n) {
    const Prompt prompt(spec, first + n, kBlocks, 1 << 20);
    prompt.fill(memory);
    const Completion done = client->put(ns, prompt.keys(), prompt.sources(memory), {});
    for (const KeyStatus key : done.keys)
      BOOST_TEST((key == KeyStatus::kOk), "no room for a block: " << static_cast<int>(key));
  }
}

Footprint Soak::rest(const std::string& name) {
  set_capacity(kCapacity);
  await_rest(*daemon_, fresh_, name);
  fill();
  const Footprint full = footprint(*daemon_);
  BOOST_TEST_CONTEXT(name << ": " << full.json().dump()) {
    BOOST_TEST(full.used_kib <= full.capacity_kib + full.capacity_kib / 100);
    BOOST_TEST(full.used_kib >= full.capacity_kib - full.capacity_kib / 20);
    BOOST_TEST(full.listed * 1024 == full.used_kib, "a block of before the fill cannot leave");
  }
  rests_[name] = full.json();
  std::cerr << name << ' ' << full.json().dump() << '\n';
  return full;
}

nlohmann::json Soak::result() {
  nlohmann::json out{{"faults", faults_}, {"at_rest", rests_}};
  for (std::size_t n = 0; n < std::size(kCountNames); ++n)
    out["workers"][kCountNames[n]] = counts_->get(static_cast<Count>(n));
  for (const char* name :
       {"evictions_for_capacity", "evictions_for_slot", "evictions_for_slab", "sessions_opened",
        "sessions_timed_out", "leases_expired", "requests_expired", "put_no_space", "put_cancelled",
        "blocks_quarantined", "shard_quarantined", "frames_refused", "shard_restarts",
        "scrubbed_blocks"})
    out["last_larderd"][name] = daemon_->stat(name);
  return out;
}

}  // namespace

nlohmann::json run_soak(const Options& options) {
  Soak soak(options.seed);
  const auto share = [&](std::uint64_t percent) {
    return LegLength{options.steps * percent / 100,
                     std::chrono::milliseconds(options.seconds * percent * 10)};
  };
  soak.leg("kills", Schedule(options.seed, true), share(40));
  soak.rest("after_kills");
  soak.leg("warm_up", Schedule(options.seed + 1, false), share(15));
  const Footprint before = soak.rest("before");
  soak.leg("steady", Schedule(options.seed + 2, false), share(45));
  const Footprint after = soak.rest("after");

  check_flat(before, after);
  nlohmann::json out = soak.result();
  out["seed"] = options.seed;
  BOOST_TEST(out["last_larderd"]["blocks_quarantined"] == 0);
  BOOST_TEST(out["last_larderd"]["shard_restarts"] == 0);
  soak.stop();
  return out;
}

}  // namespace larder::soak
