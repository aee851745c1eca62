#pragma once

#include <cstdint>

#include "store/eviction_policy.h"

namespace larder {

/// What is known of a block at its last use that tells how likely it is used again. Each field is a
/// bucket.
struct ReuseKind {
  static constexpr std::uint32_t kUnknownOutput = 6;
  static constexpr std::uint32_t kCoarse = 4 * 2 * 2 * 3;
  static constexpr std::uint32_t kMiddle = kCoarse * 5 * 4;
  static constexpr std::uint32_t kFine = kMiddle * (kUnknownOutput + 1);
  static constexpr std::uint32_t middle_of(std::uint32_t fine) {
    return fine / (kUnknownOutput + 1);
  }
  static constexpr std::uint32_t coarse_of(std::uint32_t middle) { return middle / (5 * 4); }

  std::uint32_t uses = 0;                 ///< requests that referred to it: 1, 2, 3, more
  bool continuing = false;                ///< the prompt goes on where a session stood
  bool tail = false;                      ///< the prompt's last block, often a partial one
  std::uint32_t hint = 0;                 ///< none; to be used again; not to be
  std::uint32_t span = 0;                 ///< continuing: the gap before it; else blocks of prompt
  std::uint32_t news = 0;                 ///< continuing: blocks that were not known
  std::uint32_t output = kUnknownOutput;  ///< tokens, once the request has ended

  /// `context` is null when nothing is known of a prompt.
  static ReuseKind of(const RequestContext* context, std::uint32_t position, std::uint32_t uses);
  static std::uint32_t output_bucket(std::uint32_t tokens);

  /// Numbers below kFine, kMiddle and kCoarse: a finer kind is one of a broader one.
  std::uint32_t fine() const { return middle() * (kUnknownOutput + 1) + output; }
  std::uint32_t middle() const { return (coarse() * 5 + span) * 4 + news; }
  std::uint32_t coarse() const {
    return ((uses * 2 + (continuing ? 1 : 0)) * 2 + (tail ? 1 : 0)) * 3 + hint;
  }
};

}  // namespace larder
