#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "client/link.h"
#include "store/namespace_spec.h"
#include "transport/socket.h"
#include "transport/tls.h"
#include "transport/wire.pb.h"

namespace larder {

/// What a connection is opened with.
struct HandshakePlan {
  struct KnownRegion {
    std::uint32_t number = 0;
    std::uint64_t bytes = 0;
    Fd memfd;  ///< a duplicate
  };

  Address address;
  bool address_is_default = false;        ///< then its directory is looked at first
  std::shared_ptr<const TlsContext> tls;  ///< null: none; never over a unix socket
  std::string tls_name;                   ///< that the server must prove; empty: the address's host
  std::string token;
  bool plain_token = false;  ///< may leave this host without TLS
  std::string name;
  bool want_shm = false;
  std::uint64_t probe_address = 0;  ///< of eight bytes of ours
  std::uint64_t probe_value = 0;
  std::vector<NamespaceSpec> namespaces;  ///< opened again
  std::vector<KnownRegion> regions;       ///< registered again
};

/// Connects, says Hello, opens the namespaces and registers the regions, all within `deadline`.
/// Blocks; any thread (`shared` is only remembered). UNAVAILABLE names the address and the remedy;
/// PERMISSION_DENIED the default address's directory, when it is not this user's or root's alone;
/// FAILED_PRECONDITION when the token would leave this host without TLS: it has not been sent.
absl::StatusOr<std::unique_ptr<Link>> open_link(const HandshakePlan& plan, Shared& shared,
                                                Duration deadline);

}  // namespace larder
