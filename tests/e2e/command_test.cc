// The `larder` command against a daemon: what scripts and people rely on.

#include <filesystem>
#include <fstream>

#include <boost/test/unit_test.hpp>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/e2e/flip_byte.h"

namespace larder::command_test {

namespace {

using sim::Finished;
using std::chrono::seconds;

Finished larder(std::vector<std::string> words) {
  words.insert(words.begin(), sim::built("larder"));
  return sim::run_program(words, seconds(30));
}

bool says(const Finished& finished, const std::string& part) {
  BOOST_TEST_MESSAGE(finished.output);
  return finished.output.find(part) != std::string::npos;
}

/// Where default_server() stands, for programs started meanwhile.
class RuntimeHome {
 public:
  explicit RuntimeHome(const std::string& path) {
    ::setenv("XDG_RUNTIME_DIR", path.c_str(), 1);
    ::unsetenv("LARDER_SERVER");
  }
  ~RuntimeHome() { ::unsetenv("XDG_RUNTIME_DIR"); }
};

void allow(const std::string& path, unsigned mode) {
  std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(command)

BOOST_AUTO_TEST_CASE(an_unknown_command_is_named_with_the_closest_and_is_a_usage_error) {
  const Finished finished = larder({"liszt"});
  BOOST_TEST(finished.status == 2);
  BOOST_TEST(finished.output ==
             "larder: unknown command liszt; did you mean ls? larder --help lists all\n");

  const Finished below = larder({"bench", "gett"});
  BOOST_TEST(below.status == 2);
  BOOST_TEST(says(below, "larder bench: unknown command gett; did you mean get?"));
}

BOOST_AUTO_TEST_CASE(counters_are_whole_numbers_in_json) {
  sim::Daemon daemon;
  const Finished finished = larder({"status", "--json", "--server", daemon.socket()});

  BOOST_TEST(finished.status == 0);
  BOOST_TEST(says(finished, "\"capacity_bytes\":67108864,"));
  BOOST_TEST(!says(finished, ".0,"));
}

BOOST_AUTO_TEST_CASE(a_relative_name_of_a_socket_is_its_path) {
  sim::Daemon daemon;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(daemon.dir());
  const Finished found = larder({"status", "--server", "s"});
  const Finished absent = larder({"status", "--server", "t"});
  std::filesystem::current_path(before);

  BOOST_TEST(found.status == 0);
  BOOST_TEST(absent.status == 3);
  BOOST_TEST(says(absent, "t (a socket's path, as it has no port)"));
}

BOOST_AUTO_TEST_CASE(a_put_without_room_exits_with_3) {
  sim::Daemon daemon({.host_bytes = Bytes{4 << 20},
                      .shards = 1,
                      .flags = {"--pin-quota-percent", "100"},
                      .environment = {},
                      .program = {}});
  const NamespaceSpec spec = sim::chain_spec("full");
  sim::Batch batch(spec, 1, 64, 65'536);
  const auto client = daemon.shm();
  const NamespaceId ns = *client->open_namespace(spec);
  BOOST_REQUIRE((client->put(ns, batch.keys, batch.sources, {}).code == absl::StatusCode::kOk));
  BOOST_REQUIRE((client->pin(ns, batch.keys, seconds(0)).code == absl::StatusCode::kOk));
  const test::TempDir dir;
  const std::string trace = dir.file(
      "t.jsonl",
      R"({"timestamp": 0, "input_length": 4096, "output_length": 1, "hash_ids": [1,2,3,4,5,6,7,8]})"
      "\n");

  const Finished replayed =
      larder({"replay", trace, "--json", "--no-progress", "--server", daemon.socket()});
  BOOST_TEST(replayed.status == 3);
  BOOST_TEST(says(replayed, "\"errors\":0,\"puts_without_room\":"));
  BOOST_TEST(!says(replayed, "\"puts_without_room\":0"));

  const std::string bytes = dir.file("bytes", std::string(1 << 20, 'x'));
  const Finished put = larder({"put", "name", bytes, "--server", daemon.socket()});
  BOOST_TEST(put.status == 3);
  BOOST_TEST(says(put, "no_space"));
}

BOOST_AUTO_TEST_CASE(numbers_without_a_sign_take_none) {
  sim::Daemon daemon;
  for (const char* text : {"-1", "99999999999999999999", "1e3", "0x10", " 1"}) {
    const Finished finished = larder({"ls", "--limit", text, "--server", daemon.socket()});
    BOOST_TEST(finished.status == 2, text << ": " << finished.output);
  }
  BOOST_TEST(larder({"ls", "--limit", "3", "--server", daemon.socket()}).status == 0);
  BOOST_TEST(larder({"pin", "x", "--ttl-seconds", "-5", "--server", daemon.socket()}).status == 2);
  BOOST_TEST(larder({"replay", "t", "--workers", "-1"}).status == 2);
  for (const char* command : {"put", "get", "match", "pin", "unpin", "rm"})
    BOOST_TEST(larder({command, "", "--server", daemon.socket()}).status == 2, command);
}

BOOST_AUTO_TEST_CASE(a_pin_quota_is_exact_and_a_pin_without_room_exits_with_3) {
  sim::Daemon daemon({.host_bytes = Bytes{4 << 20},
                      .shards = 1,
                      .flags = {"--pin-quota-percent", "50"},
                      .environment = {},
                      .program = {}});
  const test::TempDir dir;
  const std::string bytes = dir.file("bytes", std::string(1 << 20, 'x'));
  for (const char* name : {"a", "b", "c"})
    BOOST_TEST(larder({"put", name, bytes, "--server", daemon.socket()}).status == 0);
  BOOST_TEST(larder({"pin", "a", "b", "--server", daemon.socket()}).status == 0);
  const Finished beyond = larder({"pin", "c", "--server", daemon.socket()});
  BOOST_TEST(beyond.status == 3);
  BOOST_TEST(says(beyond, "no_space"));
}

BOOST_AUTO_TEST_CASE(trace_time_that_the_daemon_does_not_take_is_an_error) {
  sim::Daemon daemon;
  const test::TempDir dir;
  const std::string trace = dir.file(
      "t.jsonl", R"({"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [1]})"
                 "\n");
  const Finished finished =
      larder({"replay", trace, "--trace-time", "--no-progress", "--server", daemon.socket()});
  BOOST_TEST(finished.status == 2);
  BOOST_TEST(says(finished, "--allow-trace-time"));
}

BOOST_AUTO_TEST_CASE(names_do_not_steer_the_terminal) {
  sim::Daemon daemon;
  const Finished finished =
      larder({"match", "a\x1b[2J\nb", "\xc3\xa9", "--server", daemon.socket()});
  BOOST_TEST(finished.status == 1);
  BOOST_TEST(says(finished, "a\\x1b[2J\\x0ab"));
  BOOST_TEST(says(finished, "\xc3\xa9"));
}

/// The process that finds a corrupt block ends at once; the daemon's own scrub is off.
BOOST_AUTO_TEST_CASE(what_a_short_lived_client_finds_corrupt_is_out_of_service) {
  sim::Daemon daemon({.host_bytes = Bytes{64 << 20},
                      .shards = 1,
                      .flags = {"--scrub-mib-s", "0"},
                      .environment = {},
                      .program = {}});
  constexpr std::size_t kBlock = 1 << 20;
  const test::TempDir dir;
  for (int n = 0; n < 30; ++n) {
    const std::string name = "block-" + std::to_string(n);
    const std::string bytes = dir.file("bytes", std::string(kBlock, static_cast<char>('A' + n)));
    BOOST_REQUIRE(larder({"put", name, bytes, "--server", daemon.socket()}).status == 0);
    sim::flip_byte_of(daemon.runtime_dir(), static_cast<char>('A' + n), kBlock);
    BOOST_TEST(larder({"get", name, dir.path() + "/back", "--server", daemon.socket()}).status ==
               1);
    int status = 0;
    for (int tries = 0; tries < 50 && status != 1; ++tries)
      status = larder({"match", name, "--server", daemon.socket()}).status;
    BOOST_TEST(status == 1, name << " is still said to be there");
    BOOST_TEST(larder({"put", name, bytes, "--server", daemon.socket()}).status == 0);
    BOOST_TEST(larder({"get", name, dir.path() + "/back", "--server", daemon.socket()}).status ==
               0);
  }
  BOOST_TEST(daemon.log().find("block_corrupt found_by=get") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_default_socket_is_used_only_in_a_directory_of_ours) {
  sim::Daemon daemon;
  const test::TempDir home;
  const std::string place = home.path() + "/larder";
  std::filesystem::create_directory(place);
  std::filesystem::create_symlink(daemon.socket(), place + "/larderd.sock");
  const RuntimeHome named(home.path());
  allow(place, 0755);
  BOOST_TEST(larder({"status"}).status == 0);

  allow(place, 0777);
  const Finished open = larder({"status"});
  BOOST_TEST(open.status == 4);
  BOOST_TEST(says(open, "directory " + place + " of the default socket"));
  BOOST_TEST(says(open, "another user could have planted it"));
  BOOST_TEST(says(open, "LARDER_SERVER"));
  BOOST_TEST(larder({"status", "--server", place + "/larderd.sock"}).status == 0);

  allow(place, 0755);
  std::filesystem::rename(place, home.path() + "/elsewhere");
  std::filesystem::create_directory_symlink(home.path() + "/elsewhere", place);
  BOOST_TEST(says(larder({"status"}), "is a symbolic link"));
}

BOOST_AUTO_TEST_CASE(the_daemon_makes_the_default_sockets_directory_or_refuses_it) {
  const test::TempDir home;
  const test::TempDir slabs(test::kShm);
  const std::string place = home.path() + "/larder";
  const RuntimeHome named(home.path());
  const std::vector<std::string> command = {
      sim::built("larderd"), "--listen",     "off", "--http", "off", "--runtime-dir",
      slabs.path() + "/run", "--host-bytes", "4MiB"};

  const mode_t mask = ::umask(0);
  const Finished served = sim::run_program(command, seconds(2));
  ::umask(mask);
  BOOST_TEST(served.status == 124);  // it would have served on
  BOOST_TEST(says(served, "serving socket=" + place + "/larderd.sock"));
  const auto mode = std::filesystem::status(place).permissions();
  BOOST_TEST((static_cast<unsigned>(mode) & 022U) == 0U);

  allow(place, 0770);
  const Finished refused = sim::run_program(command, seconds(5));
  BOOST_TEST(refused.status == 4);
  BOOST_TEST(says(refused, "directory " + place + " of the default socket"));
  BOOST_TEST(says(refused, "--socket"));
}

BOOST_AUTO_TEST_CASE(an_unknown_variable_stops_larderd) {
  ::setenv("LARDER_HOST_BYTE", "1", 1);
  const Finished finished = sim::run_program({sim::built("larderd"), "--print-config"}, seconds(5));
  ::unsetenv("LARDER_HOST_BYTE");

  BOOST_TEST(finished.status == 2);
  BOOST_TEST(says(finished, "larderd: LARDER_HOST_BYTE: no such variable"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::command_test
