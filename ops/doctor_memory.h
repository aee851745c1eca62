#pragma once

#include "ops/finding.h"
#include "ops/host_files.h"
#include "store/types.h"

namespace larder {

/// What the machine's memory and limits mean for slabs of `capacity`: huge pages, swap, the file
/// system of the slabs, cgroup, locked memory, open files. `process` names whose limits count: a
/// pid, or "self".
Findings look_at_memory(const HostFiles& files, Bytes capacity, const std::string& process);

}  // namespace larder
