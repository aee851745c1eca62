#pragma once

#include "ops/finding.h"
#include "ops/host_files.h"

namespace larder {

/// Processors, devices and what one process may do to another: yama, NUMA, the governor, CUDA and
/// RDMA devices.
Findings look_at_machine(const HostFiles& files);

}  // namespace larder
