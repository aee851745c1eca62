// A reader that is frozen in the middle of its copy: past its lease it gets a miss, never bytes.

#include "tests/e2e/frozen_reader.h"

#include <thread>

#include <boost/test/unit_test.hpp>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/daemon.h"

namespace larder::frozen_reader_test {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t kBytes = 4 << 20;
constexpr std::uint64_t kOld = 1;

struct Frozen {
  Frozen() {
    writer = daemon.shm();
    ns = *writer->open_namespace(sim::reader_spec());
    put(kOld);
    const std::string program = sim::built("larder_test_frozen_reader");
    const std::string bytes = std::to_string(kBytes);
    pid = ::fork();
    if (pid == 0) {
      ::execl(program.c_str(), program.c_str(), daemon.socket().c_str(), "1", bytes.c_str(),
              static_cast<char*>(nullptr));
      ::_exit(sim::kReaderBroken);
    }
    int status = 0;
    BOOST_REQUIRE(::waitpid(pid, &status, WUNTRACED) == pid);
    BOOST_REQUIRE_MESSAGE(WIFSTOPPED(status), "the reader ended before its copy");
  }
  ~Frozen() {
    if (pid > 0) thaw();
  }
  KeyStatus put(std::uint64_t seed) {
    const std::vector<std::byte> block = sim::reader_block(seed, kBytes);
    const Key key = sim::reader_key(seed, kBytes);
    const ConstBuffer buffer{block.data(), block.size()};
    const Completion done = writer->put(ns, {&key, 1}, {&buffer, 1}, {});
    return done.keys.empty() ? KeyStatus::kUnavailable : done.keys[0];
  }
  /// New blocks, twice as many as fit.
  int put_many() {
    int stored = 0;
    for (std::uint64_t seed = 100; seed < 108; ++seed)
      stored += put(seed) == KeyStatus::kOk ? 1 : 0;
    return stored;
  }
  bool old_is_there() {
    std::vector<std::byte> place(kBytes);
    const Key key = sim::reader_key(kOld, kBytes);
    const MutableBuffer buffer{place.data(), place.size()};
    return writer->get(ns, {&key, 1}, {&buffer, 1}, {}).keys[0] == KeyStatus::kOk;
  }
  int thaw() {
    ::kill(pid, SIGCONT);
    int status = 0;
    ::waitpid(pid, &status, 0);
    pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  sim::Daemon daemon{{.host_bytes = Bytes{4 * kBytes},
                      .shards = 1,
                      .flags = {"--lease-ms", "500"},
                      .environment = {},
                      .program = {}}};
  std::unique_ptr<Client> writer;
  NamespaceId ns;
  pid_t pid = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(frozen_reader, Frozen)

BOOST_AUTO_TEST_CASE(past_its_lease_its_slot_reused_it_gets_a_miss_and_never_bytes) {
  std::this_thread::sleep_for(milliseconds(800));
  BOOST_TEST(put_many() == 8);
  BOOST_TEST(!old_is_there());

  BOOST_TEST(thaw() == sim::kReaderMiss);
}

BOOST_AUTO_TEST_CASE(across_a_restart_of_the_daemon_too) {
  daemon.kill();
  daemon.start();
  BOOST_TEST(put_many() == 8);
  BOOST_TEST(!old_is_there());

  BOOST_TEST(thaw() == sim::kReaderMiss);
}

/// The other side: while the slot is not reused, the bytes are right, lease or no lease.
BOOST_AUTO_TEST_CASE(whose_slot_was_not_reused_gets_the_block) {
  std::this_thread::sleep_for(milliseconds(800));
  BOOST_TEST(thaw() == sim::kReaderRight);
}

/// And within the lease the slot cannot be reused.
BOOST_AUTO_TEST_CASE(within_its_lease_it_keeps_the_block) {
  put_many();
  const int ended = thaw();
  BOOST_TEST((ended == sim::kReaderRight || ended == sim::kReaderMiss));
  BOOST_TEST(ended != sim::kReaderWrong);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::frozen_reader_test
