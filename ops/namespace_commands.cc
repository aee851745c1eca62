#include "ops/namespace_commands.h"

#include <charconv>

#include <fmt/format.h>

#include "ops/report.h"
#include "store/status_macros.h"

namespace larder {

namespace {

/// 1 to 16 hex digits. INVALID_ARGUMENT names the flag.
absl::StatusOr<std::uint64_t> parse_hex(const char* flag, const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, 16);
  if (error == std::errc() && at == end) return value;
  return absl::InvalidArgumentError(fmt::format("{} {}: must be 1 to 16 hex digits", flag, text));
}

std::string kind_of(const Client::NamespaceRow& row) {
  return row.fingerprint.flat ? "flat" : "chain";
}

/// The one with the id, else the one that the flags name: it is not opened, so that a slip of the
/// pen makes none.
absl::StatusOr<NamespaceId> namespace_of(Client& client, const ModeCommand& command) {
  if (!command.id.empty()) {
    LARDER_ASSIGN_OR_RETURN(const std::uint64_t id, parse_hex("--id", command.id));
    return NamespaceId(id);
  }
  LARDER_ASSIGN_OR_RETURN(const auto rows, client.namespaces(false));
  const Fingerprint wanted = command.target.names.spec().fingerprint;
  for (const Client::NamespaceRow& row : rows) {
    if (row.fingerprint == wanted) return row.id;
  }
  return absl::NotFoundError(
      fmt::format("no namespace of model {} with these flags is known; larder namespaces lists all",
                  wanted.model));
}

}  // namespace

absl::StatusOr<ExitCode> run(const NamespacesCommand& command) {
  LARDER_ASSIGN_OR_RETURN(const auto client, connect(command.connection));
  LARDER_ASSIGN_OR_RETURN(const auto rows, client->namespaces(command.all));
  Report report;
  report.name_rows("namespaces");
  for (const Client::NamespaceRow& row : rows) {
    const Fingerprint& f = row.fingerprint;
    report.add_row({{"id", fmt::format("{:016x}", row.id.value())},
                    {"tenant", row.tenant},
                    {"mode", std::string(name_of(row.mode))},
                    {"served", std::string(name_of(row.served))},
                    {"keys", kind_of(row)},
                    {"model", f.model},
                    {"revision", f.revision},
                    {"dtype", f.dtype},
                    {"quantisation", f.quantisation},
                    {"layout", f.layout},
                    {"parallel_layout", f.parallel_layout}});
  }
  report.print(command.json);
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> run(const ModeCommand& command) {
  const auto mode = parse_namespace_mode(command.mode);
  if (!mode) {
    return absl::InvalidArgumentError(
        fmt::format("mode {}: must be on, guarded, shadow, off or default", command.mode));
  }
  LARDER_ASSIGN_OR_RETURN(const auto client, connect(command.target.connection));
  LARDER_ASSIGN_OR_RETURN(const NamespaceId ns, namespace_of(*client, command));
  LARDER_RETURN_IF_ERROR(client->set_mode(ns, *mode));
  Report report;
  report.add("id", fmt::format("{:016x}", ns.value()));
  report.add("mode", command.mode);
  report.print(command.target.json);
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> run(const PurgeCommand& command) {
  Client::PurgeOptions which;
  if (!command.id.empty()) {
    LARDER_ASSIGN_OR_RETURN(const std::uint64_t id, parse_hex("--id", command.id));
    which.ns = NamespaceId(id);
  }
  if (!command.writer.empty()) {
    LARDER_ASSIGN_OR_RETURN(which.writer, parse_hex("--writer", command.writer));
  }
  if (!command.tenant.empty()) which.tenant = command.tenant;
  LARDER_ASSIGN_OR_RETURN(const auto client, connect(command.connection));
  LARDER_ASSIGN_OR_RETURN(const std::uint64_t removed, client->purge(which));
  Report report;
  report.add("removed", removed);
  report.print(command.json);
  return removed > 0 ? ExitCode::kOk : ExitCode::kMiss;
}

}  // namespace larder
