#include "store/utf8.h"

#include <cstdint>

namespace larder {

namespace {

/// Bytes behind a first byte; 4 when there is no such first byte.
int continuations(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xc2 && first < 0xe0) return 1;
  if (first >= 0xe0 && first < 0xf0) return 2;
  if (first >= 0xf0 && first < 0xf5) return 3;
  return 4;
}

bool is_code_point(std::uint32_t value, int continuations) {
  constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  return value >= kLeast[continuations] && value <= 0x10ffff && !surrogate;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at++]);
    const int behind = continuations(first);
    if (behind > 3 || text.size() - at < static_cast<std::size_t>(behind)) return false;
    std::uint32_t value = behind == 0 ? first : first & (0x3fU >> behind);
    for (int n = 0; n < behind; ++n) {
      const auto next = static_cast<unsigned char>(text[at++]);
      if ((next & 0xc0U) != 0x80) return false;
      value = value << 6 | (next & 0x3fU);
    }
    if (!is_code_point(value, behind)) return false;
  }
  return true;
}

}  // namespace larder
