#pragma once

#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/soak/counts.h"
#include "tests/soak/prompt.h"

namespace larder::soak {

/// What a worker calls with: a client that is connected, the prompts of all workers and a seed.
struct WorkerClient {
  static constexpr std::size_t kMemory = 4 << 20;
  static constexpr std::uint64_t kPrompts = 128;  ///< shared by all workers; more than fit

  WorkerClient(Counts& counts_of, std::uint64_t seed);
  /// Until it is connected or told to stop (false).
  bool connect(const std::string& server);

  std::uint64_t below(std::uint64_t bound) { return rng() % bound; }
  /// One that other workers use too.
  Prompt shared_prompt() { return prompt(below(kPrompts)); }
  /// One that nobody else ever uses.
  Prompt own_prompt() { return prompt(next_own++); }
  /// The memory that a put comes from: registered, or not.
  std::span<std::byte> put_memory(const Prompt& of);

  Counts& counts;
  NamespaceSpec spec = prompt_spec("soak");
  std::mt19937_64 rng;
  std::uint64_t next_own;
  std::unique_ptr<Client> client;
  NamespaceId ns{};
  std::vector<std::byte> heap, places;
  std::span<std::byte> region;

 private:
  Prompt prompt(std::uint64_t number) const;
};

}  // namespace larder::soak
