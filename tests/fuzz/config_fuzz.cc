// A configuration from everywhere at once: the input's parts are a TOML file, variables of the
// environment and arguments. Whatever they say: no crash, no exception; an error has a text, and
// what was accepted is printed as a file that gives the same configuration again.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "actors/config.h"
#include "actors/config_keys.h"
#include "store/assert.h"
#include "tests/fuzz/reached.h"
#include "tests/temp_dir.h"

namespace larder {
namespace {

/// Between the parts of an input; TOML and flags have no use for it.
constexpr char kPart = '\x1e';
/// At a file's end: a comment of more than a file may have.
constexpr char kLong = '\x1d';
fuzz::Reached reached;

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(kPart, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

const test::TempDir& dir() {
  static const test::TempDir one(test::kShm);
  return one;
}

/// What is printed is a file that says the same.
void check_printed(const Config& config) {
  const std::string path = dir().file("printed.toml", to_toml(config));
  const auto again = load_config_file(path);
  LARDER_ASSERT(again.ok());
  LARDER_ASSERT(*again == config);
  LARDER_ASSERT(changed_keys(config, *again).empty());
}

void check_bytes(const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (bytes.ok()) LARDER_ASSERT(*parse_bytes(std::to_string(bytes->count)) == *bytes);
}

void check_reload(const Config& before, const Config& after) {
  Config changed = before;
  for (const ConfigKey* key : changed_keys(before, after))
    copy_key(changed, after, *key);
  LARDER_ASSERT(changed == after);
}

/// As a process that was started with `variables` sees them.
Environment environment_of(std::vector<std::string> variables) {
  std::vector<char*> entries;
  for (std::string& one : variables)
    entries.push_back(one.data());
  entries.push_back(nullptr);
  char** const own = std::exchange(environ, entries.data());
  Environment env = process_environment();
  environ = own;
  return env;
}

void run(std::string_view text) {
  std::vector<std::string> parts = parts_of(text);
  if (parts[0].ends_with(kLong)) parts[0].replace(parts[0].size() - 1, 1, 1 << 20, '#');
  const std::string path = dir().file("larder.toml", parts[0]);
  std::vector<const char*> argv = {"larderd"};
  std::vector<std::string> variables = {"HOME=/", "LARDER"};
  for (std::size_t n = 1; n < parts.size(); ++n) {
    check_bytes(parts[n]);
    if (parts[n].starts_with("LARDER_")) {
      variables.push_back(parts[n]);
    } else {
      argv.push_back(parts[n].c_str());
    }
  }
  Environment env = environment_of(std::move(variables));
  // Alone first: an argument or a variable that is wrong would hide the file.
  const auto file = load_config_file(path);
  if (file.ok()) {
    reached.past();
    check_printed(*file);
    check_reload(Config(), *file);
  } else {
    LARDER_ASSERT(!file.status().message().empty());
  }
  // Named in one of the two ways, unless the input names another.
  if (argv.size() % 2 == 0) {
    env.emplace("LARDER_CONFIG", path);
  } else {
    argv.push_back("--config");
    argv.push_back(path.c_str());
  }
  const Machine machine{.memory = Bytes{8ULL << 30}, .cores = 4, .uid = 1000};
  const auto all = load_config(static_cast<int>(argv.size()), argv.data(), env, machine);
  if (!all.ok()) {
    LARDER_ASSERT(!all.status().message().empty());
    return;
  }
  if (all->action == Invocation::Action::kPrint) return;
  check_printed(all->config);
  LARDER_ASSERT(all->config.host_bytes.count > 0 && all->config.shards > 0 &&
                all->config.io_threads > 0);
  (void)check_runtime_space(all->config, {.file_system = "/dev/shm", .free = Bytes{1ULL << 30}});
}

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  larder::reached.input();
  larder::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
