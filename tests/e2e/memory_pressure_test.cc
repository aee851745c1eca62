// A larderd in a cgroup of its own whose limit is lowered under load: it gives memory back before
// the kernel kills it. Needs a cgroup file system that may be written (root, v1 or v2).

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/eventually.h"
#include "tests/sanitized.h"

namespace larder::memory_pressure_test {
namespace {

constexpr std::uint64_t kMib = 1 << 20;

/// A cgroup of the memory controller, removed with the object.
class TestCgroup {
 public:
  /// Nothing, when this machine does not let us have one.
  static std::unique_ptr<TestCgroup> make() {
    const std::string name = fmt::format("/larder-test-{}", ::getpid());
    for (const bool v1 : {false, true}) {
      auto group = std::unique_ptr<TestCgroup>(
          new TestCgroup((v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup") + name, v1));
      if (group->usable()) return group;
    }
    return nullptr;
  }
  ~TestCgroup() {
    // Its last process may not be reaped yet.
    test::eventually([this] {
      std::error_code error;
      return std::filesystem::remove(dir_, error) || !std::filesystem::exists(dir_, error);
    });
  }

  bool add(pid_t pid) const { return write("cgroup.procs", std::to_string(pid)); }
  std::uint64_t used() const {
    std::uint64_t bytes = 0;
    std::ifstream(dir_ + (v1_ ? "/memory.usage_in_bytes" : "/memory.current")) >> bytes;
    return bytes;
  }
  /// Not below what is used: v1 refuses that, v2 kills for it.
  bool limit(std::uint64_t bytes) const {
    return used() + 2 * kMib <= bytes &&
           write(v1_ ? "memory.limit_in_bytes" : "memory.max", std::to_string(bytes));
  }

 private:
  TestCgroup(std::string dir, bool v1) : dir_(std::move(dir)), v1_(v1) {}
  bool usable() const {
    std::error_code error;
    if (!std::filesystem::create_directory(dir_, error)) return false;
    return std::filesystem::exists(dir_ + (v1_ ? "/memory.limit_in_bytes" : "/memory.max"), error);
  }
  bool write(const std::string& file, const std::string& text) const {
    std::ofstream out(dir_ + "/" + file);
    out << text << std::flush;
    return out.good();
  }

  std::string dir_;
  bool v1_;
};

/// Puts and gets of more than fits, until it ends; what went wrong.
struct Load {
  explicit Load(const sim::Daemon& daemon) : client(daemon.shm(std::chrono::seconds(20))) {
    thread = std::thread([this] { run(); });
  }
  ~Load() {
    stop = true;
    if (thread.joinable()) thread.join();
  }
  void run() {
    const NamespaceSpec spec = sim::chain_spec("pressure");
    const auto ns = client->open_namespace(spec);
    if (!ns.ok()) return void(failed += 1);
    for (std::uint64_t round = 0; !stop; ++round) {
      sim::Batch batch(spec, 1 + round % 12, 32, kMib);
      const Completion put = client->put(*ns, batch.keys, batch.sources, {});
      const Completion got = client->get(*ns, batch.keys, batch.targets, {});
      failed += put.code != absl::StatusCode::kOk || got.code != absl::StatusCode::kOk ? 1 : 0;
      for (std::size_t n = 0; n < put.keys.size(); ++n) {
        const bool stored = put.keys[n] == KeyStatus::kOk || put.keys[n] == KeyStatus::kPresent;
        failed += stored || put.keys[n] == KeyStatus::kNoSpace ? 0 : 1;
        const bool hit = got.keys[n] == KeyStatus::kOk;
        failed += hit || got.keys[n] == KeyStatus::kMiss ? 0 : 1;
        wrong += hit && !sim::same_bytes(batch.places[n], batch.blocks[n]) ? 1 : 0;
        hits += hit ? 1 : 0;
      }
      rounds += 1;
    }
  }
  bool passes(std::uint64_t more) const {
    const std::uint64_t end = rounds + more;
    return test::eventually([&] { return rounds >= end; }, std::chrono::seconds(60));
  }

  std::unique_ptr<Client> client;
  std::atomic<std::uint64_t> rounds{0};
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<bool> stop{false};
  std::thread thread;
};

/// A process in the cgroup that takes memory, 4 MiB at a time, and keeps it. Ends with the object.
class Neighbour {
 public:
  Neighbour(const TestCgroup& group, std::uint64_t bytes) : pid_(::fork()) {
    if (pid_ == 0) grow(group, bytes);
  }
  ~Neighbour() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  bool alive() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  [[noreturn]] static void grow(const TestCgroup& group, std::uint64_t bytes) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!group.add(::getpid())) ::_exit(1);
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) ::_exit(1);
    for (std::uint64_t at = 0; at < bytes; at += 4 * kMib) {
      std::memset(static_cast<char*>(memory) + at, 1, 4 * kMib);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    for (;;)
      ::pause();
  }

  pid_t pid_;
};

/// A daemon of 256 MiB in a cgroup of 512 MiB, full and under load.
struct Limited {
  explicit Limited(std::unique_ptr<TestCgroup> of)
      : group(std::move(of)),
        daemon({.host_bytes = Bytes{256 * kMib}, .flags = {}, .environment = {}, .program = {}}) {
    BOOST_REQUIRE(group->limit(512 * kMib));
    BOOST_REQUIRE(group->add(daemon.pid()));
    load.emplace(daemon);
    BOOST_TEST(load->passes(12));
    BOOST_TEST(daemon.stat("capacity_bytes") == 256 * kMib);
    BOOST_TEST(group->used() > 200 * kMib);
  }
  /// It serves, with less, and nobody noticed but by misses.
  void check() {
    BOOST_TEST(load->passes(6));
    const std::uint64_t hits = load->hits;
    BOOST_TEST(load->passes(6));
    BOOST_TEST(load->hits > hits);
    BOOST_TEST(load->failed == 0U);
    BOOST_TEST(load->wrong == 0U);
    BOOST_TEST(load->client->stats().reconnects == 0U);
    // The least that slabs have is 16 MiB, of which the capacity is 7/8 or more: where a sanitizer
    // keeps what was freed, it may come to that.
    BOOST_TEST(daemon.stat("capacity_bytes") > (sim::kSanitized ? 13 : 16) * kMib);
    BOOST_TEST(daemon.logged("reason=pressure") >= 1U);
  }

  std::unique_ptr<TestCgroup> group;
  sim::Daemon daemon;
  std::optional<Load> load;
};

std::unique_ptr<TestCgroup> cgroup_or_skip() {
  auto group = TestCgroup::make();
  if (group) return group;
  const char* const why = "skipped: no cgroup with a memory controller can be made here";
  BOOST_TEST_MESSAGE(why);
  std::printf("memory_pressure: %s\n", why);
  return nullptr;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(memory_pressure)

BOOST_AUTO_TEST_CASE(a_limit_lowered_under_load_costs_blocks_and_not_the_daemon) {
  auto group = cgroup_or_skip();
  if (!group) return;
  Limited with(std::move(group));

  // Each step takes half of the reserve, an eighth of the limit.
  std::uint64_t limit = 512 * kMib;
  while (limit > 160 * kMib) {
    limit -= limit / 16;
    BOOST_REQUIRE_MESSAGE(test::eventually([&] { return with.group->limit(limit); }),
                          "no room for a limit of " << limit << ": " << with.daemon.log());
  }

  with.check();
  BOOST_TEST(with.group->used() <= limit);
  BOOST_TEST(with.daemon.stat("capacity_bytes") < 160 * kMib);
}

BOOST_AUTO_TEST_CASE(a_neighbour_in_the_cgroup_may_grow_and_nobody_is_killed) {
  auto group = cgroup_or_skip();
  if (!group) return;
  Limited with(std::move(group));

  const Neighbour neighbour(*with.group, 360 * kMib);
  BOOST_TEST(test::eventually([&] { return with.daemon.stat("capacity_bytes") < 100 * kMib; }));

  with.check();
  BOOST_TEST(neighbour.alive());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::memory_pressure_test
