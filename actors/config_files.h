#pragma once

#include <string>

#include "actors/config.h"

namespace larder {

/// The files that a configuration names, as larderd reads them at its start: tokens, tenants,
/// certificate and key; and the directories of what it writes. The error of the first that will not
/// do; a certificate and a key that are not of a pair are found too.
absl::Status check_files(const Config& config);

/// INVALID_ARGUMENT naming key and directory when `path` (of a file to be written) lies in none.
absl::Status check_directory_of(const std::string& key, const std::string& path);

}  // namespace larder
