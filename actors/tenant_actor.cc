#include "actors/tenant_actor.h"

#include "actors/clock.h"

namespace larder {

TenantHandle::behavior_type tenant_actor(TenantHandle::pointer /*self*/,
                                         std::shared_ptr<NamespaceTable> table) {
  return {
      [table](const OpenNamespaceCallPtr& call) {
        call->result = table->open(call->tenant, call->spec, now());
        call->answer();
      },
      [table](const SetModeCallPtr& call) { call->carry_out(*table); },
  };
}

}  // namespace larder
