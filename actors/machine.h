#pragma once

#include <cstdint>
#include <string>

#include "store/types.h"

namespace larder {

/// What the configuration's defaults depend on. A plain value, so that a test can be any machine.
struct Machine {
  Bytes memory;             ///< of the machine, or what its cgroup (v1 or v2) allows: the smaller
  std::uint32_t cores = 1;  ///< that this process may run on
  std::uint32_t uid = 0;    ///< effective
};

/// Reads /proc and /sys/fs/cgroup below `root` ("/"; another one in tests), every level of the
/// cgroup's path. What cannot be read does not limit; with no /proc/meminfo the memory is 0.
Machine probe_machine(const std::string& root = "/");

/// Room for slab files: of the file system that holds (or will hold) a runtime directory.
struct RuntimeSpace {
  std::string file_system;  ///< nearest existing directory, for messages
  Bytes free;               ///< what this user may still write
  Bytes held;               ///< by files already in the runtime directory, to be adopted
};

/// `dir` need not exist. All zero when no parent of it can be asked.
RuntimeSpace probe_runtime_space(const std::string& dir);

}  // namespace larder
