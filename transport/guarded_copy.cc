#include "transport/guarded_copy.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include <setjmp.h>
#include <signal.h>

namespace larder {
namespace {

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool holds(std::uintptr_t at) const { return at >= begin && at < end; }
};

struct Guard {
  sigjmp_buf back;
  Range first;
  Range second;
  Guard* outer = nullptr;
};

// initial-exec: the handler must not allocate the variable.
[[gnu::tls_model("initial-exec")]] thread_local Guard* current_guard = nullptr;
struct sigaction previous_action;
std::atomic<std::uint64_t> fault_count{0};

void chain(int signal, siginfo_t* info, void* context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler == SIG_DFL || previous_action.sa_handler == SIG_IGN) {
    // Back to the instruction that faulted, which now ends the process as it would have.
    struct sigaction dfl {};
    dfl.sa_handler = SIG_DFL;
    sigaction(SIGBUS, &dfl, nullptr);
  } else {
    previous_action.sa_handler(signal);
  }
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
  Guard* guard = current_guard;
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (guard != nullptr && (guard->first.holds(at) || guard->second.holds(at))) {
    fault_count.fetch_add(1, std::memory_order_relaxed);
    siglongjmp(guard->back, 1);
  }
  chain(signal, info, context);
}

void install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_sigbus;
    // SA_NODEFER: the jump out of the handler leaves the signal unblocked without saving masks.
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous_action);
  });
}

Range range_of(const void* data, std::size_t length) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {begin, begin + length};
}

/// Runs `body`, which must own nothing; false when it touched memory of `first` or `second` that
/// went away.
template <class Body>
[[gnu::noinline]] bool run_guarded(Range first, Range second, const Body& body) {
  install_handler();
  Guard guard;
  guard.first = first;
  guard.second = second;
  guard.outer = current_guard;
  if (sigsetjmp(guard.back, 0) != 0) {
    current_guard = current_guard->outer;
    return false;
  }
  current_guard = &guard;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  body();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  current_guard = guard.outer;
  return true;
}

constexpr std::size_t kPiece = 16 << 10;  ///< with its copy within a first-level cache

void copy_and_sum(std::byte* dst, const std::byte* src, std::size_t length, Checksum& sum) {
  if (length < kStreamingCopyMin) {
    for (std::size_t at = 0; at < length; at += kPiece) {
      const std::size_t n = std::min(kPiece, length - at);
      std::memcpy(dst + at, src + at, n);
      sum.update(dst + at, n);
    }
    return;
  }
  alignas(64) std::byte bounce[kPiece];
  for (std::size_t at = 0; at < length; at += kPiece) {
    const std::size_t n = std::min(kPiece, length - at);
    std::memcpy(bounce, src + at, n);
    sum.update(bounce, n);
    copy_streaming(dst + at, bounce, n);
  }
}

}  // namespace

bool copy_guarded(void* dst, const void* src, std::size_t length) {
  return run_guarded(range_of(dst, length), range_of(src, length), [=] {
    if (length < kStreamingCopyMin) {
      std::memcpy(dst, src, length);
    } else {
      copy_streaming(dst, src, length);
    }
  });
}

bool copy_checksum_guarded(void* dst, const void* src, std::size_t length, Checksum& sum) {
  return run_guarded(range_of(dst, length), range_of(src, length), [=, &sum] {
    copy_and_sum(static_cast<std::byte*>(dst), static_cast<const std::byte*>(src), length, sum);
  });
}

bool checksum_guarded(const void* src, std::size_t length, Checksum& sum) {
  return run_guarded(range_of(src, length), {}, [=, &sum] { sum.update(src, length); });
}

std::optional<std::uint64_t> load_guarded(const std::atomic<std::uint64_t>* word) {
  std::uint64_t value = 0;
  const bool read = run_guarded(range_of(word, sizeof *word), {},
                                [word, &value] { value = word->load(std::memory_order_acquire); });
  if (!read) return std::nullopt;
  return value;
}

std::uint64_t sigbus_faults() {
  return fault_count.load(std::memory_order_relaxed);
}

}  // namespace larder
