#include "tests/faults/private_space.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/daemon.h"

namespace larder::sim {

namespace {

std::nullopt_t skipped(const std::string& why) {
  const std::string line = fmt::format("skipped: {}", why);
  BOOST_TEST_MESSAGE(line);
  std::puts(line.c_str());
  return std::nullopt;
}

std::string last_error(const char* what) {
  return fmt::format("{}: {}", what, std::strerror(errno));
}

bool ip(const std::vector<std::string>& words, const char* program) {
  std::vector<std::string> command = {program};
  command.insert(command.end(), words.begin(), words.end());
  const Finished finished = run_program(command, std::chrono::seconds(5));
  if (finished.status != 0) BOOST_TEST_MESSAGE("ip: " << finished.output);
  return finished.status == 0;
}

const char* ip_program() {
  for (const char* path : {"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return nullptr;
}

/// A process that keeps a network namespace of its own alive; 0 when it may not have one.
pid_t hold_network() {
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) return 0;
  const Fd reading(ready[0]);
  Fd writing(ready[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::unshare(CLONE_NEWNET) != 0) ::_exit(1);
    if (::write(writing.get(), "r", 1) != 1) ::_exit(1);
    for (;;)
      ::pause();
  }
  writing.reset();
  char byte = 0;
  if (::read(reading.get(), &byte, 1) == 1) return pid;
  ::waitpid(pid, nullptr, 0);
  return 0;
}

Fd network_of(const std::string& process) {
  return Fd(::open(("/proc/" + process + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

std::optional<SmallTmpfs> SmallTmpfs::mount(const std::string& path, Bytes size) {
  // Once is enough, and every later test of this process is as well off in it.
  static const bool own = ::unshare(CLONE_NEWNS) == 0 &&
                          ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  if (!own) return skipped("a mount namespace is not permitted");
  const std::string options = fmt::format("size={},mode=700", size.count);
  if (::mount("larder-test", path.c_str(), "tmpfs", 0, options.c_str()) != 0) {
    return skipped(last_error("mounting a tmpfs"));
  }
  return SmallTmpfs(path);
}

SmallTmpfs::~SmallTmpfs() {
  if (!path_.empty()) ::umount2(path_.c_str(), MNT_DETACH);
}

std::string SmallTmpfs::fill() const {
  const std::string file = path_ + "/ballast";
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  constexpr off_t kPage = 4096;
  off_t at = 0;
  for (off_t step = 64 * kPage; step >= kPage;) {
    if (::posix_fallocate(fd.get(), at, step) == 0) {
      at += step;
    } else {
      step /= 2;
    }
  }
  BOOST_TEST((::posix_fallocate(fd.get(), at, kPage) == ENOSPC));
  return file;
}

std::optional<TwoHosts> TwoHosts::make() {
  const char* program = ip_program();
  if (program == nullptr) return skipped("there is no ip command");
  TwoHosts hosts;
  hosts.outside_ = network_of("thread-self");
  hosts.holder_ = hold_network();
  if (hosts.holder_ == 0 || ::unshare(CLONE_NEWNET) != 0) {
    return skipped("a network namespace is not permitted");
  }
  const std::string holder = std::to_string(hosts.holder_);
  hosts.there_ = network_of(holder);
  const bool here =
      ip({"link", "set", "lo", "up"}, program) &&
      ip({"link", "add", "here", "type", "veth", "peer", "name", "there", "netns", holder},
         program) &&
      ip({"address", "add", fmt::format("{}/24", kHere), "dev", "here"}, program) &&
      ip({"link", "set", "here", "up"}, program);
  if (!here) return skipped("a veth pair cannot be made");
  Fd back = network_of("thread-self");
  hosts.enter_there();
  const bool there =
      ip({"address", "add", fmt::format("{}/24", kThere), "dev", "there"}, program) &&
      ip({"link", "set", "there", "up"}, program);
  BOOST_REQUIRE(::setns(back.get(), CLONE_NEWNET) == 0);
  if (!there) return skipped("the other end of a veth pair cannot be set up");
  return hosts;
}

TwoHosts::~TwoHosts() {
  if (outside_.valid()) ::setns(outside_.get(), CLONE_NEWNET);
  if (holder_ <= 0 || !there_.valid()) return;
  ::kill(holder_, SIGKILL);
  ::waitpid(holder_, nullptr, 0);
}

void TwoHosts::enter_there() const {
  BOOST_REQUIRE(::setns(there_.get(), CLONE_NEWNET) == 0);
}

/// Both ends send to an address that nobody has: no link goes down, no route changes.
void TwoHosts::lose_packets() const {
  constexpr const char* kNobody = "02:00:00:00:00:99";
  const char* program = ip_program();
  const Fd back = network_of("thread-self");
  BOOST_TEST(ip({"neigh", "replace", kThere, "lladdr", kNobody, "dev", "here", "nud", "permanent"},
                program));
  enter_there();
  BOOST_TEST(ip({"neigh", "replace", kHere, "lladdr", kNobody, "dev", "there", "nud", "permanent"},
                program));
  BOOST_REQUIRE(::setns(back.get(), CLONE_NEWNET) == 0);
}

}  // namespace larder::sim
