#pragma once

#include <memory>

#include "ops/connection.h"
#include "ops/namespace_options.h"

namespace larder {

/// What a command on blocks is told: whom to ask, which namespace, in which form to answer.
struct Target {
  ConnectionOptions connection;
  NamespaceOptions names;
  bool json = false;
};

/// A client with the target's namespace open.
struct OpenTarget {
  std::unique_ptr<Client> client;
  NamespaceId ns;
};
absl::StatusOr<OpenTarget> open_target(const Target& target);

}  // namespace larder
