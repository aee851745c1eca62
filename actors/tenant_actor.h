#pragma once

#include <memory>

#include <caf/all.hpp>

#include "actors/tenant_port.h"

namespace larder {

using OpenNamespaceCallPtr = std::shared_ptr<OpenNamespaceCall>;
using SetModeCallPtr = std::shared_ptr<SetModeCall>;
using TenantHandle =
    caf::typed_actor<caf::reacts_to<OpenNamespaceCallPtr>, caf::reacts_to<SetModeCallPtr>>;

/// Gives the namespace table a mailbox. Writes a small file for a new namespace: spawn it detached.
TenantHandle::behavior_type tenant_actor(TenantHandle::pointer self,
                                         std::shared_ptr<NamespaceTable> table);

}  // namespace larder

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::OpenNamespaceCallPtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(larder::SetModeCallPtr)
