#include "transport/attach.h"

#include <csignal>
#include <numeric>

#include <boost/test/unit_test.hpp>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/limits.h"
#include "tests/transport/stream.h"

namespace larder::attach_test {
namespace {

constexpr std::size_t kBytes = 300'000;

/// A child process with known memory at known addresses (the parent's own, before the fork). The
/// socket is connected by the child, so that its credentials are the child's.
class Child {
 public:
  Child() : memory_(kBytes) {
    std::iota(memory_.begin(), memory_.end(), 1U);
    const Address address{.path = "/tmp/larder-attach-" + std::to_string(getpid())};
    unlink(address.path.c_str());
    const Fd listener = *listen_on(address);
    pid_ = fork();
    if (pid_ == 0) {
      const absl::StatusOr<Fd> fd = connect_to(address, std::chrono::seconds(5));
      for (;;)
        pause();
    }
    for (int n = 0; n < 5000 && !socket_.valid(); ++n) {
      absl::StatusOr<std::optional<Fd>> fd = accept_from(listener.get());
      if (fd.ok() && fd->has_value()) socket_ = std::move(**fd);
      if (!socket_.valid()) usleep(1000);
    }
    unlink(address.path.c_str());
    BOOST_REQUIRE(socket_.valid());
  }
  ~Child() { end(); }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  int socket() const { return socket_.get(); }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(memory_.data()); }
  std::span<const std::uint32_t> memory() const { return memory_; }

 private:
  std::vector<std::uint32_t> memory_;
  pid_t pid_ = 0;
  Fd socket_;
};

/// Where the kernel allows it at all (Yama's ptrace_scope may not).
bool allowed(const AttachedProcess& process, const Child& child) {
  std::uint32_t word = 0;
  const auto outcome =
      process.read(child.address(), std::as_writable_bytes(std::span(&word, 1)), nullptr);
  if (outcome != AttachedProcess::Outcome::kDenied) return true;
  BOOST_TEST_MESSAGE("skipped: this kernel does not allow cross-memory attach here");
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attach)

BOOST_AUTO_TEST_CASE(memory_of_the_peer_is_read_with_its_checksum) {
  Child child;
  const absl::StatusOr<AttachedProcess> process = AttachedProcess::open(child.socket());
  BOOST_REQUIRE(process.ok());
  if (!allowed(*process, child)) return;
  std::vector<std::uint32_t> place(200'000);
  Checksum sum;

  const auto outcome =
      process->read(child.address(), std::as_writable_bytes(std::span(place)), &sum);

  BOOST_TEST((outcome == AttachedProcess::Outcome::kOk));
  BOOST_TEST(std::equal(place.begin(), place.end(), child.memory().begin()));
  BOOST_TEST(sum.value() == checksum_of(place.data(), place.size() * sizeof place[0]));
  BOOST_TEST(process->alive());
}

BOOST_AUTO_TEST_CASE(a_probe_tells_whether_it_is_the_process_that_sent_it) {
  Child child;
  const absl::StatusOr<AttachedProcess> process = AttachedProcess::open(child.socket());
  BOOST_REQUIRE(process.ok());
  if (!allowed(*process, child)) return;
  std::uint64_t first = 0;
  std::memcpy(&first, child.memory().data(), sizeof first);

  BOOST_TEST(process->probe(child.address(), first).ok());
  BOOST_TEST(absl::IsPermissionDenied(process->probe(child.address(), first + 1)));
  BOOST_TEST(absl::IsPermissionDenied(process->probe(16, first)));
}

BOOST_AUTO_TEST_CASE(unmapped_memory_is_a_fault) {
  Child child;
  const absl::StatusOr<AttachedProcess> process = AttachedProcess::open(child.socket());
  BOOST_REQUIRE(process.ok());
  if (!allowed(*process, child)) return;
  std::byte place[100];

  BOOST_TEST((process->read(64, place, nullptr) == AttachedProcess::Outcome::kFault));
}

BOOST_AUTO_TEST_CASE(a_process_that_ended_is_noticed) {
  Child child;
  const absl::StatusOr<AttachedProcess> process = AttachedProcess::open(child.socket());
  BOOST_REQUIRE(process.ok());
  std::byte place[100];

  child.end();

  BOOST_TEST(!process->alive());
  BOOST_TEST((process->read(child.address(), place, nullptr) == AttachedProcess::Outcome::kGone));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::attach_test
