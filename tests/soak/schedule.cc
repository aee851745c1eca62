#include "tests/soak/schedule.h"

namespace larder::soak {

using std::chrono::milliseconds;

Step Schedule::next() {
  Step step;
  step.fault = static_cast<Fault>(rng_() % static_cast<std::uint64_t>(Fault::kEnd));
  if (step.fault == Fault::kKillDaemon && !may_kill_daemon_) step.fault = Fault::kFreezeDaemon;
  step.draw = static_cast<std::uint32_t>(rng_());
  // One in eight is longer than the heartbeat, so that sessions end for silence.
  step.hold = milliseconds(rng_() % 8 == 0 ? 1'500 : rng_() % 200);
  step.pause = milliseconds(rng_() % 250);
  return step;
}

}  // namespace larder::soak
