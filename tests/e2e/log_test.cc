// What larderd's log and its audit file tell, at which level, and that they survive rotation, full
// disks and floods.

#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <signal.h>
#include <sys/stat.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/eventually.h"
#include "tests/tls_files.h"

namespace larder::log_test {
namespace {

using test::eventually;

constexpr const char* kToken = "0123456789abcdef-b";

std::string read(const std::string& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

std::size_t times(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    found += 1;
  return found;
}

struct Place {
  /// `flags` behind those that name the configuration file.
  void start(const std::vector<std::string>& flags, const std::string& text = "shards = 1") {
    write(text);
    sim::Daemon::Options options{.flags = {"--config", config}, .environment = {}, .program = {}};
    options.flags.insert(options.flags.end(), flags.begin(), flags.end());
    daemon = std::make_unique<sim::Daemon>(std::move(options));
  }
  void write(const std::string& text) const { std::ofstream(config) << text << '\n'; }
  void write_tokens(const std::string& text) const {
    std::ofstream(tokens) << text;
    ::chmod(tokens.c_str(), 0600);
  }
  absl::Status connect(const std::string& token) const {
    Client::Options options;
    options.server = daemon->tcp();
    options.token = token;
    return Client::connect(std::move(options)).status();
  }

  test::TempDir dir;
  std::string config = dir.path() + "/larder.toml";
  std::string tokens = dir.path() + "/tokens";
  std::string audit = dir.path() + "/audit";
  std::unique_ptr<sim::Daemon> daemon;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(logs, Place)

BOOST_AUTO_TEST_CASE(failures_are_there_at_level_warn_and_nothing_else) {
  start({"--log-level", "warn"});
  write("no_such_key = 1");
  daemon->reload("[warning] reload_refused");
  BOOST_TEST(daemon->logged("serving") == 0U);
  BOOST_TEST(daemon->logged("[info]") == 0U);
}

BOOST_AUTO_TEST_CASE(calls_of_the_command_leave_no_lines_in_a_log_of_level_info) {
  start({});
  for (int n = 0; n < 3; ++n)
    (void)daemon->shm();
  BOOST_TEST(daemon->logged("action=Hello") == 0U);
  const auto client = daemon->shm();
  const NamespaceId ns = *client->open_namespace(sim::chain_spec("audit"));
  sim::Batch batch(sim::chain_spec("audit"), 1, 1, 5000);
  (void)client->remove(ns, batch.keys);
  BOOST_TEST(eventually([&] { return daemon->logged("audit action=Remove") == 1; }));
}

BOOST_AUTO_TEST_CASE(moved_files_begin_anew_at_a_reload) {
  const std::string log = dir.path() + "/log";
  start({"--log-file", log, "--audit-file", audit});
  for (const std::string& file : {log, audit})
    std::filesystem::rename(file, file + ".1");
  ::kill(daemon->pid(), SIGHUP);

  BOOST_TEST(eventually([&] { return read(log).find("reloaded") != std::string::npos; }));
  BOOST_TEST(read(audit).find("audit action=reload") != std::string::npos);
  BOOST_TEST(times(read(audit + ".1"), "action=reload") == 0U);
  BOOST_TEST(read(log + ".1").find("serving") != std::string::npos);

  std::filesystem::remove(log);
  std::filesystem::remove(audit);
  write("no_such_key = 1");
  ::kill(daemon->pid(), SIGHUP);
  BOOST_TEST(eventually([&] { return read(log).find("reload_refused") != std::string::npos; }));
  BOOST_TEST(std::filesystem::exists(audit));
}

BOOST_AUTO_TEST_CASE(who_is_refused_is_audited_with_his_address_and_a_flood_is_counted) {
  write_tokens(std::string(kToken) + " b read\n");
  start({"--token-file", tokens, "--audit-file", audit});
  BOOST_TEST(!connect("0123456789abcdef-x").ok());
  BOOST_TEST(eventually([&] {
    return read(audit).find("audit_refused action=Hello session=") != std::string::npos;
  }));
  BOOST_TEST(times(read(audit), "from=\"127.0.0.1:") == 1U, read(audit));

  Client::Options reader;
  reader.server = daemon->tcp();
  reader.token = kToken;
  const auto client = daemon->connect(reader);
  BOOST_TEST(!client->purge({.tenant = "b"}).ok());
  BOOST_TEST(eventually([&] {
    return read(audit).find("audit_refused action=Purge session=") != std::string::npos;
  }));
  BOOST_TEST(read(audit).find("error=\"right: Purge needs admin") != std::string::npos);

  for (int n = 0; n < 200; ++n)
    (void)client->purge({.tenant = "b"});
  BOOST_TEST(
      eventually([&] { return read(audit).find("audit_refused left_out=") != std::string::npos; }));
  BOOST_TEST(times(read(audit), "audit_refused action=Purge") < 100U);
}

BOOST_AUTO_TEST_CASE(audit_lines_that_cannot_be_written_are_errors_and_counted) {
  start({"--audit-file", "/dev/full", "--log-level", "error"});
  const auto client = daemon->shm();
  const NamespaceId ns = *client->open_namespace(sim::chain_spec("audit"));
  sim::Batch batch(sim::chain_spec("audit"), 1, 1, 5000);
  BOOST_TEST((client->remove(ns, batch.keys).code == absl::StatusCode::kOk));
  BOOST_TEST(eventually([&] { return daemon->logged("[error] audit_lost file=/dev/full") > 0; }));
  BOOST_TEST(daemon->stat("audit_lost") >= 1);
}

BOOST_AUTO_TEST_CASE(the_line_at_the_start_names_the_ports_that_were_got) {
  const sim::Finished finished = sim::run_program(
      {sim::built("larderd"), "--runtime-dir", dir.path() + "/run", "--socket", "off", "--listen",
       "127.0.0.1:0", "--http", "127.0.0.1:0", "--host-bytes", "4MiB"},
      std::chrono::seconds(2));
  BOOST_TEST(finished.output.find("serving socket=off listen=127.0.0.1:") != std::string::npos,
             finished.output);
  BOOST_TEST(finished.output.find(".1:0 ") == std::string::npos, finished.output);
}

BOOST_AUTO_TEST_CASE(a_log_or_audit_file_in_no_directory_stops_the_start) {
  for (const char* flag : {"--log-file", "--audit-file"}) {
    const std::string path = dir.path() + "/none/x";
    const sim::Finished finished =
        sim::run_program({sim::built("larderd"), "--runtime-dir", dir.path() + "/run", "--socket",
                          dir.path() + "/s", "--listen", "off", "--http", "off", flag, path},
                         std::chrono::seconds(5));
    BOOST_TEST(finished.status == 4, finished.output);
    BOOST_TEST(finished.output.find("No such file or directory") != std::string::npos);
    BOOST_TEST(!std::filesystem::exists(dir.path() + "/none"));
  }
}

BOOST_AUTO_TEST_CASE(a_reload_does_not_end_encryption) {
  const test::TlsFiles files(dir);
  const std::string tls = "tls_cert = \"" + files.cert + "\"\ntls_key = \"" + files.key + "\"";
  start({}, tls);
  write("max_sessions = 7");
  daemon->reload("reload_refused error=\"tls_cert and tls_key are not set any more");
  BOOST_TEST(daemon->logged("key=max_sessions") == 0U);
  BOOST_TEST(!connect("").ok());

  std::filesystem::rename(files.cert, files.cert + ".gone");
  write(tls);
  daemon->reload("reload_refused error=\"tls_cert " + files.cert + ": No such file or directory");
}

BOOST_AUTO_TEST_CASE(a_token_file_without_tokens_is_warned_of) {
  write_tokens(std::string(kToken) + " b\n");
  start({"--token-file", tokens});
  BOOST_TEST(daemon->logged("tokens_not_there") == 0U);
  write_tokens("# none\n");
  daemon->reload("[warning] tokens_not_there token_file=" + tokens);
}

BOOST_AUTO_TEST_CASE(an_address_of_the_network_is_not_opened_by_an_empty_token_file) {
  write_tokens("");
  const sim::Finished finished =
      sim::run_program({sim::built("larderd"), "--runtime-dir", dir.path() + "/run", "--socket",
                        "off", "--listen", "0.0.0.0:0", "--http", "off", "--token-file", tokens},
                       std::chrono::seconds(5));
  BOOST_TEST(finished.status == 4, finished.output);
  BOOST_TEST(finished.output.find("has no tokens") != std::string::npos, finished.output);
}

BOOST_AUTO_TEST_CASE(a_signal_of_a_broken_pipe_ends_nothing) {
  start({});
  ::kill(daemon->pid(), SIGPIPE);
  BOOST_TEST(!daemon->wait_exit(std::chrono::milliseconds(300)));
  BOOST_TEST(daemon->stat("sessions") == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::log_test
