#include "store/hash_text.h"

#include <fmt/format.h>

namespace larder {

std::string hash_text(const BlockHash& hash) {
  std::string out;
  for (const std::uint64_t half : {hash.high, hash.low}) {
    for (int shift = 0; shift < 64; shift += 8)
      out += fmt::format("{:02x}", half >> shift & 0xff);
  }
  return out;
}

}  // namespace larder
