#include <cerrno>
#include <cstdio>

#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "actors/config.h"
#include "actors/descriptor_limit.h"
#include "actors/log_level.h"
#include "actors/machine.h"
#include "actors/node.h"
#include "actors/readiness.h"
#include "actors/rotated_file.h"
#include "actors/standard_streams.h"
#include "store/status_macros.h"
#include "transport/wire_log.h"

namespace {

constexpr int kExitUsage = 2;
constexpr int kExitCannotStart = 4;

using Log = larder::Node::Log;

sigset_t handled_signals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&handled, signal);
  return handled;
}

/// The file that SIGHUP opens anew; null: standard error.
using LogFile = std::shared_ptr<larder::RotatedFile>;

absl::StatusOr<LogFile> set_up_log(const larder::Config& config) {
  const std::string pattern =
      config.log_format == "json"
          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":"%v"})"
          : "%+";
  LogFile file;
  spdlog::sink_ptr sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  if (!config.log_file.empty()) {
    LARDER_ASSIGN_OR_RETURN(file, larder::RotatedFile::open("log_file", config.log_file, pattern));
    sink = file->sink();
  } else {
    sink->set_pattern(pattern);
  }
  auto log = std::make_shared<spdlog::logger>("larderd", std::move(sink));
  log->set_level(spdlog::level::from_str(config.log_level));
  log->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(log));
  return file;
}

/// Quotes and backslashes of a message, when it stands in a JSON string.
std::string escaped(const std::string& message, bool json) {
  if (!json) return message;
  std::string out;
  for (const char c : message) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

/// Opens files anew, whatever the configuration has become; then reads it as main did, and takes
/// over what may change in a running daemon.
void reload(larder::Node& node, int argc, char** argv, const Log& log, const LogFile& file) {
  if (absl::Status again = file ? file->reopen() : absl::OkStatus(); !again.ok()) {
    log(fmt::format("log_not_reopened error=\"{}\"", std::string(again.message())));
  }
  node.reopen_files();
  const auto invocation =
      larder::load_config(argc, argv, larder::process_environment(), larder::probe_machine());
  absl::Status status = invocation.status();
  if (status.ok()) status = node.reload(invocation->config);
  if (!status.ok()) {
    return log(fmt::format("reload_refused error=\"{}\"", std::string(status.message())));
  }
  spdlog::set_level(spdlog::level::from_str(invocation->config.log_level));
  log("reloaded");
}

/// SIGHUP reloads; any other of the signals ends.
int wait_for_end(larder::Node& node, int argc, char** argv, const Log& log, const LogFile& file) {
  const sigset_t handled = handled_signals();
  int signal = 0;
  for (;;) {
    if (::sigwait(&handled, &signal) != 0) continue;
    if (signal != SIGHUP) return signal;
    reload(node, argc, argv, log, file);
  }
}

int cannot_start(const absl::Status& why) {
  std::fprintf(stderr, "larderd: %s\n", std::string(why.message()).c_str());
  return kExitCannotStart;
}

/// With the port that was got where 0 was asked for.
std::string in_use(const std::string& address, std::uint16_t port) {
  if (larder::is_off(address)) return address;
  return fmt::format("{}:{}", address.substr(0, address.rfind(':')), port);
}

int serve(const larder::Config& config, int argc, char** argv) {
  const auto file = set_up_log(config);
  if (!file.ok()) return cannot_start(file.status());
  const bool json = config.log_format == "json";
  const Log log = [json](const std::string& line) {
    spdlog::log(larder::level_of(line), "{}", escaped(line, json));
  };
  auto node = larder::Node::start(config, log);
  if (!node.ok()) return cannot_start(node.status());
  log(
      fmt::format("serving socket={} listen={} http={} host_bytes={} shards={} io_threads={} "
                  "policy={} runtime_dir={}",
                  config.socket, in_use(config.listen, (*node)->tcp_port()),
                  in_use(config.http, (*node)->http_port()), config.host_bytes.count, config.shards,
                  config.io_threads, config.policy, config.runtime_dir));
  larder::notify_ready();
  const int signal = wait_for_end(**node, argc, argv, log, *file);
  log(fmt::format("stopping signal={}", signal));
  larder::notify_stopping();
  (*node)->stop();
  log("stopped");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a limit on files is an error of the slab that meets it
  larder::open_standard_streams();
  // Before any thread: all of them leave these signals to main.
  const sigset_t handled = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &handled, nullptr);
  larder::raise_descriptor_limit();
  larder::silence_wire_log();

  const auto invocation =
      larder::load_config(argc, argv, larder::process_environment(), larder::probe_machine());
  if (!invocation.ok()) {
    const std::string why(invocation.status().message());
    std::fprintf(stderr, "larderd: %s\n", why.c_str());
    return kExitUsage;
  }
  if (invocation->action == larder::Invocation::Action::kPrint) {
    larder::write_output(invocation->text);
    return larder::exit_code_after("larderd", 0);
  }
  const larder::Config& config = invocation->config;
  if (const absl::Status space =
          larder::check_runtime_space(config, larder::probe_runtime_space(config.runtime_dir));
      !space.ok()) {
    return cannot_start(space);
  }
  return serve(config, argc, argv);
}
