#pragma once

#include <string>

#include "absl/status/status.h"

namespace larder {

/// Which directory may be trusted, and what to say of one that may not.
struct DirectoryRule {
  std::string name;               ///< "runtime_dir /dev/shm/larder-0", in front of each message
  std::string remedy;             ///< "choose another --runtime-dir"
  std::string user_may_own = {};  ///< name of one who may, too; empty: none
  bool root_may_own = false;      ///< beside this process's user
  bool may_be_linked_to = false;  ///< by a link of the same owner, or of root
};

/// Names in /tmp and /dev/shm can be guessed: whoever made the directory before us, or may write in
/// it, could put files or sockets of its own in the place of ours.
///
/// PERMISSION_DENIED naming the owner or mode found and the remedy, when `path` is not a directory
/// of this process's effective user (or one whom the rule trusts), or others may write in it.
/// NOT_FOUND when nothing is there.
absl::Status check_own_directory(const std::string& path, const DirectoryRule& rule);

}  // namespace larder
