#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/soak/counts.h"

namespace larder::soak {

/// The worker processes of a soak: some that work, some that hold things open (two from the start).
///
/// Owns its processes; they end with it. One that ends by itself has found the daemon wrong: an
/// error of the test. Not thread-safe.
class Crew {
 public:
  struct Options {
    std::string socket, tcp;  ///< workers in turns
    std::string counts_file;
    std::uint32_t workers = 4;
    std::uint64_t seed = 0;
  };

  explicit Crew(Options options);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void kill(std::uint32_t drawn);    ///< a worker; another takes its place
  void freeze(std::uint32_t drawn);  ///< a worker; the one before is thawed
  void thaw();
  void hold();  ///< one holder more; until it holds
  void kill_holder(std::uint32_t drawn, bool stopped);
  /// Whether nobody ended by itself.
  bool well();
  /// Tells them to end and waits until they have.
  void end();

 private:
  struct Member {
    pid_t pid = 0;
    bool over_tcp = false;
  };
  Member start(bool over_tcp, bool holder);
  void kill_member(const Member& member);
  bool well(std::vector<Member>& members, bool may_end);
  std::string log_file() const { return options_.counts_file + ".log"; }
  std::string said() const;

  Options options_;
  Counts counts_;
  std::vector<Member> workers_, holders_;
  std::uint64_t started_ = 0, holders_started_ = 0;
};

}  // namespace larder::soak
