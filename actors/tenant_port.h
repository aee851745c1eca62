#pragma once

#include <functional>
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
  std::function<void(const absl::Status&)> failed;  ///< told when nobody waits; may be null
  absl::Status result = absl::UnavailableError("the tenant registry is gone");

  /// By the registry.
  void carry_out(NamespaceTable& table) {
    result = table.set_mode(ns, mode);
    if (!result.ok() && failed) failed(result);
    answer();
  }
};

/// The way from any thread to the tenant registry. Thread-safe, never blocks.
class TenantPort {
 public:
  virtual ~TenantPort() = default;
  virtual void send(std::shared_ptr<OpenNamespaceCall> call) = 0;
  virtual void send(std::shared_ptr<SetModeCall> call) = 0;
};

}  // namespace larder
