#include "ops/put_command.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "ops/report.h"
#include "store/hash_text.h"
#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {
namespace {

absl::StatusOr<std::string> read_all(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rbe");
  if (file == nullptr) {
    return absl::NotFoundError(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  std::string bytes;
  std::string piece(1 << 20, '\0');
  while (bytes.size() <= limits::kBlockBytesMax.count) {
    const std::size_t got = std::fread(piece.data(), 1, piece.size(), file);
    if (got == 0) break;
    bytes.append(piece, 0, got);
  }
  const bool failed = std::ferror(file) != 0;
  const int error = errno;
  if (file != stdin) std::fclose(file);
  if (failed) return absl::InvalidArgumentError(fmt::format("{}: {}", path, std::strerror(error)));
  if (bytes.size() < limits::kBlockBytesMin.count || bytes.size() > limits::kBlockBytesMax.count) {
    return absl::InvalidArgumentError(fmt::format("{}: has {} bytes, a block has {} to {}", path,
                                                  bytes.size(), limits::kBlockBytesMin.count,
                                                  limits::kBlockBytesMax.count));
  }
  return bytes;
}

/// Its mode, or what is left: admission.
std::string why_refused(const OpenTarget& open) {
  const auto rows = open.client->namespaces(false);
  if (!rows.ok()) return std::string(rows.status().message());
  for (const Client::NamespaceRow& row : *rows) {
    if (row.id != open.ns || row.served != NamespaceMode::kOff) continue;
    return fmt::format("namespace {:016x} is off; larder mode on --id {:016x} switches it on",
                       row.id.value(), row.id.value());
  }
  return "larderd admits no such block now";
}

}  // namespace

absl::StatusOr<ExitCode> run(const PutCommand& command) {
  LARDER_ASSIGN_OR_RETURN(const std::string bytes, read_all(command.file));
  LARDER_ASSIGN_OR_RETURN(const OpenTarget open, open_target(command.target));
  const Key key = flat_key(command.name, static_cast<std::uint32_t>(bytes.size()));
  const ConstBuffer buffer{bytes.data(), bytes.size()};
  const Completion done = open.client->put(open.ns, std::span(&key, 1), std::span(&buffer, 1), {});
  LARDER_RETURN_IF_ERROR(status_of(done));
  const KeyStatus status = done.keys.at(0);

  Report report;
  report.add("name", command.name);
  report.add("status", status == KeyStatus::kOk ? "stored" : word_of(status));
  report.add("bytes", std::uint64_t{bytes.size()});
  report.add("hash", hash_text(key.hash));
  if (status == KeyStatus::kRefused) report.add("reason", why_refused(open));
  report.print(command.target.json);
  return exit_code_of(status);
}

}  // namespace larder
