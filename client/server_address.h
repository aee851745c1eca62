#pragma once

#include <string>

namespace larder {

/// Where the packaged daemon listens, which runs as user `larder` for the whole host. Only root can
/// make a directory in /run.
inline constexpr const char* kHostServer = "/run/larder/larderd.sock";
/// The user that the package makes for it.
inline constexpr const char* kHostUser = "larder";

/// Which of two sockets a client without an address means: `own` if a file is there, else `host` if
/// one is there, else `own`.
std::string server_of(const std::string& own, const std::string& host);

}  // namespace larder
