#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace larder {

/// One thing that `larder doctor` looked at.
struct Finding {
  enum class Level : std::uint8_t {
    kOk,
    kAdvice,   ///< works, but slower or less safe than it could
    kProblem,  ///< does not work, or will not under load
  };
  std::string check;  ///< for scripts: "swap"
  Level level = Level::kOk;
  std::string found;
  std::string action;  ///< what to do, one line; empty when ok
};
using Findings = std::vector<Finding>;

inline Finding fine(std::string check, std::string found) {
  return {std::move(check), Finding::Level::kOk, std::move(found), ""};
}
inline Finding advice(std::string check, std::string found, std::string action) {
  return {std::move(check), Finding::Level::kAdvice, std::move(found), std::move(action)};
}
inline Finding problem(std::string check, std::string found, std::string action) {
  return {std::move(check), Finding::Level::kProblem, std::move(found), std::move(action)};
}

}  // namespace larder
