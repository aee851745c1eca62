#pragma once

#include <string_view>

namespace larder {

/// Whether a text is UTF-8: no stray or missing continuation, no overlong form, no surrogate,
/// nothing above U+10FFFF. O(length).
bool is_utf8(std::string_view text);

}  // namespace larder
