#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "store/mutex.h"
#include "store/types.h"

namespace larder {

/// Audit lines of what was refused. Anybody can cause them, so there are at most kPerSecond a
/// second, then one that counts those left out. Thread-safe.
class RefusalLog {
 public:
  static constexpr std::uint32_t kPerSecond = 10;

  explicit RefusalLog(std::function<void(const std::string&)> line) : line_(std::move(line)) {}
  void add(Time now, const std::string& line);
  /// Now and then: says what was left out once its second is over.
  void on_time(Time now);

 private:
  void begin_second(Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::function<void(const std::string&)> line_;
  Mutex mutex_;
  Time second_ ABSL_GUARDED_BY(mutex_){};
  std::uint32_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace larder
