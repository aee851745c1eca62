#include "transport/guarded_copy.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

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
std::atomic<const struct sigaction*> previous_action{nullptr};
[[gnu::tls_model("initial-exec")]] thread_local bool chaining = false;
std::atomic<std::uint64_t> fault_count{0};

/// Back to the instruction that faulted, which now ends the process as it would have.
void fall_to_default() {
  struct sigaction dfl {};
  dfl.sa_handler = SIG_DFL;
  sigaction(SIGBUS, &dfl, nullptr);
}

void chain(int signal, siginfo_t* info, void* context) {
  const struct sigaction* previous = previous_action.load(std::memory_order_acquire);
  const bool handled =
      previous != nullptr && previous->sa_handler != SIG_DFL && previous->sa_handler != SIG_IGN;
  // A handler that was put over ours may hand the signal back to us: once round is enough.
  if (!handled || std::exchange(chaining, true)) return fall_to_default();
  if ((previous->sa_flags & SA_SIGINFO) != 0) {
    previous->sa_sigaction(signal, info, context);
  } else {
    previous->sa_handler(signal);
  }
  chaining = false;
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
  Guard* guard = current_guard;
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (guard != nullptr && (guard->first.holds(at) || guard->second.holds(at))) {
    fault_count.fetch_add(1, std::memory_order_relaxed);
    // The jump saves no mask; whoever wraps handlers (sanitizers do) may have blocked more than we.
    pthread_sigmask(SIG_SETMASK, &static_cast<ucontext_t*>(context)->uc_sigmask, nullptr);
    siglongjmp(guard->back, 1);
  }
  chain(signal, info, context);
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_sigbus;
}

void install_once() {
  static std::once_flag once;
  std::call_once(once, guard_sigbus);
}

Range range_of(const void* data, std::size_t length) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {begin, begin + length};
}

/// Runs `body`, which must own nothing; false when it touched memory of `first` or `second` that
/// went away.
template <class Body>
[[gnu::noinline]] bool run_guarded(Range first, Range second, const Body& body) {
  install_once();
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

/// Not by the sanitizer's own code, which cannot be jumped out of.
__attribute__((no_sanitize("thread"))) std::uint64_t load_plainly(
    const std::atomic<std::uint64_t>* word) {
  static_assert(sizeof *word == sizeof(std::uint64_t));
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(word), __ATOMIC_ACQUIRE);
}

constexpr std::size_t kPiece = 4 << 10;  ///< well within a first-level cache, and not worth a pause

void copy_and_sum(std::byte* dst, const std::byte* src, std::size_t length, Checksum& sum) {
  if (length < kStreamingSumMin) {
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
    copy_streaming_twice(dst + at, bounce, src + at, n);
    sum.update(bounce, n);
  }
}

}  // namespace

void guard_sigbus() {
  struct sigaction found {};
  if (sigaction(SIGBUS, nullptr, &found) != 0 || is_ours(found)) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  struct sigaction action {};
  action.sa_sigaction = on_sigbus;
  // SA_NODEFER: the jump out of the handler leaves the signal unblocked without saving masks.
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  auto previous = std::make_unique<struct sigaction>();
  if (sigaction(SIGBUS, &action, previous.get()) != 0 || is_ours(*previous)) return;
  // The one before is never freed: a handler may be in it. Replacements are few.
  previous_action.store(previous.release(), std::memory_order_release);
}

bool copy_guarded(void* dst, const void* src, std::size_t length, CopyWay way) {
  const std::size_t from = way == CopyWay::kStreaming ? kStreamingPieceMin : kStreamingCopyMin;
  return run_guarded(range_of(dst, length), range_of(src, length), [=] {
    if (length < from) {
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
  const bool read =
      run_guarded(range_of(word, sizeof *word), {}, [word, &value] { value = load_plainly(word); });
  if (!read) return std::nullopt;
  return value;
}

std::uint64_t sigbus_faults() {
  return fault_count.load(std::memory_order_relaxed);
}

}  // namespace larder
