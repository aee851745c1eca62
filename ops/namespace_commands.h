#pragma once

#include <string>

#include "ops/target.h"

namespace larder {

/// `larder namespaces`: ids, tenants, fingerprints and modes.
struct NamespacesCommand {
  ConnectionOptions connection;
  bool all = false;
  bool json = false;
};
absl::StatusOr<ExitCode> run(const NamespacesCommand& command);

/// `larder mode MODE`: of the namespace with an id, else of the one of this tenant that the flags
/// name.
struct ModeCommand {
  Target target;
  std::string mode;
  std::string id;
};
absl::StatusOr<ExitCode> run(const ModeCommand& command);

/// `larder purge`: one of id, tenant and writer is set. kMiss when nothing was there.
struct PurgeCommand {
  ConnectionOptions connection;
  std::string id;
  std::string tenant;
  std::string writer;
  bool json = false;
};
absl::StatusOr<ExitCode> run(const PurgeCommand& command);

}  // namespace larder
