#pragma once

#include <string>

#include <sys/types.h>

#include "actors/memory_room.h"
#include "ops/connection.h"
#include "ops/finding.h"
#include "store/types.h"

namespace larder {

/// What the daemon tells of itself.
struct DaemonSeen {
  Findings findings;
  Bytes capacity{0};             ///< as configured; 0: not known
  std::string process = "self";  ///< its pid, when it is on this host
};

/// Connects as any command does: reachable, same version, whose user.
DaemonSeen look_at_daemon(const ConnectionOptions& options);

/// What the daemon's user means for read-only mappings, seen by a client of user `own`.
Finding user_finding(uid_t daemon, uid_t own);
/// Whether the daemon gives memory back because it is short; `limit` is what is short of it now.
Finding capacity_finding(Bytes in_force, Bytes configured, const MemoryRoom& limit);
/// `command` and `daemon` are versions.
Finding version_finding(const std::string& command, const std::string& daemon);

}  // namespace larder
