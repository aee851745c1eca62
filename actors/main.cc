#include <cerrno>
#include <cstdio>

#include <signal.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "actors/config.h"
#include "actors/descriptor_limit.h"
#include "actors/machine.h"
#include "actors/node.h"
#include "actors/readiness.h"
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

void set_up_log(const larder::Config& config) {
  auto log = config.log_file.empty() ? spdlog::stderr_color_mt("larderd")
                                     : spdlog::basic_logger_mt("larderd", config.log_file);
  if (config.log_format == "json") {
    log->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":"%v"})");
  }
  log->set_level(spdlog::level::from_str(config.log_level));
  log->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(log));
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

/// Reads the configuration as main did, and takes over what may change in a running daemon.
void reload(larder::Node& node, int argc, char** argv, const Log& log) {
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
int wait_for_end(larder::Node& node, int argc, char** argv, const Log& log) {
  const sigset_t handled = handled_signals();
  int signal = 0;
  for (;;) {
    if (::sigwait(&handled, &signal) != 0) continue;
    if (signal != SIGHUP) return signal;
    reload(node, argc, argv, log);
  }
}

int serve(const larder::Config& config, int argc, char** argv) {
  set_up_log(config);
  const bool json = config.log_format == "json";
  const Log log = [json](const std::string& line) { spdlog::info("{}", escaped(line, json)); };
  auto node = larder::Node::start(config, log);
  if (!node.ok()) {
    const std::string why(node.status().message());
    std::fprintf(stderr, "larderd: %s\n", why.c_str());
    return kExitCannotStart;
  }
  log(
      fmt::format("serving socket={} listen={} http={} host_bytes={} shards={} io_threads={} "
                  "policy={} runtime_dir={}",
                  config.socket, config.listen, config.http, config.host_bytes.count, config.shards,
                  config.io_threads, config.policy, config.runtime_dir));
  larder::notify_ready();
  const int signal = wait_for_end(**node, argc, argv, log);
  log(fmt::format("stopping signal={}", signal));
  larder::notify_stopping();
  (*node)->stop();
  log("stopped");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Before any thread: all of them leave these signals to main.
  const sigset_t handled = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &handled, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
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
    std::fputs(invocation->text.c_str(), stdout);
    return 0;
  }
  const larder::Config& config = invocation->config;
  if (const absl::Status space =
          larder::check_runtime_space(config, larder::probe_runtime_space(config.runtime_dir));
      !space.ok()) {
    const std::string why(space.message());
    std::fprintf(stderr, "larderd: %s\n", why.c_str());
    return kExitCannotStart;
  }
  return serve(config, argc, argv);
}
