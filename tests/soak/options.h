#pragma once

#include <cstdint>
#include <string>

#include "nlohmann/json.hpp"

namespace larder::soak {

/// The command line.
struct Options {
  std::uint64_t seed = 1;
  std::uint64_t puts = 100'000;   ///< kill campaign: blocks acknowledged, at least
  std::uint64_t kills = 200;      ///< kill campaign: at least
  std::uint64_t steps = 0;        ///< soak: faults; 0: as many as fit into `seconds`
  std::uint64_t seconds = 3'600;  ///< soak
  std::string json;               ///< file for the result; empty: none
  std::string command;            ///< all of it, for the result
};

/// The runs. Each asserts with Boost.Test and returns what is worth keeping.
nlohmann::json run_kill_campaign(const Options& options);
nlohmann::json run_soak(const Options& options);

}  // namespace larder::soak
