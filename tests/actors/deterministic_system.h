#pragma once

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

namespace larder::sim {

/// An actor system that runs a message only when told to, on this thread, on a clock that only
/// moves when told to. The fixture of every test of an actor.
struct DeterministicSystem {
  struct Config : caf::actor_system_config {
    Config() {
      set("scheduler.policy", caf::atom("testing"));
      set("logger.verbosity", caf::atom("quiet"));
    }
  };

  void run() { scheduler.run(); }

  Config config;
  caf::actor_system system{config};
  caf::scheduler::test_coordinator& scheduler =
      dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
};

}  // namespace larder::sim
