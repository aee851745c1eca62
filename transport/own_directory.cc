#include "transport/own_directory.h"

#include <array>
#include <cerrno>
#include <string>

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/socket.h"

namespace larder {

namespace {

/// Whether the system's list of users gives `name` this uid.
bool is_user(uid_t uid, const std::string& name) {
  if (name.empty()) return false;
  std::array<char, 4096> text{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
  return found != nullptr && found->pw_uid == uid;
}

}  // namespace

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
  const bool trusted = ours || is_user(owner, rule.user_may_own);
  const bool link_ours = link.st_uid == owner || link.st_uid == self || link.st_uid == 0;
  if (!trusted || !link_ours) {
    return refuse(fmt::format("belongs to uid {}, must belong to uid {}{}{}",
                              trusted ? link.st_uid : owner, self,
                              rule.root_may_own && self != 0 ? " or root" : "",
                              rule.user_may_own.empty() ? "" : " or user " + rule.user_may_own));
  }
  if (!S_ISDIR(info.st_mode)) return refuse(fmt::format("is no directory, of uid {}", owner));
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return refuse(fmt::format("its mode {:o} lets others than its owner, uid {}, write in it",
                              info.st_mode & 07777U, owner));
  }
  return absl::OkStatus();
}

}  // namespace larder
