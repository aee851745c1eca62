#include "ops/target.h"

#include "store/status_macros.h"

namespace larder {

absl::StatusOr<OpenTarget> open_target(const Target& target) {
  OpenTarget open;
  const NamespaceSpec spec = target.names.spec();
  LARDER_RETURN_IF_ERROR(spec.validate());
  LARDER_ASSIGN_OR_RETURN(open.client, connect(target.connection));
  LARDER_ASSIGN_OR_RETURN(open.ns, open.client->open_namespace(spec));
  return open;
}

}  // namespace larder
