// The `larder` command: flags in, one of the commands of this folder, an exit code out.

#include <charconv>
#include <cstdio>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>

#include "absl/strings/str_join.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "actors/config.h"
#include "actors/standard_streams.h"
#include "ops/closest_words.h"
#include "ops/config_command.h"
#include "ops/doctor_command.h"
#include "ops/flags.h"
#include "ops/replay.h"
#include "ops/report.h"
#include "ops/status_command.h"

namespace larder {
namespace {

void add_status_commands(CLI::App& app, Choice& choice) {
  auto status = std::make_shared<StatusCommand>();
  CLI::App* sub = add_command(app, choice, "status", "who answers, by which path, all figures",
                              "larder status --json", status);
  add_connection(sub, status->connection);
  add_json(sub, status->json);

  auto top = std::make_shared<TopCommand>();
  sub = add_command(app, choice, "top", "figures that move, live", "larder top --once", top);
  sub->add_flag("--once", top->once, "one interval, then exit");
  sub->add_option("--interval-ms", top->interval_ms)
      ->check(CLI::Range(50, 3'600'000))
      ->capture_default_str();
  add_connection(sub, top->connection);
  add_json(sub, top->json);
}

void add_doctor(CLI::App& app, Choice& choice) {
  auto doctor = std::make_shared<DoctorCommand>();
  CLI::App* sub = add_command(
      app, choice, "doctor", "what this machine and its larderd lack, and what to do; 4: a problem",
      "larder doctor --json", doctor);
  sub->add_flag("--machine-only", doctor->machine_only, "ask no daemon");
  add_size(sub, "--host-bytes", doctor->host_bytes,
           "judge by this capacity; default: the daemon's, else the one it would choose");
  sub->add_option("--root", doctor->root, "read proc and sys below this directory")
      ->capture_default_str();
  add_connection(sub, doctor->connection);
  add_json(sub, doctor->json);
}

void add_replay(CLI::App& app, Choice& choice) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* sub = add_command(app, choice, "replay",
                              "play a trace of the Mooncake open format (.jsonl, also .zst)",
                              "larder replay --workers 4 tests/data/traces/"
                              "conversation_trace.jsonl.zst",
                              options);
  sub->add_option("trace", options->trace)->required();
  sub->add_option("--workers", options->workers, "processes")->capture_default_str();
  add_size(sub, "--block-bytes", options->block_bytes.count, "bytes of a block [64KiB]");
  sub->add_option("--tokens-per-block", options->tokens_per_block)->capture_default_str();
  sub->add_option("--limit", options->limit, "requests; 0: all")->capture_default_str();
  sub->add_option("--rate", options->rate, "0: as fast as it goes; 1: recorded time")
      ->capture_default_str();
  sub->add_option("--seed-namespace", options->seed,
                  "runs with equal seeds share blocks; default: a namespace for each run");
  sub->add_flag("--trace-time", options->trace_time,
                "send the trace's own time (larderd --allow-trace-time)");
  sub->add_flag("!--no-progress", options->progress, "no progress bar");
  add_connection(sub, options->connection);
  add_json(sub, options->json);
}

void add_config(CLI::App& app, Choice& choice) {
  CLI::App* config = app.add_subcommand("config", "look at larderd's configuration");
  config->require_subcommand(1);
  auto check = std::make_shared<ConfigCheckCommand>();
  CLI::App* sub = add_command(*config, choice, "check", "check a configuration file",
                              "larder config check larder.toml", check);
  sub->add_option("file", check->file)->required();
  add_json(sub, check->json);
}

/// The line to print when a word stands in a command's place that is none.
std::optional<std::string> unknown_command(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  for (int n = 1; n < argc; ++n) {
    const std::string word = argv[n];
    const auto all = at->get_subcommands([](const CLI::App*) { return true; });
    if (all.empty() || word.starts_with('-')) return std::nullopt;
    std::vector<std::string> names;
    const CLI::App* named = nullptr;
    for (const CLI::App* sub : all) {
      names.push_back(sub->get_name());
      if (sub->get_name() == word) named = sub;
    }
    if (named == nullptr) {
      const std::string near = absl::StrJoin(closest_words(word, names), " or ");
      return fmt::format("{}: unknown command {}; {}{} --help lists all", path, word,
                         near.empty() ? "" : fmt::format("did you mean {}? ", near), path);
    }
    at = named;
    path += " " + word;
  }
  return std::nullopt;
}

/// CLI11 reads -1 and 2^64 as numbers without a sign, too.
const CLI::Validator kWhole(
    [](const std::string& text) {
      std::uint64_t value = 0;
      const char* end = text.data() + text.size();
      const auto [at, error] = std::from_chars(text.data(), end, value);
      const bool whole = error == std::errc() && at == end;
      return whole ? "" : fmt::format("{}: must be a whole number, 0 to {}", text, ~0ULL);
    },
    "");

void check_whole_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_type_name().starts_with("UINT")) option->check(kWhole);
  }
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; }))
    check_whole_numbers(*sub);
}

/// Looked for in the words themselves: what they mean together may be what is wrong.
bool wants_json(int argc, const char* const* argv) {
  for (int n = 1; n < argc && std::string_view(argv[n]) != "--"; ++n) {
    if (std::string_view(argv[n]) == "--json") return true;
  }
  return false;
}

/// The exit code of an error; for scripts the error as JSON, too.
int refused(const absl::Status& why, bool json) {
  if (json) write_output(error_json(why));
  return static_cast<int>(exit_code_of(why));
}

int main_of(int argc, char** argv) {
  CLI::App app{"larder: looks at a running larderd, moves blocks, measures, replays traces"};
  app.name("larder");
  app.set_version_flag("--version", "larder 0.1.0");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok, 1 miss, 2 usage or input, 3 larderd unavailable, without room or not "
      "serving the namespace, 4 failure (also: standard output could not be written).\n"
      "With --json an error is {\"error\": {\"code\", \"message\"}} on standard output.");
  Choice choice;
  add_status_commands(app, choice);
  add_doctor(app, choice);
  add_block_commands(app, choice);
  add_namespace_commands(app, choice);
  add_bench_commands(app, choice);
  add_replay(app, choice);
  add_sim(app, choice);
  add_config(app, choice);
  check_whole_numbers(app);
  const bool json = wants_json(argc, argv);
  if (const auto line = unknown_command(app, argc, argv)) {
    fmt::print(stderr, "{}\n", *line);
    return refused(absl::InvalidArgumentError(*line), json);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    const bool asked = app.exit(error, text, std::cerr) == 0;
    write_output(text.str());
    return asked ? 0 : refused(absl::InvalidArgumentError(error.what()), json);
  }
  const auto code = choice.run();
  if (code.ok()) return static_cast<int>(*code);
  fmt::print(stderr, "larder {}: {}\n", choice.name, std::string(code.status().message()));
  return refused(code.status(), json);
}

}  // namespace
}  // namespace larder

int main(int argc, char** argv) {
  larder::open_standard_streams();
  return larder::exit_code_after("larder", larder::main_of(argc, argv));
}
