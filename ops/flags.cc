#include "ops/flags.h"

#include "actors/config_keys.h"

namespace larder {

namespace {

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

}  // namespace

void add_size(CLI::App* sub, const char* flag, std::uint64_t& bytes, const char* help) {
  sub->add_option_function<std::string>(
         flag, [](const std::string&) {}, help)
      ->check(size_validator(bytes));
}

std::string not_empty(const std::string& value) {
  return value.empty() ? "it is empty; at least 1 character is needed" : "";
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
  sub->add_option("--tls-ca", options.tls_ca,
                  "PEM file of who vouches for larderd's certificate, or system: TLS 1.3 over TCP; "
                  "default: $LARDER_TLS_CA, else none");
  sub->add_option("--tls-name", options.tls_name,
                  "name that the certificate must be for; default: the server's host");
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

}  // namespace larder
