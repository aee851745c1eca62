#include "transport/own_directory.h"

#include <cerrno>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/socket.h"

namespace larder {

absl::Status check_own_directory(const std::string& path, const DirectoryRule& rule) {
  const auto refuse = [&rule](const std::string& found) {
    return absl::PermissionDeniedError(fmt::format("{}: {}: another user could have planted it; {}",
                                                   rule.name, found, rule.remedy));
  };
  const auto unseen = [&rule](int error) {
    const bool absent = error == ENOENT || error == ENOTDIR;
    return errno_status(absent ? absl::StatusCode::kNotFound : absl::StatusCode::kPermissionDenied,
                        rule.name, error);
  };
  struct stat link {};
  struct stat info {};
  if (::lstat(path.c_str(), &link) != 0) return unseen(errno);
  if (S_ISLNK(link.st_mode) && !rule.may_be_linked_to) {
    return refuse(fmt::format("is a symbolic link, of uid {}", link.st_uid));
  }
  if (::stat(path.c_str(), &info) != 0) return unseen(errno);
  const uid_t self = ::geteuid();
  const uid_t owner = info.st_uid;
  const bool ours = owner == self || (owner == 0 && rule.root_may_own);
  if (!ours || (link.st_uid != self && link.st_uid != 0)) {
    return refuse(fmt::format("belongs to uid {}, must belong to uid {}{}",
                              ours ? link.st_uid : owner, self,
                              rule.root_may_own && self != 0 ? " or root" : ""));
  }
  if (!S_ISDIR(info.st_mode)) return refuse(fmt::format("is no directory, of uid {}", owner));
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return refuse(fmt::format("its mode {:o} lets others than its owner, uid {}, write in it",
                              info.st_mode & 07777U, owner));
  }
  return absl::OkStatus();
}

}  // namespace larder
