// A larderd process of the test's own: private directory, socket and ports, ended with the object.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/types.h>

#include "client/client.h"
#include "tests/temp_dir.h"

namespace larder::sim {

/// RLIMIT_…, soft and hard.
struct ResourceLimit {
  int resource;
  std::uint64_t most;
};

/// Runs the daemon that was built beside the test. Not thread-safe.
class Daemon {
 public:
  struct Options {
    Bytes host_bytes{64 << 20};  ///< 0: no flag
    std::uint32_t shards = 2;
    std::vector<std::string> flags;
    std::vector<std::string> environment;    ///< "NAME=VALUE"
    std::string program;                     ///< empty: larderd
    std::string runtime_dir = {};            ///< empty: its own
    std::string listen = {};                 ///< empty: loopback and a port of its own
    std::vector<ResourceLimit> limits = {};  ///< others are as here
  };

  Daemon() : Daemon(Options{}) {}
  explicit Daemon(Options options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  void start();      ///< until it answers; on the same directory
  bool try_start();  ///< false: it ended instead; why is in log(), of this start alone
  void launch();     ///< start() without the wait
  void await();      ///< until it answers
  void kill();       ///< SIGKILL, and waits
  int terminate();   ///< SIGTERM, and waits; its exit status
  void freeze();     ///< SIGSTOP, and waits until it is stopped
  void thaw();
  bool wait_exit(Duration within);  ///< true when it ended (by itself)
  /// Of the next start.
  void set_environment(std::vector<std::string> environment) {
    options_.environment = std::move(environment);
  }
  void forget_environment() { options_.environment.clear(); }
  /// SIGHUP, and waits until the log has `awaited` once more.
  void reload(const std::string& awaited);
  int exit_status() const { return status_; }
  pid_t pid() const { return pid_; }

  std::string socket() const { return dir_.path() + "/s"; }
  std::string tcp() const;
  const std::string& dir() const { return dir_.path(); }
  std::string runtime_dir() const {
    return options_.runtime_dir.empty() ? dir_.path() + "/run" : options_.runtime_dir;
  }
  Options& options() { return options_; }  ///< of the next start
  std::string log() const;
  std::size_t logged(const std::string& what) const;  ///< how many times

  std::unique_ptr<Client> connect(Client::Options options) const;
  std::unique_ptr<Client> shm(Duration deadline = std::chrono::seconds(5)) const;
  std::unique_ptr<Client> tcp_client(Duration deadline = std::chrono::seconds(5)) const;
  /// One figure of `larder status`.
  double stat(const std::string& name) const;

 private:
  bool answers();

  Options options_;
  test::TempDir dir_{test::kShm};
  std::uint16_t port_ = 0;
  std::uint16_t http_port_ = 0;
  pid_t pid_ = 0;
  int status_ = -1;
};

/// fork and exec; output goes to the end of `output_file`. The child dies with the thread that
/// called.
pid_t spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
            const std::string& output_file, const std::vector<ResourceLimit>& limits = {});

/// Runs a program to its end, at most `within`; its exit status and what it wrote.
struct Finished {
  int status = -1;  ///< exit code, or 128 + signal; 124 when it was ended for time
  std::string output;
};
Finished run_program(const std::vector<std::string>& command, Duration within);

/// Path of a program built beside the test.
std::string built(const std::string& program);

}  // namespace larder::sim
