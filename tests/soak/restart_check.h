#pragma once

#include <cstdint>
#include <random>

#include "tests/soak/put_book.h"

namespace larder::soak {

/// What the blocks of the books turned out to be, summed over all checks.
struct CheckCounts {
  std::uint64_t gets = 0;      ///< blocks asked for
  std::uint64_t hits = 0;      ///< and served, every byte compared
  std::uint64_t wrong = 0;     ///< a hit of other bytes than were put
  std::uint64_t lost = 0;      ///< acknowledged, and not a hit
  std::uint64_t returned = 0;  ///< its removal was acknowledged, and it is a hit
  std::uint64_t half_known =
      0;  ///< unanswered, and a hit: a commit that the kill cut from its reply
};

/// Gets blocks of `book` and compares them with what was acknowledged: those of prompts that were
/// touched since the last check, and of others one in `others_one_in`, drawn from `rng`. An
/// unanswered block that is a hit is held to it from now on, one that is a miss may still be put.
/// False when a call failed as a whole.
bool check_book(Client& client, const NamespaceSpec& spec, PutBook& book, std::mt19937_64& rng,
                std::uint64_t others_one_in, CheckCounts& counts);

}  // namespace larder::soak
