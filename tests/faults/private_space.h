// Namespaces of the kernel that a test has to itself: nothing that it does there is seen outside.

#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "transport/socket.h"

namespace larder::sim {

/// A small tmpfs at `path`, in a mount namespace of this process; unmounted with the object.
class SmallTmpfs {
 public:
  /// Nothing, and why on standard output, where mounting is not permitted.
  static std::optional<SmallTmpfs> mount(const std::string& path, Bytes size);
  SmallTmpfs(SmallTmpfs&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  SmallTmpfs& operator=(SmallTmpfs&&) = delete;
  ~SmallTmpfs();

  /// Takes all that is free, to the last page; the file that does.
  std::string fill() const;

 private:
  explicit SmallTmpfs(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Two hosts joined by a cable: network namespaces with a veth pair between them. This thread is in
/// the first while the object lives, and so is every process that it starts.
class TwoHosts {
 public:
  static constexpr const char* kHere = "10.77.0.1";
  static constexpr const char* kThere = "10.77.0.2";

  /// Nothing, and why on standard output, where it is not permitted or `ip` is missing.
  static std::optional<TwoHosts> make();
  TwoHosts(TwoHosts&& other) noexcept = default;
  TwoHosts& operator=(TwoHosts&&) = delete;
  ~TwoHosts();

  /// This thread, and those that it makes from now on, are on the second host.
  void enter_there() const;
  /// From now on every packet between them is lost, without a word to either.
  void lose_packets() const;

 private:
  TwoHosts() = default;
  Fd outside_;  ///< where this thread was before
  Fd there_;
  pid_t holder_ = 0;
};

}  // namespace larder::sim
