// larder_soak kills|soak|worker: see README.md.

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>

#include <CLI/CLI.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/soak/options.h"
#include "tests/soak/worker.h"

namespace larder::soak {
namespace {

Options options;
nlohmann::json (*run)(const Options&) = nullptr;

void body() {
  std::cerr << "seed " << options.seed << '\n';
  const auto begun = std::chrono::steady_clock::now();
  nlohmann::json result = run(options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  result["wall_seconds"] = took.count();
  result["command"] = options.command;
  std::cout << result.dump(2) << '\n';
  if (!options.json.empty()) std::ofstream(options.json) << result.dump(2) << '\n';
}

/// The checks are Boost.Test's, so the run is a test case of its framework.
bool init() {
  boost::unit_test::framework::master_test_suite().add(
      boost::unit_test::make_test_case(body, "run", __FILE__, __LINE__));
  return true;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Kills and faults from a seed, against a larderd of its own");
  WorkerOptions worker;
  auto* kills = app.add_subcommand("kills", "acknowledged puts, kill -9, restart, check");
  auto* soak = app.add_subcommand("soak", "mixed load with faults; what larderd holds is flat");
  auto* work = app.add_subcommand("worker", "one client of a soak, started by it");
  app.require_subcommand(1);
  for (auto* command : {kills, soak}) {
    command->add_option("--seed", options.seed, "draws everything")->capture_default_str();
    command->add_option("--json", options.json, "file for the result");
  }
  kills->add_option("--puts", options.puts, "acknowledged, at least")->capture_default_str();
  kills->add_option("--kills", options.kills, "at least")->capture_default_str();
  soak->add_option("--seconds", options.seconds, "of load")->capture_default_str();
  soak->add_option("--steps", options.steps, "faults; 0: as many as fit into --seconds");
  work->add_option("--server", worker.server)->required();
  work->add_option("--counts", worker.counts_file)->required();
  work->add_option("--seed", worker.seed)->required();
  work->add_flag("--hold", worker.hold);
  CLI11_PARSE(app, argc, argv);
  if (work->parsed()) return run_worker(worker);
  options.command = "larder_soak";
  for (int n = 1; n < argc; ++n)
    options.command += std::string(" ") + argv[n];
  run = kills->parsed() ? run_kill_campaign : run_soak;
  // Nothing of our command line is Boost.Test's.
  return boost::unit_test::unit_test_main(&init, 1, argv);
}

}  // namespace
}  // namespace larder::soak

int main(int argc, char** argv) {
  return larder::soak::parse_and_run(argc, argv);
}
