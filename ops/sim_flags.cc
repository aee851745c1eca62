// Flags of `larder sim`.

#include "ops/flags.h"
#include "ops/sim.h"

namespace larder {

void add_sim(CLI::App& app, Choice& choice) {
  auto sim = std::make_shared<SimCommand>();
  CLI::App* sub = add_command(
      app, choice, "sim",
      "what policies would do with a trace: hit rates, inserts, the LRU-to-optimum gap closed",
      "larder sim --policy lru,haz,min --capacity curve:20 --plot curves.html "
      "tests/data/traces/conversation_trace.jsonl.zst",
      sim);
  sub->add_option("trace", sim->traces,
                  "Mooncake open format or CSV (timestamp,input_length,output_length,hash_ids; ids "
                  "with spaces between them); also .zst")
      ->required();
  sub->add_option("--policy", sim->policies,
                  "by commas: haz, lru, s3fifo, sieve, lfu, fifo, watermark; min is the optimum")
      ->capture_default_str();
  sub->add_option("--capacity", sim->capacities,
                  "by commas: blocks, bytes with a unit, or curve:N (N of them up to all blocks)")
      ->capture_default_str();
  add_size(sub, "--block-bytes", sim->block_bytes.count, "bytes of a block [64KiB]");
  sub->add_option("--hints", sim->hints,
                  "oracle:ERR[:SEED]: how many leading positions are used again, wrong with "
                  "probability ERR");
  sub->add_option("--limit", sim->limit, "requests of each trace; 0: all")->capture_default_str();
  sub->add_flag("--tenants", sim->tenants, "the traces play together, each a tenant of one cache");
  sub->add_option("--sample", sim->sample, "SHARDS: play this part of the blocks, for long traces")
      ->capture_default_str();
  sub->add_option("--plot", sim->plot, "write miss-ratio curves to this HTML file");
  add_json(sub, sim->json);
}

}  // namespace larder
