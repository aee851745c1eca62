// How far a fuzzer's inputs get: one that is refused at the first check tests little.

#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>

namespace larder::fuzz {

/// Counts inputs, and those that got past the decoder's first check; says so when the process ends
/// (ops/fuzz.sh adds it up). Static duration. Any thread.
class Reached {
 public:
  Reached() = default;
  ~Reached() {
    std::fprintf(stderr, "larder: %llu inputs, %llu past the first check\n",
                 static_cast<unsigned long long>(inputs_.load()),
                 static_cast<unsigned long long>(past_.load()));
  }
  Reached(const Reached&) = delete;
  Reached& operator=(const Reached&) = delete;

  void input() { inputs_.fetch_add(1, std::memory_order_relaxed); }
  void past() { past_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> inputs_{0};
  std::atomic<std::uint64_t> past_{0};
};

}  // namespace larder::fuzz
