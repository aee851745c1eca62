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

/// The way from an io thread to the tenant registry. Thread-safe, never blocks.
class TenantPort {
 public:
  virtual ~TenantPort() = default;
  virtual void send(std::shared_ptr<OpenNamespaceCall> call) = 0;
};

}  // namespace larder
