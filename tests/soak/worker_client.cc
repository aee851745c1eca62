#include "tests/soak/worker_client.h"

namespace larder::soak {

WorkerClient::WorkerClient(Counts& counts_of, std::uint64_t seed)
    : counts(counts_of),
      rng(seed),
      next_own((1ULL << 40) + (seed << 16) % (1ULL << 56)),
      heap(kMemory),
      places(kMemory) {}

Prompt WorkerClient::prompt(std::uint64_t number) const {
  struct Shape {
    std::uint32_t blocks, bytes;
  };
  constexpr Shape kShapes[] = {{16, 4'096}, {16, 65'536}, {16, 20'000}, {8, 262'144}, {3, 1 << 20}};
  const Shape& shape = kShapes[number % std::size(kShapes)];
  return {spec, number, shape.blocks, shape.bytes};
}

std::span<std::byte> WorkerClient::put_memory(const Prompt& of) {
  const std::span<std::byte> from = region.empty() || below(2) == 0 ? heap : region;
  return from.first(of.memory_bytes());
}

bool WorkerClient::connect(const std::string& server) {
  Client::Options options;
  options.server = server;
  options.deadline = std::chrono::seconds(2);
  options.connect_deadline = std::chrono::milliseconds(200);
  options.allow_attach = below(2) == 0;
  while (!counts.stop()) {
    auto made = Client::connect(options);
    if (!made.ok()) continue;
    const auto opened = (*made)->open_namespace(spec);
    if (!opened.ok()) continue;
    if (const auto memory = (*made)->allocate_region(kMemory); memory.ok()) region = *memory;
    ns = *opened;
    client = *std::move(made);
    return true;
  }
  return false;
}

}  // namespace larder::soak
