#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/soak/prompt.h"

namespace larder::soak {

/// What a daemon has said of one block: the model that it is held to after a restart.
enum class Fate : std::uint8_t {
  kNever,    ///< not asked for
  kUnknown,  ///< asked to be put or removed, and never answered: either is right
  kHeld,     ///< its put was acknowledged
  kRemoved,  ///< its removal was acknowledged
};

/// A prompt that was put in part or whole.
struct PutPrompt {
  std::uint64_t number = 0;
  std::array<Fate, Prompt::kBlocksMax> fates{};
  bool touched = true;  ///< put or removed since the last check
};

/// Prompts of the kill campaign: small blocks of six sizes, so that 100,000 fit a small machine;
/// the largest comes in chunks over tcp.
Prompt campaign_prompt(const NamespaceSpec& spec, std::uint64_t number);
inline constexpr std::uint64_t kCampaignBytesMean = 17'000;  ///< of slots, rounded up

/// The prompts of one putter, in order. Not thread-safe: its putter writes it while the daemon
/// lives, the check between two daemons.
struct PutBook {
  std::vector<PutPrompt> prompts;
  std::uint64_t acknowledged = 0;  ///< blocks
  std::uint64_t removed = 0;       ///< blocks
};

}  // namespace larder::soak
