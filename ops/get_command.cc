#include "ops/get_command.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "actors/standard_streams.h"
#include "ops/report.h"
#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {
namespace {

/// A get must know the length, and a name does not tell it: the list does.
absl::StatusOr<std::optional<std::uint32_t>> length_of(const OpenTarget& open, const Key& key) {
  std::uint64_t cursor = 0;
  while (true) {
    LARDER_ASSIGN_OR_RETURN(const Client::ListPage page,
                            open.client->list(open.ns, cursor, limits::kListPageMax));
    for (const wire::ListRecord& block : page.blocks) {
      if (block.hash == key.hash) return std::optional(block.length);
    }
    if (page.end) return std::optional<std::uint32_t>();
    cursor = page.cursor;
  }
}

absl::Status write_all(const std::string& path, const std::string& bytes) {
  if (path == "-") {
    write_output(bytes);
    return absl::OkStatus();
  }
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  written = std::fflush(file) == 0 && written;
  const int error = errno;
  written = std::fclose(file) == 0 && written;
  if (written) return absl::OkStatus();
  return absl::UnknownError(fmt::format("{}: {}", path, std::strerror(error)));
}

}  // namespace

absl::StatusOr<ExitCode> run(const GetCommand& command) {
  if (command.target.json && command.file == "-") {
    return absl::InvalidArgumentError("--json needs a FILE for the bytes");
  }
  LARDER_ASSIGN_OR_RETURN(const OpenTarget open, open_target(command.target));
  Key key = flat_key(command.name, 0);
  LARDER_ASSIGN_OR_RETURN(const auto length, length_of(open, key));
  std::string bytes(length.value_or(0), '\0');
  KeyStatus status = KeyStatus::kMiss;
  if (length) {
    key.length = *length;
    const MutableBuffer buffer{bytes.data(), bytes.size()};
    const Completion done =
        open.client->get(open.ns, std::span(&key, 1), std::span(&buffer, 1), {.verify = true});
    LARDER_RETURN_IF_ERROR(status_of(done));
    status = done.keys.at(0);
  }
  const bool hit = status == KeyStatus::kOk;
  const ExitCode code = exit_code_of(status);
  if (hit) LARDER_RETURN_IF_ERROR(write_all(command.file, bytes));
  if (command.target.json) {
    Report report;
    report.add("name", command.name);
    report.add("status", hit ? "hit" : word_of(status));
    report.add("bytes", std::uint64_t{hit ? bytes.size() : 0});
    report.print(true);
  } else if (!hit) {
    fmt::print(stderr, "{}: {}\n", command.name, word_of(status));
  }
  return code;
}

}  // namespace larder
