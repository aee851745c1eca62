#include "tests/bench/limits/process_read.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/checksum.h"
#include "tests/bench/limits/bare_copy.h"

namespace larder {
namespace {

constexpr std::size_t kReadPieceBytes =
    128 << 10;  // a call's cost spread; stays in a second-level cache

/// Pages that are this process's alone, where the parent's area was not inherited.
bool fill_area(std::span<std::byte> area) {
  void* const memory = mmap(area.data(), area.size(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory != area.data()) return false;
  madvise(memory, area.size(), MADV_NOHUGEPAGE);
  std::memset(memory, 0x5a, area.size());
  return true;
}

[[noreturn]] void sleep_until_ended(pid_t parent, std::span<std::byte> area, int ready_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || !fill_area(area)) _exit(1);
  if (write(ready_fd, "r", 1) != 1) _exit(1);
  close_range(3, ~0U, 0);
  for (;;)
    pause();
}

}  // namespace

const char* ProcessRead::name_of(Way way) {
  return way == Way::kReadThenSum ? "vm_readv_sum" : "vm_readv_fused_sum";
}

absl::StatusOr<std::unique_ptr<ProcessRead>> ProcessRead::start(std::span<std::byte> area) {
  const auto failed = [](const char* what) {
    return absl::UnavailableError(fmt::format("{}: {}", what, std::strerror(errno)));
  };
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return failed("pipe");
  const pid_t parent = getpid();
  madvise(area.data(), area.size(), MADV_DONTFORK);
  const pid_t pid = fork();
  if (pid == 0) sleep_until_ended(parent, area, ready[1]);
  madvise(area.data(), area.size(), MADV_DOFORK);
  close(ready[1]);
  char byte = 0;
  const bool filled = pid > 0 && ::read(ready[0], &byte, 1) == 1;
  close(ready[0]);
  if (pid < 0) return failed("fork");
  std::unique_ptr<ProcessRead> made(new ProcessRead(pid));
  if (!filled) return absl::UnavailableError("the second process has no memory to be read");
  std::byte probe{0};
  if (!made->read_piece(area.first(1), &probe)) return failed("process_vm_readv");
  return made;
}

ProcessRead::~ProcessRead() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool ProcessRead::read(Way way, std::span<const std::byte> from, std::byte* to) const {
  const std::size_t piece_bytes = way == Way::kReadThenSum ? from.size() : kReadPieceBytes;
  ChecksumStream sum;
  while (!from.empty()) {
    const auto piece = from.first(std::min(from.size(), piece_bytes));
    if (!read_piece(piece, to)) return false;
    sum.update({to, piece.size()});
    from = from.subspan(piece.size());
    to += piece.size();
  }
  keep_sum(sum.digest());
  return true;
}

bool ProcessRead::read_piece(std::span<const std::byte> from, std::byte* to) const {
  std::size_t done = 0;
  while (done < from.size()) {
    const iovec local{.iov_base = to + done, .iov_len = from.size() - done};
    const iovec remote{.iov_base = const_cast<std::byte*>(from.data()) + done,
                       .iov_len = from.size() - done};
    const ssize_t got = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace larder
