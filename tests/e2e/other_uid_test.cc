// Invariant 1: a client of another uid can neither write the daemon's memory nor reach it. Needs
// root, to become another uid: skipped, with a word, elsewhere.

#include <cerrno>
#include <cstring>
#include <string>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "transport/frame_head.h"
#include "transport/frame_reader.h"
#include "transport/socket.h"
#include "transport/wire.pb.h"

namespace larder::other_uid_test {

namespace {

constexpr uid_t kNobody = 65534;
constexpr std::size_t kPage = 4096;

/// What the child could do and should not, and what it could not do and should.
class Findings {
 public:
  void expect_refused(const std::string& what, bool done) {
    if (done) text_ += what + ": was allowed\n";
  }
  void expect_done(const std::string& what, bool done) {
    if (!done) text_ += fmt::format("{}: {}\n", what, std::strerror(errno));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The descriptors of the first slab that the daemon announces to a session that gets `key`.
Fds slab_descriptors(const std::string& socket, const NamespaceSpec& spec, const Key& key) {
  const auto connected = connect_to({.path = socket}, std::chrono::seconds(5));
  if (!connected.ok()) return {};
  wire::HelloRequest hello;
  hello.set_version_min(1);
  hello.set_version_max(1);
  hello.set_want_shm(true);
  wire::OpenNamespaceRequest open;
  open.set_model(spec.fingerprint.model);
  open.set_dtype(spec.fingerprint.dtype);
  open.set_unit_tokens(spec.unit_tokens);
  open.set_ranks(spec.ranks);
  open.add_groups()->set_block_tokens(spec.groups[0].block_tokens);
  wire::GetRequest get;
  get.set_ns(namespace_id("default", spec.fingerprint).value());
  FrameReader reader;
  const auto exchange = [&](const FrameParts& parts, FrameType awaited) -> Fds {
    std::vector<std::byte> head = make_head(parts);
    const iovec piece{head.data(), head.size()};
    if (send_message(connected->get(), {&piece, 1}).state != IoState::kDone) return {};
    for (;;) {
      std::size_t budget = 1 << 20;
      const ReadResult got = reader.read(connected->get(), budget);
      if (got.event == ReadEvent::kFrame && reader.frame().header.type == awaited) {
        return std::move(reader.frame().fds);
      }
      if (got.event == ReadEvent::kClosed || got.event == ReadEvent::kFailed) return {};
      pollfd entry{connected->get(), POLLIN, 0};
      if (got.event == ReadEvent::kBlocked && ::poll(&entry, 1, 5'000) != 1) return {};
    }
  };
  exchange({.type = FrameType::kHello, .id = 1, .body = &hello}, FrameType::kHello);
  exchange({.type = FrameType::kOpenNamespace, .id = 2, .body = &open}, FrameType::kOpenNamespace);
  return exchange(
      {.type = FrameType::kGet, .id = 3, .body = &get, .array = std::as_bytes(std::span(&key, 1))},
      FrameType::kSlabNotice);
}

bool opens(const std::string& path, int flags) {
  return Fd(::open(path.c_str(), flags | O_CLOEXEC)).valid();
}

bool maps_writable(int fd) {
  void* const memory = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory != MAP_FAILED;
}

bool becomes_writable(int fd, Findings& findings) {
  void* const memory = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd, 0);
  findings.expect_done("mmap for reading", memory != MAP_FAILED);
  return memory != MAP_FAILED && ::mprotect(memory, kPage, PROT_READ | PROT_WRITE) == 0;
}

void try_all(int fd, const std::string& name, Findings& findings) {
  const std::string again = fmt::format("/proc/self/fd/{}", fd);
  char link[512] = {};
  findings.expect_done(name + ": readlink", ::readlink(again.c_str(), link, sizeof link - 1) > 0);
  const char byte = 'x';
  findings.expect_refused(name + ": mmap for writing", maps_writable(fd));
  findings.expect_refused(name + ": mprotect for writing", becomes_writable(fd, findings));
  findings.expect_refused(name + ": pwrite", ::pwrite(fd, &byte, 1, 0) >= 0);
  findings.expect_refused(name + ": ftruncate", ::ftruncate(fd, 0) == 0);
  findings.expect_refused(name + ": fallocate", ::fallocate(fd, 0, 0, kPage) == 0);
  findings.expect_refused(
      name + ": punching a hole",
      ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage) == 0);
  findings.expect_refused(name + ": fchmod", ::fchmod(fd, 0666) == 0);
  findings.expect_refused(name + ": sealing", ::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0);
  findings.expect_refused(name + ": reopening for writing", opens(again, O_RDWR));
  findings.expect_refused(name + ": reopening for truncation", opens(again, O_WRONLY | O_TRUNC));
  findings.expect_refused(name + ": opening by path for writing", opens(link, O_RDWR));
  findings.expect_refused(name + ": opening by path", opens(link, O_RDONLY));
  findings.expect_refused(name + ": unlinking", ::unlink(link) == 0);
}

/// In the child.
std::string find_as_nobody(const sim::Daemon& daemon, const NamespaceSpec& spec, const Key& key) {
  Findings findings;
  // The other side: root may reopen what it was given, so the test can see it.
  Fds as_root = slab_descriptors(daemon.socket(), spec, key);
  findings.expect_done("descriptors as root", as_root.size() == 2);
  if (as_root.size() == 2) {
    findings.expect_done("reopening as root",
                         opens(fmt::format("/proc/self/fd/{}", as_root[0].get()), O_RDWR));
  }
  as_root.clear();

  if (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
      ::setresuid(kNobody, kNobody, kNobody) != 0) {
    return fmt::format("cannot become uid {}: {}\n", kNobody, std::strerror(errno));
  }
  ::prctl(PR_SET_DUMPABLE, 1);  // else /proc/self is root's, and would refuse for that reason
  const Fds fds = slab_descriptors(daemon.socket(), spec, key);
  findings.expect_done("descriptors as nobody", fds.size() == 2);
  if (fds.size() == 2) {
    try_all(fds[0].get(), "data", findings);
    try_all(fds[1].get(), "headers", findings);
  }
  std::uint64_t word = 0;
  iovec here{&word, sizeof word};
  iovec there{&word, sizeof word};
  findings.expect_refused(
      "process_vm_readv of the daemon",
      ::process_vm_readv(daemon.pid(), &here, 1, &there, 1, 0) >= 0 || errno != EPERM);
  findings.expect_refused("opening the daemon's memory",
                          opens(fmt::format("/proc/{}/mem", daemon.pid()), O_RDWR));
  findings.expect_refused("listing the runtime directory",
                          opens(daemon.runtime_dir(), O_RDONLY | O_DIRECTORY));
  return findings.text();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(other_uid)

BOOST_AUTO_TEST_CASE(a_client_of_another_uid_cannot_write_what_it_may_read) {
  if (::geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: only root can become another uid");
    std::puts("other_uid: skipped: only root can become another uid");
    return;
  }
  sim::Daemon daemon;
  BOOST_REQUIRE(::chmod(daemon.dir().c_str(), 0755) == 0);  // of the socket alone
  const NamespaceSpec spec = sim::chain_spec("other-uid");
  sim::Batch batch(spec, 1, 1, 65'536);
  {
    const auto client = daemon.shm();
    const NamespaceId ns = *client->open_namespace(spec);
    sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 1, KeyStatus::kOk);
  }
  int pipe[2];
  BOOST_REQUIRE(::pipe(pipe) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const std::string text = find_as_nobody(daemon, spec, batch.keys[0]) + "end\n";
    [[maybe_unused]] const auto told = ::write(pipe[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(pipe[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  ::close(pipe[0]);
  ::waitpid(pid, nullptr, 0);
  BOOST_TEST(text == "end\n");

  const auto client = daemon.shm();
  const NamespaceId ns = *client->open_namespace(spec);
  sim::check_all(client->get(ns, batch.keys, batch.targets, {.verify = true}), 1, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::other_uid_test
