#include "transport/control_page.h"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/assert.h"
#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {
namespace {

constexpr std::size_t kPageBytes = limits::kControlWords * sizeof(std::uint64_t);

constexpr std::uint64_t pack(std::uint64_t id, ControlPage::State state) {
  return id << 2 | static_cast<std::uint64_t>(state);
}

}  // namespace

absl::StatusOr<Fd> make_sealed_memfd(const char* name, Bytes bytes) {
  Fd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return errno_status(absl::StatusCode::kResourceExhausted, "memfd_create", errno);
  if (ftruncate(fd.get(), static_cast<off_t>(bytes.count)) != 0) {
    return errno_status(absl::StatusCode::kResourceExhausted,
                        fmt::format("memfd of {} bytes", bytes.count), errno);
  }
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return errno_status(absl::StatusCode::kInternal, "sealing a memfd", errno);
  }
  return fd;
}

absl::StatusOr<ControlPage> ControlPage::create() {
  LARDER_ASSIGN_OR_RETURN(Fd fd, make_sealed_memfd("larder-control", {kPageBytes}));
  Mapping memory(fd.get(), kPageBytes, PROT_READ | PROT_WRITE);
  if (!memory.valid()) {
    return errno_status(absl::StatusCode::kResourceExhausted, "mapping a control page", errno);
  }
  return ControlPage(std::move(fd), std::move(memory));
}

absl::StatusOr<ControlPage> ControlPage::map(Fd fd) {
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return absl::FailedPreconditionError("control page: not a memfd sealed against shrinking");
  }
  struct stat info {};
  if (fstat(fd.get(), &info) != 0 || static_cast<std::uint64_t>(info.st_size) < kPageBytes) {
    return absl::FailedPreconditionError(fmt::format(
        "control page: it has {} bytes, at least {} are needed", info.st_size, kPageBytes));
  }
  Mapping memory(fd.get(), kPageBytes, PROT_READ | PROT_WRITE);
  if (!memory.valid()) {
    return errno_status(absl::StatusCode::kFailedPrecondition, "mapping the control page", errno);
  }
  return ControlPage(std::move(fd), std::move(memory));
}

std::atomic<std::uint64_t>& ControlPage::at(std::uint32_t word) const {
  LARDER_ASSERT(word < limits::kControlWords);
  return *(reinterpret_cast<std::atomic<std::uint64_t>*>(memory_.data()) + word);
}

void ControlPage::activate(std::uint32_t word, std::uint64_t id) {
  at(word).store(pack(id, State::kActive), std::memory_order_release);
}

bool ControlPage::cancel(std::uint32_t word, std::uint64_t id) {
  std::uint64_t expected = pack(id, State::kActive);
  return at(word).compare_exchange_strong(expected, pack(id, State::kCancelled),
                                          std::memory_order_acq_rel) ||
         expected == pack(id, State::kCancelled);
}

void ControlPage::clear(std::uint32_t word) {
  at(word).store(0, std::memory_order_release);
}

bool ControlPage::commit(std::uint32_t word, std::uint64_t id) {
  std::uint64_t expected = pack(id, State::kActive);
  return at(word).compare_exchange_strong(expected, pack(id, State::kCommitted),
                                          std::memory_order_acq_rel);
}

bool ControlPage::is_active(std::uint32_t word, std::uint64_t id) const {
  return at(word).load(std::memory_order_acquire) == pack(id, State::kActive);
}

}  // namespace larder
