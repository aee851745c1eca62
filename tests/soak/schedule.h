#pragma once

#include <cstdint>
#include <random>

#include "store/types.h"

namespace larder::soak {

/// What is done to a running system.
enum class Fault : std::uint8_t {
  kNone,
  kKillDaemon,    ///< SIGKILL, another on the same directory
  kFreezeDaemon,  ///< SIGSTOP, a while, SIGCONT
  kKillWorker,    ///< SIGKILL, another in its place
  kFreezeWorker,  ///< SIGSTOP; SIGCONT at the next none or freeze
  kHolder,        ///< one more that holds all open that a client can
  kKillHolder,    ///< SIGKILL, some while they are stopped
  kCapacity,      ///< another one, by reload
  kEnd
};
inline constexpr const char* kFaultNames[] = {"none",        "kill_daemon",   "freeze_daemon",
                                              "kill_worker", "freeze_worker", "holder",
                                              "kill_holder", "capacity"};
static_assert(std::size(kFaultNames) == static_cast<std::size_t>(Fault::kEnd));

struct Step {
  Fault fault = Fault::kNone;
  std::uint32_t draw = 0;  ///< which worker, how much capacity
  Duration hold{};         ///< how long it lasts
  Duration pause{};        ///< until the next
};

/// The steps of a seed, in order: the same for the same seed, whatever the machine.
class Schedule {
 public:
  Schedule(std::uint64_t seed, bool may_kill_daemon)
      : rng_(seed), may_kill_daemon_(may_kill_daemon) {}
  Step next();

 private:
  std::mt19937_64 rng_;
  bool may_kill_daemon_;
};

}  // namespace larder::soak
