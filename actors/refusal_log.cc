#include "actors/refusal_log.h"

#include <chrono>

#include <fmt/format.h>

namespace larder {

void RefusalLog::add(Time now, const std::string& line) {
  MutexLock lock(&mutex_);
  begin_second(now);
  if (written_ == kPerSecond) {
    left_out_ += 1;
    return;
  }
  written_ += 1;
  line_(line);
}

void RefusalLog::on_time(Time now) {
  MutexLock lock(&mutex_);
  begin_second(now);
}

void RefusalLog::begin_second(Time now) {
  if (now < second_ + std::chrono::seconds(1)) return;
  second_ = now;
  written_ = 0;
  if (left_out_ > 0) line_(fmt::format("audit_refused left_out={}", left_out_));
  left_out_ = 0;
}

}  // namespace larder
