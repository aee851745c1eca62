// A fake server and a client of it.

#pragma once

#include <boost/test/unit_test.hpp>

#include "client/clock.h"
#include "tests/client/conformance.h"
#include "tests/client/fake_server.h"
#include "tests/eventually.h"

namespace larder::sim {

using std::chrono::milliseconds;

enum class Path { kTcp, kStaged, kAttach };
inline constexpr Path kPaths[] = {Path::kTcp, Path::kStaged, Path::kAttach};
inline std::ostream& operator<<(std::ostream& out, Path path) {
  return out << (path == Path::kTcp ? "tcp" : path == Path::kStaged ? "staged" : "attach");
}

inline FakeServer::Options server_options(Path path) {
  FakeServer::Options out;
  out.tcp = path == Path::kTcp;
  out.attach = path == Path::kAttach;
  return out;
}

struct Pair {
  explicit Pair(Path path, Duration deadline = milliseconds(200))
      : Pair(server_options(path), deadline) {}
  explicit Pair(FakeServer::Options options, Duration deadline = milliseconds(200))
      : server(options), client(connect(deadline)) {}

  std::unique_ptr<Client> connect(Duration deadline) const {
    Client::Options options;
    options.server = server.address();
    options.deadline = deadline;
    options.connect_deadline = milliseconds(500);
    absl::StatusOr<std::unique_ptr<Client>> made = Client::connect(options);
    BOOST_REQUIRE_MESSAGE(made.ok(), made.status().message());
    return *std::move(made);
  }

  FakeServer server;
  std::unique_ptr<Client> client;
};

using test::eventually;

class Stopwatch {
 public:
  Duration elapsed() const { return monotonic_now() - begin_; }

 private:
  Time begin_ = monotonic_now();
};

}  // namespace larder::sim
