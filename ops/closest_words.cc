#include "ops/closest_words.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace larder {

namespace {

constexpr std::size_t kEditsMax = 3;

/// Levenshtein's, a row at a time.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> closest_words(std::string_view typed,
                                       const std::vector<std::string>& words) {
  std::size_t fewest = kEditsMax;
  std::vector<std::string> closest;
  for (const std::string& word : words) {
    // A word of which nothing is left is not near.
    const std::size_t count = edits(typed, word);
    if (count > fewest || count >= std::max(typed.size(), word.size())) continue;
    if (count < fewest) closest.clear();
    fewest = count;
    closest.push_back(word);
  }
  return closest;
}

}  // namespace larder
