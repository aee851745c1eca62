#include "transport/namespace_wire.h"

#include <chrono>

namespace larder {

wire::OpenNamespaceRequest to_wire(const NamespaceSpec& spec) {
  wire::OpenNamespaceRequest out;
  out.set_model(spec.fingerprint.model);
  out.set_revision(spec.fingerprint.revision);
  out.set_dtype(spec.fingerprint.dtype);
  out.set_quantisation(spec.fingerprint.quantisation);
  out.set_layout(spec.fingerprint.layout);
  out.set_parallel_layout(spec.fingerprint.parallel_layout);
  out.set_flat(spec.fingerprint.flat);
  out.set_unit_tokens(spec.unit_tokens);
  out.set_segment_tokens(spec.segment_tokens);
  out.set_ranks(spec.ranks);
  for (const GroupSpec& group : spec.groups) {
    wire::Group* to = out.add_groups();
    to->set_kind(static_cast<std::uint32_t>(group.kind));
    to->set_block_tokens(group.block_tokens);
    to->set_window_tokens(group.window_tokens);
    to->set_block_bytes(group.block_bytes.count);
  }
  out.set_ttl_ms(
      static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(spec.ttl).count()));
  return out;
}

Fingerprint fingerprint_from(const wire::OpenNamespaceRequest& request) {
  return {.model = request.model(),
          .revision = request.revision(),
          .dtype = request.dtype(),
          .quantisation = request.quantisation(),
          .layout = request.layout(),
          .parallel_layout = request.parallel_layout(),
          .flat = request.flat()};
}

NamespaceSpec from_wire(const wire::OpenNamespaceRequest& request) {
  NamespaceSpec spec;
  spec.fingerprint = fingerprint_from(request);
  spec.unit_tokens = request.unit_tokens();
  spec.segment_tokens = request.segment_tokens();
  spec.ranks = request.ranks();
  spec.ttl = std::chrono::milliseconds(request.ttl_ms());
  for (const wire::Group& group : request.groups()) {
    spec.groups.push_back({.kind = static_cast<GroupKind>(group.kind()),
                           .block_tokens = group.block_tokens(),
                           .window_tokens = group.window_tokens(),
                           .block_bytes = Bytes{group.block_bytes()}});
  }
  return spec;
}

}  // namespace larder
