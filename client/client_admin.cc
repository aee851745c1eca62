// Calls of administrators.

#include <utility>

#include "client/client_impl.h"
#include "store/status_macros.h"
#include "transport/namespace_wire.h"
#include "transport/wire.pb.h"

namespace larder {

namespace {

NamespaceMode mode_of(std::uint32_t value) {
  const bool known = value <= static_cast<std::uint32_t>(NamespaceMode::kOff);
  return known ? static_cast<NamespaceMode>(value) : NamespaceMode::kDefault;
}

Client::NamespaceRow row_of(const wire::NamespaceRow& row) {
  Client::NamespaceRow out;
  out.id = NamespaceId(row.id());
  out.tenant = row.tenant();
  out.fingerprint = fingerprint_from(row.spec());
  out.mode = mode_of(row.mode());
  out.served = mode_of(row.served());
  return out;
}

}  // namespace

absl::StatusOr<std::vector<Client::NamespaceRow>> Client::namespaces(bool all_tenants) {
  std::vector<NamespaceRow> all;
  wire::NamespacesRequest body;
  body.set_all_tenants(all_tenants);
  for (;;) {
    LARDER_ASSIGN_OR_RETURN(const std::shared_ptr<Call> call,
                            impl_->exchange(FrameType::kNamespaces, body));
    wire::NamespacesReply reply;
    if (!parse_body(call->body(), reply)) return absl::InternalError("malformed reply");
    for (const wire::NamespaceRow& row : reply.rows()) {
      // In order, or this would never end.
      if (row.id() < body.first()) return absl::InternalError("malformed reply");
      body.set_first(row.id() + 1);
      all.push_back(row_of(row));
      if (body.first() == 0) return all;
    }
    if (reply.rows().empty()) return all;
  }
}

absl::Status Client::set_mode(NamespaceId ns, NamespaceMode mode) {
  wire::SetModeRequest body;
  body.set_ns(ns.value());
  body.set_mode(static_cast<std::uint32_t>(mode));
  return impl_->exchange(FrameType::kSetMode, body).status();
}

absl::StatusOr<std::uint64_t> Client::purge(const PurgeOptions& which) {
  if (which.ns.has_value() + which.tenant.has_value() + which.writer.has_value() != 1) {
    return absl::InvalidArgumentError("purge: exactly one of ns, tenant and writer must be set");
  }
  wire::PurgeRequest body;
  if (which.ns) body.set_ns(which.ns->value());
  if (which.tenant) body.set_tenant(*which.tenant);
  if (which.writer) body.set_writer(*which.writer);
  LARDER_ASSIGN_OR_RETURN(const std::shared_ptr<Call> call,
                          impl_->exchange(FrameType::kPurge, body));
  wire::SimpleReply reply;
  if (!parse_body(call->body(), reply)) return absl::InternalError("malformed reply");
  return reply.count();
}

}  // namespace larder
