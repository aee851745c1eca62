#include "actors/runtime_dir.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/status_macros.h"
#include "transport/own_directory.h"

namespace larder {

namespace {

/// More than there can be; also what a negative number is read as.
constexpr std::uint64_t kStartsMax = 1ULL << 62;

std::string make_uuid() {
  std::array<unsigned char, 16> b{};
  [[maybe_unused]] const auto got = ::getrandom(b.data(), b.size(), 0);
  b[6] = static_cast<unsigned char>((b[6] & 0x0fU) | 0x40U);  // RFC 4122, version 4
  b[8] = static_cast<unsigned char>((b[8] & 0x3fU) | 0x80U);
  std::string text;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", b[i]);
  }
  return text;
}

bool is_uuid(const std::string& text) {
  constexpr std::string_view kPattern = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::equal(text.begin(), text.end(), kPattern.begin(), kPattern.end(),
                    [](char c, char wanted) {
                      if (wanted == '-') return c == '-';
                      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                    });
}

/// What to do about a directory that others may write in. One that is not larderd's alone stays as
/// it is: a system that loses the mode of its /tmp is worse off than before.
std::string remedy_for(const std::string& path) {
  struct stat info {};
  std::error_code error;
  const bool ours =
      ::stat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid() &&
      (info.st_mode & S_ISVTX) == 0 &&
      (std::filesystem::exists(path + "/node", error) || std::filesystem::is_empty(path, error));
  return ours ? fmt::format("chmod 700 {}, or choose another --runtime-dir", path)
              : "choose another --runtime-dir, a directory of larderd's own";
}

}  // namespace

absl::StatusOr<RuntimeDir> RuntimeDir::lock(const std::string& path) {
  RuntimeDir dir;
  dir.path_ = path;
  std::error_code error;
  const bool made = std::filesystem::create_directories(path, error);
  if (error) {
    return absl::PermissionDeniedError(
        fmt::format("runtime_dir {}: cannot be made: {}", path, error.message()));
  }
  if (made) ::chmod(path.c_str(), 0700);
  LARDER_RETURN_IF_ERROR(check_own_directory(path, {.name = fmt::format("runtime_dir {}", path),
                                                    .remedy = remedy_for(path),
                                                    .may_be_linked_to = true}));
  // The directory itself is locked: a lock file can be removed while its owner runs.
  dir.lock_ = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir.lock_.valid()) {
    return absl::PermissionDeniedError(
        fmt::format("runtime_dir {}: cannot be opened: {}", path, std::strerror(errno)));
  }
  if (::flock(dir.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(fmt::format(
        "runtime_dir {}: another larderd has it; stop that one or choose another --runtime-dir",
        path));
  }
  LARDER_RETURN_IF_ERROR(dir.identify());
  return dir;
}

absl::Status RuntimeDir::identify() {
  const std::string file = path_ + "/node";
  if (std::ifstream in(file); in) {
    in >> node_id_ >> incarnation_;
    if (!in || !is_uuid(node_id_) || incarnation_ > kStartsMax) {
      return absl::DataLossError(
          fmt::format("{}: not a UUID and a count of starts; remove the file: the node gets a new "
                      "identity, and "
                      "its blocks stay",
                      file));
    }
  } else {
    node_id_ = make_uuid();
  }
  incarnation_ += 1;
  const std::string temporary = file + ".new";
  ::unlink(temporary.c_str());  // a link that stands there is not followed
  std::ofstream out(temporary, std::ios::trunc);
  out << node_id_ << ' ' << incarnation_ << '\n';
  out.close();
  if (!out || std::rename(temporary.c_str(), file.c_str()) != 0) {
    return absl::PermissionDeniedError(
        fmt::format("{}: cannot be written: {}", file, std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace larder
