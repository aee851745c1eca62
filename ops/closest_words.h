#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace larder {

/// Which of `words` may have been meant by `typed`: those that the fewest insertions, deletions and
/// replacements of a letter make of it, three at most. In the order of `words`; empty when none is
/// near.
std::vector<std::string> closest_words(std::string_view typed,
                                       const std::vector<std::string>& words);

}  // namespace larder
