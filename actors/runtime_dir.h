#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "transport/socket.h"

namespace larder {

/// The directory of slab files and identity, locked by this process while the object lives.
class RuntimeDir {
 public:
  /// Makes it if needed (mode 700). PERMISSION_DENIED when it cannot be written, or is another's,
  /// or others may write in it; FAILED_PRECONDITION when another daemon has it; DATA_LOSS when its
  /// identity cannot be read.
  static absl::StatusOr<RuntimeDir> lock(const std::string& path);

  const std::string& path() const { return path_; }
  /// UUID of this node, made once and kept in the directory.
  const std::string& node_id() const { return node_id_; }
  /// Counts the starts of a daemon on this directory.
  std::uint64_t incarnation() const { return incarnation_; }

 private:
  absl::Status identify();

  std::string path_;
  Fd lock_;
  std::string node_id_;
  std::uint64_t incarnation_ = 0;
};

}  // namespace larder
