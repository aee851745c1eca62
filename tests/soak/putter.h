#pragma once

#include <atomic>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/soak/put_book.h"

namespace larder::soak {

/// How a putter's bytes travel.
enum class PutWay : std::uint8_t { kRegion, kAttach, kStaged, kTcp, kLayersShm, kLayersTcp };

/// Puts prompt after prompt, now and then removes an old one, and writes down what was
/// acknowledged.
///
/// What a dead daemon left unanswered is put again first, as an engine would. Used by one thread at
/// a time.
class Putter {
 public:
  struct Options {
    std::string socket, tcp;
    std::uint64_t first_prompt = 0;
    std::uint64_t seed = 0;
    PutWay way = PutWay::kRegion;
  };

  Putter(Options options, NamespaceSpec spec);

  /// Until `stop`; adds to `acknowledged` block by block.
  void run(const std::atomic<bool>& stop, std::atomic<std::uint64_t>& acknowledged);
  /// Ends its session; the next run() makes another. Else its client connects again by itself.
  void disconnect();
  PutBook& book() { return book_; }

 private:
  bool connect();
  PutPrompt& next();
  std::vector<KeyStatus> put(const Prompt& prompt);
  std::vector<KeyStatus> put_in_layers(const Prompt& prompt, std::span<const std::byte> memory);
  std::uint64_t note(PutPrompt& record, std::span<const KeyStatus> answered);
  void remove_one();

  Options options_;
  NamespaceSpec spec_;
  std::mt19937_64 rng_;
  std::unique_ptr<Client> client_;
  NamespaceId ns_{};
  std::span<std::byte> region_;
  std::vector<std::byte> heap_;
  PutBook book_;
};

}  // namespace larder::soak
