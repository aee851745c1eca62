#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <toml++/toml.h>

#include "actors/config.h"
#include "actors/config_keys.h"
#include "store/status_macros.h"

namespace larder {
namespace {

constexpr std::uintmax_t kFileBytesMax = 1 << 20;
constexpr const char* kVersion = "larderd 0.1.0";

absl::Status from(const std::string& source, const absl::Status& status) {
  return {status.code(), fmt::format("{}: {}", source, std::string(status.message()))};
}

/// The text that the key's own parser takes, so that a file and a flag mean the same; nothing when
/// the value is not of the key's type.
struct PlainText {
  const toml::node& node;

  std::optional<std::string> operator()(std::string Config::* /*member*/) const {
    const auto* text = node.as_string();
    return text == nullptr ? std::nullopt : std::optional(text->get());
  }
  std::optional<std::string> operator()(bool Config::* /*member*/) const {
    const auto* truth = node.as_boolean();
    if (truth == nullptr) return std::nullopt;
    return truth->get() ? "true" : "false";
  }
  std::optional<std::string> operator()(std::uint32_t Config::* /*member*/) const {
    return number();
  }
  std::optional<std::string> operator()(Bytes Config::* /*member*/) const {
    const auto* text = node.as_string();
    return text == nullptr ? number() : std::optional(text->get());
  }

 private:
  std::optional<std::string> number() const {
    if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
    if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
    return std::nullopt;
  }
};

const char* type_of(const ConfigKey& key) {
  constexpr std::array<const char*, std::variant_size_v<ConfigKey::Member>> kTypes = {
      "a text, in quotes", "a number, or a text such as \"4GiB\"", "a number, without quotes",
      "true or false, without quotes"};
  return kTypes.at(key.member.index());
}

absl::Status apply_table(Config& config, const std::string& path, const toml::table& table) {
  for (const auto& [name, node] : table) {
    const std::string key_name(name.str());
    const std::string where = fmt::format("{}:{}", path, node.source().begin.line);
    const ConfigKey* key = find_config_key(key_name);
    if (key == nullptr) {
      return absl::InvalidArgumentError(fmt::format("{}: unknown key {}", where, key_name));
    }
    const auto value = std::visit(PlainText{node}, key->member);
    if (!value) {
      return absl::InvalidArgumentError(
          fmt::format("{}: {}: must be {}", where, key_name, type_of(*key)));
    }
    if (absl::Status status = assign(config, *key, *value); !status.ok()) {
      return from(where, status);
    }
  }
  return absl::OkStatus();
}

absl::Status apply_file(Config& config, const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return absl::NotFoundError(fmt::format("{}: {}", path, error.message()));
  if (size > kFileBytesMax) {
    return absl::InvalidArgumentError(
        fmt::format("{}: has {} bytes, must be at most {}", path, size, kFileBytesMax));
  }
  try {
    return apply_table(config, path, toml::parse_file(path));
  } catch (const toml::parse_error& parse) {
    return absl::InvalidArgumentError(fmt::format("{}:{}: {}", path, parse.source().begin.line,
                                                  std::string(parse.description())));
  }
}

/// Variables that are no keys but may stand in larderd's environment all the same: its file, what
/// clients, tests and scripts are told, and what Kubernetes says of a service named larder.
bool is_of_others(const std::string& name) {
  for (const char* known : {"LARDER_CONFIG", "LARDER_SERVER", "LARDER_TOKEN", "LARDER_CRASH_AT",
                            "LARDER_JOBS", "LARDER_PORT"}) {
    if (name == known) return true;
  }
  return name.starts_with("LARDER_SERVICE_") || name.starts_with("LARDER_PORT_");
}

absl::Status apply_environment(Config& config, const Environment& env) {
  for (const auto& [name, value] : env) {
    const auto keys = config_keys();
    const auto key = std::find_if(keys.begin(), keys.end(), [&name = name](const ConfigKey& one) {
      return one.env() == name;
    });
    if (key == keys.end()) {
      if (is_of_others(name)) continue;
      return absl::InvalidArgumentError(fmt::format(
          "{}: no such variable; unset it, or see --help: each flag --a-b is LARDER_A_B", name));
    }
    if (absl::Status status = assign(config, *key, value); !status.ok()) {
      return from(name, status);
    }
  }
  return absl::OkStatus();
}

/// What stood on the command line, before any of it was believed.
struct Flags {
  std::string config_file;
  bool print_config = false;
  std::map<std::string, std::string> values;  // by key
};

void declare(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config_file, "TOML file; see --print-config");
  app.add_flag("--print-config", flags.print_config, "print the configuration in effect and exit");
  app.set_version_flag("--version", kVersion);
  for (const ConfigKey& key : config_keys()) {
    const std::string name = key.name;
    const auto keep = [&flags, name](const std::string& value) { flags.values[name] = value; };
    const std::string bounds = std::holds_alternative<std::uint32_t Config::*>(key.member)
                                   ? fmt::format("; {} to {}", key.min, key.max)
                                   : "";
    const std::string help = fmt::format("{}{} [default: {}]{}", key.help, bounds,
                                         toml_value(Config{}, key), key.live ? " [live]" : "");
    if (std::holds_alternative<bool Config::*>(key.member)) {
      app.add_flag_function(
          key.flag(),
          [&flags, name](std::int64_t n) { flags.values[name] = n > 0 ? "true" : "false"; }, help);
    } else {
      app.add_option_function<std::string>(key.flag(), keep, help)->type_name("VALUE");
    }
  }
  app.footer(
      "Later wins: defaults, --config FILE, LARDER_<KEY> in the environment, flags.\n"
      "SIGHUP reads all of it, and the token file, again; keys marked [live] change at once.\n"
      "Example: larderd --listen 127.0.0.1:7440 --host-bytes 4GiB");
}

absl::Status apply_flags(Config& config, const Flags& flags) {
  for (const auto& [name, value] : flags.values) {
    const ConfigKey* key = find_config_key(name);
    if (absl::Status status = assign(config, *key, value); !status.ok()) {
      return from(key->flag(), status);
    }
  }
  return absl::OkStatus();
}

/// Nothing when the flags were read; else the text of --help or --version.
absl::StatusOr<std::optional<std::string>> parse_flags(int argc, const char* const* argv,
                                                       Flags& flags) {
  CLI::App app{"larderd: keeps the KV cache of prompts and serves it to the workers of a host"};
  app.name("larderd");
  declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::CallForVersion&) {
    return std::string(kVersion) + "\n";
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(fmt::format("{} (--help lists the flags)", error.what()));
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Invocation> load_config(int argc, const char* const* argv, const Environment& env,
                                       const Machine& machine) {
  Flags flags;
  LARDER_ASSIGN_OR_RETURN(const auto text, parse_flags(argc, argv, flags));
  if (text) return Invocation{.action = Invocation::Action::kPrint, .config = {}, .text = *text};

  Config config;
  const auto named = env.find("LARDER_CONFIG");
  if (flags.config_file.empty() && named != env.end()) flags.config_file = named->second;
  if (!flags.config_file.empty()) LARDER_RETURN_IF_ERROR(apply_file(config, flags.config_file));
  LARDER_RETURN_IF_ERROR(apply_environment(config, env));
  LARDER_RETURN_IF_ERROR(apply_flags(config, flags));
  LARDER_RETURN_IF_ERROR(config.validate());
  config = resolved(std::move(config), machine);
  if (flags.print_config) {
    return Invocation{
        .action = Invocation::Action::kPrint, .config = config, .text = to_toml(config)};
  }
  return Invocation{.action = Invocation::Action::kRun, .config = std::move(config), .text = {}};
}

absl::StatusOr<Config> load_config_file(const std::string& path) {
  Config config;
  LARDER_RETURN_IF_ERROR(apply_file(config, path));
  if (absl::Status status = config.validate(); !status.ok()) return from(path, status);
  return config;
}

}  // namespace larder
