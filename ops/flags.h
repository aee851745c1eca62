// Parts of the command line that several commands share. CLI11 alone parses.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "ops/connection.h"
#include "ops/target.h"

namespace larder {

/// The command that was named, until it runs.
struct Choice {
  std::string name;
  std::function<absl::StatusOr<ExitCode>()> run;
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

/// An option of bytes, with or without a unit.
void add_size(CLI::App* sub, const char* flag, std::uint64_t& bytes, const char* help);
void add_json(CLI::App* sub, bool& json);
/// For check(): what is empty is a variable that is not set, in most scripts.
std::string not_empty(const std::string& value);
void add_connection(CLI::App* sub, ConnectionOptions& options);
void add_names(CLI::App* sub, NamespaceOptions& names);
/// For commands that can look at a namespace of chains.
void add_chain(CLI::App* sub, NamespaceOptions& names);
/// Connection, names and form of the answer.
void add_target(CLI::App* sub, Target& target);

/// larder put, get, match, pin, unpin, ls, rm.
void add_block_commands(CLI::App& app, Choice& choice);
/// larder bench …
void add_bench_commands(CLI::App& app, Choice& choice);
/// larder namespaces, mode, purge.
void add_namespace_commands(CLI::App& app, Choice& choice);

/// larder sim.
void add_sim(CLI::App& app, Choice& choice);

}  // namespace larder
