#include "actors/config.h"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <stdlib.h>

#include "actors/config_keys.h"
#include "tests/temp_dir.h"

namespace larder::config_test {
namespace {

using namespace literals;

const Machine kMachine{.memory = 16_GiB, .cores = 8, .uid = 1000};
using Variables = Environment;

absl::StatusOr<Invocation> load(std::vector<const char*> flags, const Variables& variables = {},
                                const Machine& machine = kMachine) {
  flags.insert(flags.begin(), "larderd");
  return load_config(static_cast<int>(flags.size()), flags.data(), variables, machine);
}

Config config_of(std::vector<const char*> flags, const Variables& variables = {},
                 const Machine& machine = kMachine) {
  const auto loaded = load(std::move(flags), variables, machine);
  BOOST_REQUIRE_MESSAGE(loaded.ok(), loaded.status());
  return loaded->config;
}

std::string error_of(std::vector<const char*> flags, const Variables& variables = {}) {
  return std::string(load(std::move(flags), variables).status().message());
}

std::string file_error(const std::string& text) {
  const test::TempDir directory;
  const auto config = load_config_file(directory.file("c", text));
  const std::string message(config.status().message());
  return message.substr(std::min(message.size(), directory.path().size() + 3));
}

std::string other_tls_line(const std::string& name) {
  return name == "tls_cert" ? "tls_key = \"/x\"\n" : "tls_cert = \"/x\"\n";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(config)

BOOST_AUTO_TEST_CASE(runs_without_any_argument) {
  const Config config = config_of({});

  BOOST_TEST(config.listen == "127.0.0.1:7440");
  BOOST_TEST(config.http == "127.0.0.1:7441");
  BOOST_TEST(config.runtime_dir == "/dev/shm/larder-1000");
  BOOST_TEST(!config.socket.empty());
  BOOST_TEST(config.host_bytes == 4_GiB);
  BOOST_TEST(config.shards == 4U);
  BOOST_TEST(config.io_threads == 2U);
}

BOOST_AUTO_TEST_CASE(defaults_follow_the_machine_within_their_bounds) {
  const Config small = config_of({}, {}, {.memory = 1_GiB, .cores = 1, .uid = 0});
  BOOST_TEST(small.host_bytes == 256_MiB);
  BOOST_TEST(small.shards == 1U);
  BOOST_TEST(small.io_threads == 1U);

  const Config large = config_of({}, {}, {.memory = 4096_GiB, .cores = 192, .uid = 0});
  BOOST_TEST(large.host_bytes == 8_GiB);
  BOOST_TEST(large.shards == 8U);
  BOOST_TEST(large.io_threads == 8U);

  const Config odd = config_of({}, {}, {.memory = {1'000'000'001}, .cores = 4, .uid = 0});
  BOOST_TEST(odd.host_bytes.count % 4096 == 0U);
  BOOST_TEST(odd.io_threads == 1U);
}

BOOST_AUTO_TEST_CASE(later_sources_win) {
  const test::TempDir directory;
  const std::string file =
      directory.file("larder.toml", "spin_us = 1\nlease_ms = 1001\nheartbeat_ms = 1002\n");
  const Variables variables{{"LARDER_LEASE_MS", "2001"}, {"LARDER_HEARTBEAT_MS", "2002"}};

  const Config config = config_of({"--config", file.c_str(), "--heartbeat-ms", "3002"}, variables);

  BOOST_TEST(config.spin_us == 1U);
  BOOST_TEST(config.lease_ms == 2001U);
  BOOST_TEST(config.heartbeat_ms == 3002U);
  BOOST_TEST(config.max_sessions == 1024U);
}

BOOST_AUTO_TEST_CASE(the_file_may_be_named_in_the_environment) {
  const test::TempDir directory;
  const std::string file = directory.file("larder.toml", "spin_us = 7\n");
  BOOST_TEST(config_of({}, {{"LARDER_CONFIG", file}}).spin_us == 7U);
}

BOOST_AUTO_TEST_CASE(every_key_is_a_flag_a_variable_and_a_toml_key) {
  for (const ConfigKey& key : config_keys()) {
    Config changed;
    std::string value = "/x";
    if (key.choices[0] != '\0') {
      value = std::string(key.choices).substr(std::string(key.choices).rfind('|') + 1);
    } else if (key.text == ConfigKey::Text::kAddress) {
      value = "127.0.0.1:9";
    } else if (std::holds_alternative<bool Config::*>(key.member)) {
      value = "true";
    } else if (!std::holds_alternative<std::string Config::*>(key.member)) {
      value = std::to_string(key.max);
    }
    BOOST_REQUIRE(assign(changed, key, value).ok());
    const std::string flag = key.flag() + "=" + value;
    // These two are nothing without each other.
    const bool is_tls = std::string(key.name).starts_with("tls_");
    const Variables pair =
        is_tls ? Variables{{"LARDER_TLS_CERT", "/x"}, {"LARDER_TLS_KEY", "/x"}} : Variables{};
    Variables variables = pair;
    variables[key.env()] = value;
    Config both = changed;
    if (is_tls) both.tls_cert = both.tls_key = "/x";
    const Config expected = resolved(both, kMachine);

    BOOST_TEST_CONTEXT(key.name) {
      BOOST_TEST((config_of({flag.c_str()}, pair) == expected));
      BOOST_TEST((config_of({}, variables) == expected));
      const test::TempDir directory;
      const auto file =
          load_config_file(directory.file("c", key.name + (" = " + toml_value(both, key)) + "\n" +
                                                   (is_tls ? other_tls_line(key.name) : "")));
      BOOST_REQUIRE(file.ok());
      BOOST_TEST((*file == both));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_print_config_prints_loads_as_the_same) {
  const auto printed = load({"--print-config", "--host-bytes", "655360000", "--log-file",
                             R"(/tmp/a "b" \c)", "--allow-trace-time"});
  BOOST_REQUIRE(printed.ok());
  BOOST_TEST((printed->action == Invocation::Action::kPrint));
  const test::TempDir directory;

  const auto again = load_config_file(directory.file("c", printed->text));

  BOOST_REQUIRE_MESSAGE(again.ok(), again.status());
  BOOST_TEST((*again == printed->config));
  BOOST_TEST(again->host_bytes == Bytes{655'360'000});
  BOOST_TEST(again->allow_trace_time);
}

BOOST_AUTO_TEST_CASE(help_and_version_are_printed_not_run) {
  const auto help = load({"--help"});
  const auto version = load({"--version"});

  BOOST_REQUIRE(help.ok());
  BOOST_TEST((help->action == Invocation::Action::kPrint));
  BOOST_TEST(help->text.find("--host-bytes") != std::string::npos);
  BOOST_TEST(help->text.find("Example: larderd") != std::string::npos);
  BOOST_REQUIRE(version.ok());
  BOOST_TEST(version->text.find("larderd ") == 0U);
}

BOOST_AUTO_TEST_CASE(a_bad_value_names_source_key_value_and_bound) {
  BOOST_TEST(error_of({"--shards", "65"}) == "--shards: shards = 65: must be 0 to 64");
  BOOST_TEST(error_of({"--shards", "-1"}) ==
             "--shards: shards = -1: must be a whole number, 0 to 64");
  BOOST_TEST(error_of({"--spin-us", "fast"}) ==
             "--spin-us: spin_us = fast: must be a whole number, 0 to 10000");
  BOOST_TEST(error_of({"--policy", "mru"}) ==
             "--policy: policy = mru: must be one of lru|haz|s3fifo|sieve|lfu|fifo");
  BOOST_TEST(error_of({"--log-format", "xml"}) ==
             "--log-format: log_format = xml: must be one of text|json");
  BOOST_TEST(error_of({"--attach", "on"}) == "--attach: attach = on: must be one of auto|off");
  BOOST_TEST(error_of({"--pin-quota-percent", "101"}) ==
             "--pin-quota-percent: pin_quota_percent = 101: must be 0 to 100");
  BOOST_TEST(error_of({"--lease-ms", "99"}) == "--lease-ms: lease_ms = 99: must be 100 to 3600000");
  BOOST_TEST(error_of({"--max-sessions", "0"}) ==
             "--max-sessions: max_sessions = 0: must be 1 to 4096");
  BOOST_TEST(error_of({"--listen", "7440"}) ==
             "--listen: listen = 7440: must be HOST:PORT, with a port of 0 to 65535");
  BOOST_TEST(error_of({"--listen", "127.0.0.1:70000"}) ==
             "--listen: listen = 127.0.0.1:70000: must be HOST:PORT, with a port of 0 to 65535");
  BOOST_TEST(error_of({}, {{"LARDER_SHARDS", "x"}}) ==
             "LARDER_SHARDS: shards = x: must be a whole number, 0 to 64");
  BOOST_TEST(error_of({}, {{"LARDER_ALLOW_TRACE_TIME", "yes"}}) ==
             "LARDER_ALLOW_TRACE_TIME: allow_trace_time = yes: must be true or false");
  const std::string path(108, 'p');
  BOOST_TEST(error_of({"--socket", path.c_str()}) ==
             "--socket: socket = " + path + ": has 108 bytes, a socket path may have 107");
  BOOST_TEST(error_of({"--log-file", "a\nb"}) == "--log-file: log_file = a\\nb: must be one line");
}

BOOST_AUTO_TEST_CASE(sizes_take_units_and_have_bounds) {
  BOOST_TEST(config_of({"--host-bytes", "655360000"}).host_bytes == Bytes{655'360'000});
  BOOST_TEST(config_of({"--host-bytes", "64M"}).host_bytes == 64_MiB);
  BOOST_TEST(config_of({"--host-bytes", "1.5GiB"}).host_bytes == 1536_MiB);
  BOOST_TEST(config_of({"--host-bytes", "2048 KiB"}).host_bytes == 2_MiB);
  BOOST_TEST(error_of({"--host-bytes", "512K"}) ==
             "--host-bytes: host_bytes = 512K: must be 1048576 to 70368744177664 (or 0)");
  BOOST_TEST(error_of({"--host-bytes", "many"}) ==
             "--host-bytes: host_bytes = many: must be a number of bytes, with K M G T or KiB MiB "
             "GiB TiB behind it");
  BOOST_TEST(error_of({"--host-bytes", "4GB"}) ==
             "--host-bytes: host_bytes = 4GB: must be a number of bytes, with K M G T or KiB MiB "
             "GiB TiB behind it");
  BOOST_TEST(error_of({"--host-bytes", "0.3K"}) ==
             "--host-bytes: host_bytes = 0.3K: must be whole bytes");
  for (const char* bad : {"", "-1", "inf", "nan", "1e9", "0x10", "1 2", "KiB"}) {
    BOOST_TEST(!parse_bytes(bad).ok(), bad);
  }
}

BOOST_AUTO_TEST_CASE(unknown_flags_and_stray_words_are_errors) {
  BOOST_TEST(error_of({"--host-byte", "1"}).find("--host-byte") != std::string::npos);
  BOOST_TEST(error_of({"start"}).find("start") != std::string::npos);
  BOOST_TEST(error_of({"--shards"}).find("--shards") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(unknown_variables_are_errors_but_for_those_of_others) {
  BOOST_TEST(error_of({}, {{"LARDER_HOST_BYTE", "1"}}).find("LARDER_HOST_BYTE: no such variable") ==
             0U);
  BOOST_TEST(!error_of({}, {{"LARDER_", ""}}).empty());
  BOOST_TEST(load({}, {{"LARDER_SERVER", "/s"},
                       {"LARDER_TOKEN", "t"},
                       {"LARDER_PORT", "tcp://10.0.0.1:7440"},
                       {"LARDER_PORT_7440_TCP", "tcp://10.0.0.1:7440"},
                       {"LARDER_SERVICE_HOST", "10.0.0.1"}})
                 .ok());
}

BOOST_AUTO_TEST_CASE(the_processs_variables_are_those_with_our_name) {
  ::setenv("LARDER_SPIN_US", "7", 1);

  const Environment found = process_environment();

  BOOST_TEST(found.at("LARDER_SPIN_US") == "7");
  BOOST_TEST(!found.contains("PATH"));
  ::unsetenv("LARDER_SPIN_US");
}

BOOST_AUTO_TEST_CASE(help_tells_defaults_and_bounds_of_threads) {
  const auto help = load({"--help"});
  BOOST_REQUIRE(help.ok());
  std::string flat;  // as it was before lines were broken
  for (const char c : help->text) {
    const bool space = c == ' ' || c == '\n';
    if (!space || flat.empty() || flat.back() != ' ') flat += space ? ' ' : c;
  }

  for (const char* part :
       {"0: one for each two cores, at least 1 and at most 8; 0 to 64 [default: 0]",
        "0: one up to 4 cores, else one for each 4, at most 8; 0 to 64 [default: 0]"}) {
    BOOST_TEST(flat.find(part) != std::string::npos, part);
  }
}

BOOST_AUTO_TEST_CASE(a_bad_file_is_named_with_the_line) {
  BOOST_TEST(file_error("spin_us = 5\n\nhost_byte = 7\n") == "3: unknown key host_byte");
  BOOST_TEST(file_error("shards = 99\n") == "1: shards = 99: must be 0 to 64");
  BOOST_TEST(file_error("shards = 2.5\n") == "1: shards = 2.5: must be a whole number, 0 to 64");
  BOOST_TEST(file_error("shards = [1]\n") == "1: shards: must be a number, without quotes");
  BOOST_TEST(file_error("[listen]\nport = 1\n") == "1: listen: must be a text, in quotes");
  BOOST_TEST(file_error("spin_us = 5\nspin_us = 6\n").find("2: ") == 0U);
  BOOST_TEST(file_error("spin_us 5\n").find("1: ") == 0U);
  BOOST_TEST(std::string(load_config_file("/nowhere/c.toml").status().message()) ==
             "/nowhere/c.toml: No such file or directory");
}

BOOST_AUTO_TEST_CASE(a_value_of_another_type_is_an_error_for_every_key) {
  for (const ConfigKey& key : config_keys()) {
    const bool is_text = std::holds_alternative<std::string Config::*>(key.member);
    const bool is_size = std::holds_alternative<Bytes Config::*>(key.member);
    const std::vector<const char*> wrong = is_text   ? std::vector{"5", "0.5", "true", "[]"}
                                           : is_size ? std::vector{"true", "[]"}
                                                     : std::vector{"\"5\"", "\"true\"", "[]"};
    for (const char* value : wrong) {
      const std::string error = file_error(fmt::format("{} = {}\n", key.name, value));
      BOOST_TEST(error.starts_with(fmt::format("1: {}: must be ", key.name)), error);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_address_that_is_not_loopback_needs_a_token_file) {
  BOOST_TEST(error_of({"--listen", "0.0.0.0:7440"}) ==
             "listen = 0.0.0.0:7440: is not a loopback address, which needs a token_file");
  BOOST_TEST(config_of({"--listen", "0.0.0.0:1", "--token-file", "/t"}).listen == "0.0.0.0:1");
  for (const char* address : {"127.8.9.1:1", "[::1]:1", "localhost:1", "off", ""}) {
    BOOST_TEST(load({"--listen", address}).ok(), address);
  }
}

BOOST_AUTO_TEST_CASE(http_is_for_loopback_whatever_the_token_file) {
  for (const char* address : {"0.0.0.0:7441", "[2001:db8::1]:80", "10.1.2.3:1", "node-3:7441"}) {
    const std::string bare = error_of({"--http", address});
    const std::string with_tokens = error_of({"--http", address, "--token-file", "/t"});

    BOOST_TEST(bare.find(std::string("http = ") + address + ": must be a loopback address") == 0U);
    BOOST_TEST(bare.find("SSH tunnel") != std::string::npos);
    BOOST_TEST(with_tokens == bare);
  }
  for (const char* address : {"127.8.9.1:1", "[::1]:1", "localhost:1", "off", ""}) {
    BOOST_TEST(load({"--http", address}).ok(), address);
  }
}

BOOST_AUTO_TEST_CASE(something_must_listen) {
  BOOST_TEST(error_of({"--listen", "off", "--socket", "off"}) ==
             "listen = off and socket = off: nothing to listen on");
}

BOOST_AUTO_TEST_CASE(a_runtime_directory_that_is_too_small_names_need_room_and_remedies) {
  const Config config = config_of({"--host-bytes", "1GiB"});

  const absl::Status status =
      check_runtime_space(config, {.file_system = "/dev/shm", .free = 64_MiB, .held = {0}});

  BOOST_TEST(status.code() == absl::StatusCode::kResourceExhausted);
  const std::string message(status.message());
  for (const char* part : {"host_bytes = 1073741824", "67108864 (64.0 MiB)", "/dev/shm",
                           "--shm-size", "--runtime-dir", "--host-bytes"}) {
    BOOST_TEST(message.find(part) != std::string::npos, part);
  }
}

BOOST_AUTO_TEST_CASE(what_an_earlier_run_left_counts_as_room) {
  const Config config = config_of({"--host-bytes", "1GiB"});
  const RuntimeSpace space{.file_system = "/dev/shm", .free = 64_MiB, .held = 1024_MiB};
  BOOST_TEST(check_runtime_space(config, space).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::config_test
