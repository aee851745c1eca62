// Flags of larder bench.

#include "actors/config_keys.h"
#include "ops/bench.h"
#include "ops/flags.h"

namespace larder {

namespace {

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

}  // namespace

void add_bench_commands(CLI::App& app, Choice& choice) {
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
  sub->add_option("--load-clients", match->load_clients,
                  "connections of that process, each with a put under way")
      ->capture_default_str();
  sub->add_option("--load-token", match->load_token,
                  "that process puts for the tenant of this token; it needs the right admin");
  add_bench_flags(sub, *match);
}

}  // namespace larder
