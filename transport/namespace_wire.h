#pragma once

#include "store/namespace_spec.h"
#include "transport/wire.pb.h"

namespace larder {

/// A namespace's fields as OpenNamespace carries them. A ttl is rounded up to whole milliseconds.
wire::OpenNamespaceRequest to_wire(const NamespaceSpec& spec);

/// The fields of a request, unchecked: NamespaceSpec::validate() says what is wrong with them. The
/// caller has bounded `ttl_ms` (a Duration counts nanoseconds).
NamespaceSpec from_wire(const wire::OpenNamespaceRequest& request);

Fingerprint fingerprint_from(const wire::OpenNamespaceRequest& request);

}  // namespace larder
