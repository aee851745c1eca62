// Puts, kills of larderd, and what the next one serves. Two phases: in the first nothing can have
// been evicted, so what was acknowledged must be a hit; in the second slots are reused all the
// time, so a hit must have the right bytes.

#include <algorithm>
#include <iostream>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <signal.h>

#include "tests/e2e/daemon.h"
#include "tests/eventually.h"
#include "tests/soak/options.h"
#include "tests/soak/putter.h"
#include "tests/soak/restart_check.h"

namespace larder::soak {

namespace {

#ifdef LARDER_CRASH_POINTS
constexpr bool kHasPoints = true;
#else
constexpr bool kHasPoints = false;
#endif
constexpr std::uint64_t kAllOneIn = 16;    ///< checks
constexpr std::uint64_t kOthersOneIn = 8;  ///< prompts that no call named since the last check
constexpr Duration kPatience = std::chrono::seconds(120);

struct Phase {
  const char* name;
  std::uint64_t puts, kills;
  Bytes capacity;
  bool evicts;
};

/// Threads that put until the end of the scope.
struct Putting {
  ~Putting() { stop = true; }

  std::atomic<bool> stop{false};
  std::vector<std::jthread> threads;
};

/// Lives and deaths of one daemon's directory.
class Campaign {
 public:
  Campaign(const Phase& phase, std::uint64_t seed);

  void run();
  nlohmann::json result() const;

 private:
  std::uint64_t below(std::uint64_t bound) { return rng_() % bound; }
  bool more() const { return kills_ < phase_.kills || acknowledged_ < phase_.puts; }
  std::uint64_t puts_of_next_life();
  void live_and_die();
  void kill_at_random(std::uint64_t puts);
  void kill_at_point();
  std::string draw_point(std::uint64_t puts);
  void restart();
  void check();

  const Phase phase_;
  std::mt19937_64 rng_;
  NamespaceSpec spec_;
  std::vector<std::unique_ptr<Putter>> putters_;
  std::unique_ptr<sim::Daemon> daemon_;
  std::string point_;  ///< of the daemon that runs; empty: none
  std::atomic<std::uint64_t> acknowledged_{0};
  std::uint64_t kills_ = 0;
  std::map<std::string, std::uint64_t> kills_by_;
  CheckCounts checked_;
  std::uint64_t checks_ = 0;
  std::uint64_t adopted_most_ = 0;
};

Campaign::Campaign(const Phase& phase, std::uint64_t seed)
    : phase_(phase), rng_(seed), spec_(prompt_spec("kill-campaign")) {
  daemon_ = std::make_unique<sim::Daemon>(sim::Daemon::Options{
      .host_bytes = phase.capacity, .shards = 2, .flags = {}, .environment = {}, .program = {}});
  for (const PutWay way : {PutWay::kRegion, PutWay::kAttach, PutWay::kStaged, PutWay::kTcp,
                           PutWay::kLayersShm, PutWay::kLayersTcp}) {
    const auto number = static_cast<std::uint64_t>(way);
    putters_.push_back(std::make_unique<Putter>(Putter::Options{.socket = daemon_->socket(),
                                                                .tcp = daemon_->tcp(),
                                                                .first_prompt = number << 32,
                                                                .seed = rng_(),
                                                                .way = way},
                                                spec_));
  }
}

void Campaign::run() {
  while (more() && checked_.wrong + checked_.returned == 0) {
    live_and_die();
    restart();
    check();
    if (kills_ % 50 == 0) {
      std::cerr << fmt::format("{}: {} kills, {} acknowledged\n", phase_.name, kills_,
                               acknowledged_.load());
    }
  }
}

/// What is left to do, spread over the kills that are left.
std::uint64_t Campaign::puts_of_next_life() {
  const std::uint64_t puts = phase_.puts - std::min(phase_.puts, acknowledged_.load());
  const std::uint64_t kills = phase_.kills - std::min(phase_.kills, kills_);
  return 1 + below(2 * puts / std::max<std::uint64_t>(kills, 1) + 1);
}

void Campaign::live_and_die() {
  for (const auto& putter : putters_) {
    if (below(3) == 0) putter->disconnect();
  }
  {
    Putting putting;
    for (const auto& putter : putters_)
      putting.threads.emplace_back(
          [&, at = putter.get()] { at->run(putting.stop, acknowledged_); });
    if (point_.empty()) {
      kill_at_random(puts_of_next_life());
    } else {
      kill_at_point();
    }
  }
  kills_ += 1;
}

void Campaign::kill_at_random(std::uint64_t puts) {
  const std::uint64_t enough = acknowledged_ + puts;
  BOOST_REQUIRE_MESSAGE(test::eventually([&] { return acknowledged_ >= enough; }, kPatience),
                        "no progress: " << daemon_->log());
  std::this_thread::sleep_for(std::chrono::microseconds(below(3'000)));  // the random moment
  daemon_->kill();
  kills_by_["random"] += 1;
}

void Campaign::kill_at_point() {
  BOOST_REQUIRE_MESSAGE(daemon_->wait_exit(kPatience), "not passed: " << point_);
  BOOST_REQUIRE(daemon_->exit_status() == 128 + SIGKILL);
  kills_by_[point_.substr(0, point_.find(':'))] += 1;
}

/// "point:pass", or nothing: a random moment.
std::string Campaign::draw_point(std::uint64_t puts) {
  if (!kHasPoints || below(3) == 0) return "";
  std::vector<std::string> points{"reserve", "begin_reuse", "copy", "seal", "commit"};
  if (phase_.evicts) points.emplace_back("evict");
  return fmt::format("{}:{}", points[below(points.size())], 1 + below(puts));
}

/// Now and then the next daemon is killed as well, while it starts: it may be adopting.
void Campaign::restart() {
  while (below(4) == 0) {
    daemon_->forget_environment();
    daemon_->launch();
    std::this_thread::sleep_for(std::chrono::microseconds(below(60'000)));  // the random moment
    daemon_->kill();
    kills_by_["starting"] += 1;
    kills_ += 1;
  }
  point_ = draw_point(puts_of_next_life());
  daemon_->set_environment(point_.empty() ? std::vector<std::string>{}
                                          : std::vector{"LARDER_CRASH_AT=" + point_});
  daemon_->start();
}

/// What is lost stays lost: the last check, of everything, misses nothing that an earlier one would
/// have seen.
void Campaign::check() {
  const std::uint64_t others_one_in = !more() || ++checks_ % kAllOneIn == 0 ? 1 : kOthersOneIn;
  adopted_most_ = std::max(adopted_most_, static_cast<std::uint64_t>(daemon_->stat("adopted")));
  const auto client = below(2) == 0 ? daemon_->shm() : daemon_->tcp_client();
  for (const auto& putter : putters_)
    BOOST_REQUIRE(check_book(*client, spec_, putter->book(), rng_, others_one_in, checked_));
  BOOST_TEST(checked_.wrong == 0U);
  BOOST_TEST(checked_.returned == 0U);
  if (!phase_.evicts) BOOST_REQUIRE(checked_.lost == 0U);
}

nlohmann::json Campaign::result() const {
  std::uint64_t removed = 0;
  for (const auto& putter : putters_)
    removed += putter->book().removed;
  return {{"kills", kills_},
          {"kills_by", kills_by_},
          {"capacity_bytes", phase_.capacity.count},
          {"acknowledged_puts", acknowledged_.load()},
          {"acknowledged_removals", removed},
          {"blocks_asked_for", checked_.gets},
          {"blocks_compared", checked_.hits},
          {"wrong", checked_.wrong},
          {phase_.evicts ? "left" : "lost", checked_.lost},
          {"removed_and_served", checked_.returned},
          {"committed_but_unanswered", checked_.half_known},
          {"adopted_most", adopted_most_}};
}

nlohmann::json run_phase(const Phase& phase, std::uint64_t seed) {
  Campaign campaign(phase, seed);
  campaign.run();
  return campaign.result();
}

}  // namespace

nlohmann::json run_kill_campaign(const Options& options) {
  const Phase keep{"keep", options.puts, options.kills,
                   Bytes{(512 << 20) + 2 * options.puts * kCampaignBytesMean}, false};
  const Phase evict{"evict", options.puts / 4, options.kills / 4, Bytes{4 << 20}, true};
  std::cerr << (kHasPoints ? "kills: at kill points and at random moments\n"
                           : "kills: at random moments (this build has no kill points)\n");
  nlohmann::json out{{"seed", options.seed}, {"kill_points", kHasPoints}};
  out["nothing_evicted"] = run_phase(keep, options.seed);
  out["evicting"] = run_phase(evict, options.seed + 1);
  BOOST_TEST(out["evicting"]["blocks_compared"] > 0U);
  BOOST_TEST(out["evicting"]["left"] > 0U);  // else nothing was reused
  return out;
}

}  // namespace larder::soak
