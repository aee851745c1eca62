// Calls that take several turns.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/session.h"
#include "actors/session_limits.h"

namespace larder {

void Session::run_in_steps(const Call& call, std::size_t keys, Bytes memory,
                           const std::function<std::unique_ptr<CallInSteps>()>& make) {
  const bool one_step = keys <= kMatchStep;
  if (!one_step && !charge_reader(reader_.memory() + memory.count)) {
    return refuse(call, absl::ResourceExhaustedError(
                            fmt::format("call: it takes {} bytes: {}", memory.count,
                                        node_.why_not(*charged_, Common::kFrameBytes))));
  }
  spend(std::min(keys, kMatchStep));
  auto work = make();
  if (work && !work->step()) in_steps_ = std::move(work);
}

void Session::step_call() {
  if (!in_steps() || failed_) return;
  if (is_hung_up(fd())) {
    closed_ = true;
    return;
  }
  last_heard_ = now_;  // it is not listened to
  spend(kMatchStep);
  requests_.work();
  if (in_steps_ && in_steps_->step()) {
    in_steps_ = nullptr;
    count_reader();
  }
  more_to_read_ = true;
}

void Session::spend(std::size_t keys) {
  turn_keys_ -= std::min(turn_keys_, keys);
}

}  // namespace larder
