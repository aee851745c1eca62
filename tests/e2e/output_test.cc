// What both programs say, and what they do when it cannot be said: closed and full descriptors,
// readers that leave, errors for scripts.

#include <filesystem>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "tests/e2e/daemon.h"
#include "tests/eventually.h"

namespace larder::output_test {

namespace {

using sim::Finished;
using std::chrono::seconds;

/// `script` with $larder, $larderd and $at (flags that reach `daemon`).
Finished shell(const sim::Daemon& daemon, const std::string& script) {
  return sim::run_program(
      {"/bin/bash", "-c",
       fmt::format("larder={} larderd={} at='--server {}'; {}", sim::built("larder"),
                   sim::built("larderd"), daemon.socket(), script)},
      seconds(20));
}

bool says(const Finished& finished, const std::string& part) {
  return finished.output.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(output)

BOOST_AUTO_TEST_CASE(an_answer_that_could_not_be_written_is_a_failure) {
  const sim::Daemon daemon;
  const test::TempDir dir;
  const std::string file = dir.file("block", std::string(4096, 'x'));
  BOOST_REQUIRE(shell(daemon, "$larder put p " + file + " $at").status == 0);
  for (const std::string& command :
       {std::string("$larder status --json $at"), std::string("$larder status $at"),
        "$larder put p " + file + " $at", std::string("$larder get p - $at"),
        std::string("$larder get absent --json - $at"), std::string("$larder match p $at"),
        std::string("$larder ls $at"), std::string("$larder top --interval-ms 50 $at"),
        std::string("$larder --help"), std::string("$larder --version"),
        std::string("$larder put --help"), std::string("$larderd --print-config"),
        std::string("$larderd --help"), std::string("$larderd --version")}) {
    const Finished full = shell(daemon, command + " >/dev/full");
    BOOST_TEST(full.status == 4, command << ": " << full.status << " " << full.output);
    BOOST_TEST(says(full, "stdout: No space left on device"), command << ": " << full.output);

    const Finished closed = shell(daemon, command + " >&-");
    BOOST_TEST(closed.status == 4, command << ": " << closed.status << " " << closed.output);
    BOOST_TEST(says(closed, "stdout: Bad file descriptor"), command << ": " << closed.output);
  }
  const Finished quiet = shell(daemon, "$larder get p " + dir.path() + "/back $at >&-");
  BOOST_TEST(quiet.status == 0, "nothing was to be said: " << quiet.output);
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_is_no_error_worth_a_word) {
  const sim::Daemon daemon;
  for (const char* command : {"$larderd --help", "$larder top --interval-ms 50 $at"}) {
    const Finished left = shell(daemon, fmt::format("{} | true; exit ${{PIPESTATUS[0]}}", command));
    BOOST_TEST((left.status == 141 || left.status == 0), command << ": " << left.status);
    BOOST_TEST(left.output == "", command);
  }
}

BOOST_AUTO_TEST_CASE(closed_descriptors_are_not_taken_by_what_is_opened_next) {
  const sim::Daemon daemon;
  const test::TempDir dir(test::kShm);
  const Finished finished = shell(
      daemon, fmt::format("$larderd --runtime-dir {0}/run --socket {0}/s --listen off --http off "
                          "--host-bytes 4MiB <&- >&- 2>&- & pid=$!\n"
                          "for n in $(seq 100); do $larder status --server {0}/s >/dev/null 2>&1 "
                          "&& break; sleep 0.05; done\n"
                          "readlink /proc/$pid/fd/0 /proc/$pid/fd/1 /proc/$pid/fd/2; kill $pid; "
                          "wait $pid",
                          dir.path()));
  BOOST_TEST(finished.status == 0);
  BOOST_TEST(finished.output == "/dev/null\n/dev/null\n/dev/null\n");
}

BOOST_AUTO_TEST_CASE(with_json_every_error_is_an_object_on_standard_output) {
  const sim::Daemon daemon;
  const struct {
    const char* command;
    int status;
    const char* code;
  } cases[] = {
      {"status --json --server /nowhere/s", 3, "UNAVAILABLE"},
      {"top --once --json --server /nowhere/s", 3, "UNAVAILABLE"},
      {"match x --json --server /nowhere/s", 3, "UNAVAILABLE"},
      {"ls --json --server /nowhere/s", 3, "UNAVAILABLE"},
      {"rm x --json --server /nowhere/s", 3, "UNAVAILABLE"},
      {"pin x --json --server /nowhere/s", 3, "UNAVAILABLE"},
      {"namespaces --json --server /nowhere/s", 3, "UNAVAILABLE"},
      {"purge --tenant x --json --server /nowhere/s", 3, "UNAVAILABLE"},
      {"status --json --transport shm --server 127.0.0.1:1", 2, "INVALID_ARGUMENT"},
      {"put x /nowhere/f --json $at", 2, "NOT_FOUND"},
      {"get x - --json $at", 2, "INVALID_ARGUMENT"},
      {"mode off --id xyz --json $at", 2, "INVALID_ARGUMENT"},
      {"mode off --model nobody --json $at", 2, "NOT_FOUND"},
      {"replay /nowhere/t --json $at", 2, "NOT_FOUND"},
      {"config check /nowhere/c --json", 2, "INVALID_ARGUMENT"},
      {"ls --limit -1 --json", 2, "INVALID_ARGUMENT"},
      {"status --json --token 0123456789abcdefghi $at", 4, "UNAUTHENTICATED"},
      {"statsu --json", 2, "INVALID_ARGUMENT"},
  };
  for (const auto& one : cases) {
    const Finished finished = shell(daemon, fmt::format("$larder {} 2>/dev/null", one.command));
    BOOST_TEST(finished.status == one.status, one.command << ": " << finished.status);
    BOOST_TEST(finished.output.starts_with(
                   fmt::format("{{\"error\":{{\"code\":\"{}\",\"message\":\"", one.code)),
               one.command << ": " << finished.output);
    BOOST_TEST(!shell(daemon, fmt::format("$larder {} >/dev/null", one.command)).output.empty(),
               one.command);
  }
}

BOOST_AUTO_TEST_CASE(the_ways_in_which_larderd_cannot_serve_have_their_exit_codes) {
  const sim::Daemon full({.flags = {"--max-sessions", "1"}, .environment = {}, .program = {}});
  std::unique_ptr<Client> only;
  BOOST_TEST(test::eventually([&] {  // the session that saw it start may still be ending
    Client::Options options;
    options.server = full.socket();
    auto client = Client::connect(options);
    if (client.ok()) only = *std::move(client);
    return only != nullptr;
  }));
  // By TCP: the daemon's own user comes in by the socket even then.
  const Finished refused = shell(full, "$larder status --server " + full.tcp());
  BOOST_TEST(refused.status == 3, refused.output);
  BOOST_TEST(says(refused, "max_sessions=1"), refused.output);

  const sim::Daemon daemon;
  const test::TempDir dir;
  const std::string file = dir.file("block", std::string(4096, 'x'));
  BOOST_TEST(shell(daemon, "$larder put a " + file + " $at && $larder mode off $at").status == 0);
  const Finished off = shell(daemon, "$larder put b " + file + " $at");
  BOOST_TEST(off.status == 3, off.output);
  BOOST_TEST(says(off, "refused"), off.output);
  BOOST_TEST(says(off, "is off; larder mode on --id "), off.output);
}

BOOST_AUTO_TEST_CASE(a_certificate_that_is_not_there_is_named_with_the_reason) {
  const sim::Daemon daemon;
  const Finished finished =
      shell(daemon, "$larder status --server " + daemon.tcp() + " --tls-ca /nowhere/ca");
  BOOST_TEST(finished.status == 2);
  BOOST_TEST(says(finished, "tls_ca /nowhere/ca: No such file or directory"), finished.output);
}

BOOST_AUTO_TEST_CASE(config_check_looks_at_the_files_that_are_named) {
  const sim::Daemon daemon;
  const test::TempDir dir;
  const struct {
    const char* text;
    const char* why;
  } cases[] = {
      {"socket = 5", "1: socket: must be a text, in quotes"},
      {"tenant_file = \"/nowhere/t\"", "tenant_file /nowhere/t cannot be read"},
      {"token_file = \"/nowhere/t\"", "token_file /nowhere/t cannot be read: No such file"},
      {"tls_cert = \"/nowhere/c\"\ntls_key = \"/nowhere/k\"", "tls_cert /nowhere/c: No such file"},
      {"log_file = \"/nowhere/l\"", "log_file = /nowhere/l: directory /nowhere: "},
      {"audit_file = \"/nowhere/l\"", "audit_file = /nowhere/l: directory /nowhere: "}};
  for (const auto& one : cases) {
    const Finished found = shell(daemon, "$larder config check " + dir.file("c", one.text));
    BOOST_TEST(found.status == 2, one.text << ": " << found.output);
    BOOST_TEST(says(found, one.why), one.text << ": " << found.output);
  }
  BOOST_TEST(shell(daemon, "$larder config check " + dir.file("c", "shards = 1")).status == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::output_test
