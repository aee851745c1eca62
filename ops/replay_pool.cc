#include "ops/replay_pool.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ops/clock.h"

namespace larder {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr int kPollsPerProgress = 5;
constexpr int kWorkerFailed = 1;
constexpr std::size_t kCountsAt = 64;  // the number of the next request stands before them

void sleep_until_recorded(Time start, double rate, const TraceRequest& request) {
  if (rate <= 0) return;
  const std::chrono::duration<double, std::milli> after(static_cast<double>(request.timestamp_ms) /
                                                        rate);
  std::this_thread::sleep_until(start + std::chrono::duration_cast<Duration>(after));
}

}  // namespace

ReplayPool::ReplayPool(const ReplayOptions& options, const std::vector<TraceRequest>& trace)
    : options_(options), trace_(trace) {}

ReplayPool::~ReplayPool() {
  for (const int pid : pids_) {
    if (pid == 0) continue;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  if (shared_ != nullptr) munmap(shared_, shared_bytes_);
}

absl::Status ReplayPool::start() {
  shared_bytes_ =
      kCountsAt + sizeof(ReplayCounts) * options_.workers + 2 * sizeof(float) * trace_.size();
  void* memory =
      mmap(nullptr, shared_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        fmt::format("{} bytes of shared memory: {}", shared_bytes_, std::strerror(errno)));
  }
  shared_ = static_cast<std::byte*>(memory);
  for (std::size_t n = 0; n < options_.workers; ++n)
    new (&counts(n)) ReplayCounts();
  std::ranges::fill(latencies().match_us, -1.0F);
  std::ranges::fill(latencies().get_us, -1.0F);
  std::fflush(nullptr);  // or each child prints it again
  for (std::size_t n = 0; n < options_.workers; ++n) {
    const pid_t pid = fork();
    if (pid < 0) {
      return absl::ResourceExhaustedError(fmt::format("fork: {}", std::strerror(errno)));
    }
    if (pid == 0) work(n);
    pids_.push_back(pid);
  }
  return absl::OkStatus();
}

void ReplayPool::work(std::size_t worker) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  ReplayCounts& mine = counts(worker);
  absl::Status status;
  {
    auto started = ReplayWorker::start(options_, mine, latencies());
    status = started.status();
    const Time start = clock_now();
    while (status.ok()) {
      const std::uint64_t n = next().fetch_add(1, std::memory_order_relaxed);
      if (n >= trace_.size()) break;
      sleep_until_recorded(start, options_.rate, trace_[n]);
      (*started)->serve(n, trace_[n]);
      status = (*started)->health();
    }
  }
  if (status.ok()) _exit(0);
  mine.code = status.code();
  const std::string message(status.message());
  std::memset(mine.error, 0, sizeof(mine.error));
  std::strncpy(mine.error, message.c_str(), ReplayCounts::kErrorBytes - 1);
  _exit(kWorkerFailed);
}

absl::Status ReplayPool::wait(absl::FunctionRef<void(std::uint64_t)> on_progress) {
  std::size_t running = pids_.size();
  for (int poll = 0; running > 0; ++poll) {
    for (std::size_t n = 0; n < pids_.size(); ++n) {
      int wait_status = 0;
      if (pids_[n] == 0 || waitpid(pids_[n], &wait_status, WNOHANG) != pids_[n]) continue;
      pids_[n] = 0;
      running -= 1;
      if (wait_status != 0) return ended(n, wait_status);
    }
    if (poll % kPollsPerProgress == 0) {
      std::uint64_t done = 0;
      for (std::size_t n = 0; n < options_.workers; ++n) {
        done += counts(n).done.load(std::memory_order_relaxed);
      }
      on_progress(done);
    }
    if (running > 0) std::this_thread::sleep_for(kPoll);
  }
  return absl::OkStatus();
}

absl::Status ReplayPool::ended(std::size_t worker, int wait_status) const {
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kWorkerFailed) {
    return {counts(worker).code,
            fmt::format("worker {}: {}", worker, static_cast<const char*>(counts(worker).error))};
  }
  if (WIFSIGNALED(wait_status)) {
    return absl::InternalError(
        fmt::format("worker {} died: {}", worker, strsignal(WTERMSIG(wait_status))));
  }
  return absl::InternalError(
      fmt::format("worker {} died: exit status {}", worker, WEXITSTATUS(wait_status)));
}

ReplayResult ReplayPool::result() const {
  ReplayResult sum;
  for (std::size_t n = 0; n < options_.workers; ++n) {
    const ReplayCounts& one = counts(n);
    sum.requests += one.done.load(std::memory_order_relaxed);
    sum.references += one.references;
    sum.hit_references += one.hit_references;
    sum.wrong_bytes += one.wrong_bytes;
    sum.errors += one.errors;
    sum.puts_without_room += one.puts_without_room;
    sum.tokens_saved += one.tokens_saved;
    sum.get_bytes += one.get_bytes;
    sum.put_bytes += one.put_bytes;
    sum.get_seconds += one.get_seconds;
    sum.put_seconds += one.put_seconds;
  }
  const auto measured = [](float us) { return us >= 0; };
  std::ranges::copy_if(latencies().match_us, std::back_inserter(sum.match_us), measured);
  std::ranges::copy_if(latencies().get_us, std::back_inserter(sum.get_us), measured);
  return sum;
}

std::string ReplayPool::first_error() const {
  for (std::size_t n = 0; n < options_.workers; ++n) {
    if (counts(n).error[0] != '\0') return static_cast<const char*>(counts(n).error);
  }
  return "";
}

ReplayCounts& ReplayPool::counts(std::size_t worker) const {
  return reinterpret_cast<ReplayCounts*>(shared_ + kCountsAt)[worker];
}

std::atomic<std::uint64_t>& ReplayPool::next() const {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(shared_);
}

ReplayLatencies ReplayPool::latencies() const {
  auto* const first =
      reinterpret_cast<float*>(shared_ + kCountsAt + sizeof(ReplayCounts) * options_.workers);
  return {.match_us = {first, trace_.size()}, .get_us = {first + trace_.size(), trace_.size()}};
}

}  // namespace larder
