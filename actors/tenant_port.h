#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "actors/namespace_table.h"
#include "actors/shard_calls.h"

namespace larder {

/// Asks the tenant actor to open a namespace; answered like a shard's call.
struct OpenNamespaceCall : ShardCall {
  std::string tenant;
  NamespaceSpec spec;
  absl::StatusOr<NamespaceRef> result = absl::UnavailableError("the tenant registry is gone");
};

/// Asks it to change a namespace's mode. Of nobody who waits: without reply_to.
struct SetModeCall : ShardCall {
  NamespaceId ns;
  NamespaceMode mode = NamespaceMode::kDefault;
  absl::Status result = absl::UnavailableError("the tenant registry is gone");
};

/// The way from any thread to the tenant registry. Thread-safe, never blocks.
class TenantPort {
 public:
  virtual ~TenantPort() = default;
  virtual void send(std::shared_ptr<OpenNamespaceCall> call) = 0;
  virtual void send(std::shared_ptr<SetModeCall> call) = 0;
};

}  // namespace larder
