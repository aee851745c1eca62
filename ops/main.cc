// The `larder` command: flags in, one of the commands of this folder, an exit code out.

#include <charconv>
#include <cstdio>
#include <functional>
#include <optional>

#include "absl/strings/str_join.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "actors/config.h"
#include "actors/config_keys.h"
#include "ops/bench.h"
#include "ops/closest_words.h"
#include "ops/config_command.h"
#include "ops/doctor_command.h"
#include "ops/get_command.h"
#include "ops/list_command.h"
#include "ops/name_commands.h"
#include "ops/put_command.h"
#include "ops/replay.h"
#include "ops/status_command.h"

namespace larder {
namespace {

using Run = std::function<absl::StatusOr<ExitCode>()>;

/// The command that was named, until it runs.
struct Choice {
  std::string name;
  Run run;
};

/// A command of `app`: when it is named, `command` (filled by its flags) is what runs.
template <class Command>
CLI::App* add_command(CLI::App& app, Choice& choice, const char* name, const char* help,
                      const char* example, std::shared_ptr<Command> command) {
  CLI::App* const sub = app.add_subcommand(name, help);
  sub->footer(fmt::format("Example: {}", example));
  const bool nested = app.get_parent() != nullptr;
  const std::string path = nested ? fmt::format("{} {}", app.get_name(), name) : name;
  sub->final_callback([&choice, path, command] {
    choice = {path, [command] { return run(*command); }};
  });
  return sub;
}

CLI::Validator size_validator(std::uint64_t& bytes) {
  return CLI::Validator(
      [&bytes](const std::string& text) -> std::string {
        const auto parsed = parse_bytes(text);
        if (!parsed.ok()) return fmt::format("{} {}", text, std::string(parsed.status().message()));
        bytes = parsed->count;
        return "";
      },
      "BYTES");
}

void add_size(CLI::App* sub, const char* flag, std::uint64_t& bytes, const char* help) {
  sub->add_option_function<std::string>(
         flag, [](const std::string&) {}, help)
      ->check(size_validator(bytes));
}

void add_json(CLI::App* sub, bool& json) {
  sub->add_flag("--json", json, "answer with one JSON object on standard output");
}

void add_connection(CLI::App* sub, ConnectionOptions& options) {
  sub->add_option("--server", options.server,
                  "socket path or HOST:PORT; default: $LARDER_SERVER, else this user's larderd");
  sub->add_option("--transport", options.transport, "how bytes travel")
      ->check(CLI::IsMember({"auto", "shm", "tcp"}))
      ->capture_default_str();
  sub->add_option("--token", options.token, "default: $LARDER_TOKEN");
  sub->add_option("--deadline-ms", options.deadline_ms,
                  "a call without progress for this long ends")
      ->check(CLI::Range(10, 3'600'000))
      ->capture_default_str();
}

void add_names(CLI::App* sub, NamespaceOptions& names) {
  Fingerprint& f = names.fingerprint;
  sub->add_option("--model", f.model, "namespace: model")->capture_default_str();
  sub->add_option("--revision", f.revision, "namespace: revision");
  sub->add_option("--dtype", f.dtype, "namespace: dtype");
  sub->add_option("--quantisation", f.quantisation, "namespace: quantisation");
  sub->add_option("--layout", f.layout, "namespace: layout");
  sub->add_option("--parallel-layout", f.parallel_layout, "namespace: parallel layout");
  add_size(sub, "--block-bytes", names.block_bytes, "namespace: size of every block; 0: any");
}

/// For commands that can look at a namespace of chains.
void add_chain(CLI::App* sub, NamespaceOptions& names) {
  sub->add_flag("--chain", names.chain, "namespace: keys are chains of hashes, not names");
  sub->add_option("--unit-tokens", names.unit_tokens, "namespace: tokens of a hash unit")
      ->capture_default_str();
  sub->add_option("--block-tokens", names.block_tokens, "namespace: tokens of a block")
      ->capture_default_str();
  sub->add_option("--ranks", names.ranks, "namespace: ranks")->capture_default_str();
}

void add_target(CLI::App* sub, Target& target) {
  add_connection(sub, target.connection);
  add_names(sub, target.names);
  add_json(sub, target.json);
}

void add_byte_commands(CLI::App& app, Choice& choice) {
  auto put = std::make_shared<PutCommand>();
  CLI::App* sub = add_command(app, choice, "put", "store 256 B to 1 GiB of a file under a name",
                              "larder put prompt-7 kv.bin", put);
  sub->add_option("name", put->name, "any text")->required();
  sub->add_option("file", put->file, "-: standard input")->capture_default_str();
  add_target(sub, put->target);

  auto get = std::make_shared<GetCommand>();
  sub = add_command(app, choice, "get", "write a block's bytes to a file; 1: it is absent",
                    "larder get prompt-7 kv.bin", get);
  sub->add_option("name", get->name, "any text")->required();
  sub->add_option("file", get->file, "-: standard output")->capture_default_str();
  add_target(sub, get->target);
}

void add_name_commands(CLI::App& app, Choice& choice) {
  auto match = std::make_shared<MatchCommand>();
  CLI::App* sub = add_command(app, choice, "match", "tell which names are there; 1: not all are",
                              "larder match prompt-7 prompt-8", match);
  sub->add_option("names", match->names)->required();
  add_target(sub, match->target);

  auto pin = std::make_shared<PinCommand>();
  sub = add_command(app, choice, "pin", "keep blocks from eviction; 1: not all are there",
                    "larder pin --ttl-seconds 600 prompt-7", pin);
  sub->add_option("names", pin->names)->required();
  sub->add_option("--ttl-seconds", pin->ttl_seconds, "0: until unpinned")
      ->check(CLI::Range(0, 4'000'000))
      ->capture_default_str();
  add_target(sub, pin->target);

  auto unpin = std::make_shared<PinCommand>();
  unpin->unpin = true;
  sub = add_command(app, choice, "unpin", "end a pin; 1: not all were pinned",
                    "larder unpin prompt-7", unpin);
  sub->add_option("names", unpin->names)->required();
  add_target(sub, unpin->target);
}

/// Names, or with --prefix the unit hashes of a chain.
struct RemoveEither {
  RemoveCommand names;
  bool prefix = false;
};
absl::StatusOr<ExitCode> run(const RemoveEither& command) {
  if (!command.prefix) return run(command.names);
  return run(RemovePrefixCommand{command.names.target, command.names.names});
}

void add_space_commands(CLI::App& app, Choice& choice) {
  auto list = std::make_shared<ListCommand>();
  CLI::App* sub =
      add_command(app, choice, "ls", "list a namespace's blocks", "larder ls --limit 20", list);
  sub->add_option("--limit", list->limit, "0: all")->capture_default_str();
  add_target(sub, list->target);
  add_chain(sub, list->target.names);

  auto remove = std::make_shared<RemoveEither>();
  sub = add_command(app, choice, "rm", "remove blocks; 1: not all were there",
                    "larder rm prompt-7\n         larder rm --model m --chain --prefix "
                    "00112233445566778899aabbccddeeff",
                    remove);
  sub->add_option("names", remove->names.names, "names; with --prefix unit hashes from the root")
      ->required();
  sub->add_flag("--prefix", remove->prefix, "every block whose prompt begins with these hashes");
  add_target(sub, remove->names.target);
  add_chain(sub, remove->names.target.names);
}

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

void add_bench_flags(CLI::App* sub, BenchOptions& options) {
  sub->add_option("--rounds", options.rounds, "turns of larder and limits, at least 5")
      ->capture_default_str();
  sub->add_option("--seconds", options.seconds, "for each size, limits included")
      ->capture_default_str();
  sub->add_option("--count", options.count, "calls a round, instead of a time");
  sub->add_option("--pause-ms", options.pause_ms, "between calls, of larder and of limits");
  sub->add_option("--spin-us", options.spin_us, "a waiting call polls so long before it sleeps")
      ->capture_default_str();
  add_connection(sub, options.connection);
  add_json(sub, options.json);
}

void add_sizes(CLI::App* sub, const std::shared_ptr<BenchOptions>& options) {
  sub->add_option_function<std::vector<std::string>>(
         "--size",
         [options](const std::vector<std::string>& sizes) {
           options->sizes.clear();
           for (const std::string& size : sizes) {
             const auto bytes = parse_bytes(size);
             if (!bytes.ok()) {
               throw CLI::ValidationError(
                   "--size", fmt::format("{} {}", size, std::string(bytes.status().message())));
             }
             options->sizes.push_back(bytes->count);
           }
         },
         "block sizes [64KiB,1MiB,4MiB,16MiB]")
      ->delimiter(',');
}

void add_bench_bytes(CLI::App& bench, Choice& choice) {
  for (const bool put : {false, true}) {
    auto options = std::make_shared<BenchOptions>();
    options->operation = put ? BenchOptions::Operation::kPut : BenchOptions::Operation::kGet;
    CLI::App* sub = add_command(bench, choice, put ? "put" : "get",
                                put ? "blocks into larderd" : "blocks out of larderd",
                                put ? "larder bench put --size 1MiB --transport tcp"
                                    : "larder bench get --size 64KiB,16MiB",
                                options);
    add_sizes(sub, options);
    sub->add_option("--batch", options->batch, "blocks a call; 0: about 4 MiB of them");
    sub->add_option("--depth", options->depth, "calls outstanding; 0: 1 over shm, 2 over tcp");
    sub->add_flag("--heap", options->heap, "buffers in plain memory, not in a registered region");
    if (put) {
      sub->add_flag("--full", options->full, "into a full store, beside an empty one; fills it");
    }
    add_bench_flags(sub, *options);
  }
}

void add_bench(CLI::App& app, Choice& choice) {
  CLI::App* bench =
      app.add_subcommand("bench", "measure larderd and, in the same run, the machine");
  bench->require_subcommand(1);
  add_bench_bytes(*bench, choice);
  auto view = std::make_shared<BenchOptions>();
  view->operation = BenchOptions::Operation::kView;
  CLI::App* sub = add_command(*bench, choice, "view", "views of blocks, taken and released",
                              "larder bench view --size 16MiB", view);
  add_sizes(sub, view);
  sub->add_option("--batch", view->batch, "blocks a call; 0: 1");
  add_bench_flags(sub, *view);
  auto match = std::make_shared<BenchOptions>();
  match->operation = BenchOptions::Operation::kMatch;
  sub = add_command(*bench, choice, "match", "lookups of chains drawn at random",
                    "larder bench match --positions 1000", match);
  sub->add_option("--positions", match->positions, "hash units of a chain")->capture_default_str();
  sub->add_option("--blocks", match->blocks, "in the index")->capture_default_str();
  sub->add_flag("--under-load", match->under_load,
                "also while another process puts into a full store; fills it");
  add_bench_flags(sub, *match);
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

int main_of(int argc, char** argv) {
  CLI::App app{"larder: looks at a running larderd, moves blocks, measures, replays traces"};
  app.name("larder");
  app.set_version_flag("--version", "larder 0.1.0");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok, 1 miss, 2 usage or input, 3 larderd unavailable or without room, 4 "
      "failure.");
  Choice choice;
  add_status_commands(app, choice);
  add_doctor(app, choice);
  add_byte_commands(app, choice);
  add_name_commands(app, choice);
  add_space_commands(app, choice);
  add_bench(app, choice);
  add_replay(app, choice);
  add_config(app, choice);
  check_whole_numbers(app);
  if (const auto line = unknown_command(app, argc, argv)) {
    fmt::print(stderr, "{}\n", *line);
    return static_cast<int>(ExitCode::kUsage);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  const auto code = choice.run();
  if (code.ok()) return static_cast<int>(*code);
  fmt::print(stderr, "larder {}: {}\n", choice.name, std::string(code.status().message()));
  return static_cast<int>(exit_code_of(code.status()));
}

}  // namespace
}  // namespace larder

int main(int argc, char** argv) {
  return larder::main_of(argc, argv);
}
