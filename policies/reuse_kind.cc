#include "policies/reuse_kind.h"

#include <algorithm>
#include <array>

namespace larder {

namespace {

/// How many of the bounds are at most `value`.
template <class T, std::size_t n>
std::uint32_t bucket(const std::array<T, n>& bounds, T value) {
  std::uint32_t out = 0;
  while (out < n && value >= bounds[out])
    out += 1;
  return out;
}

constexpr std::array<std::uint32_t, 5> kOutputTokens = {16, 64, 192, 384, 768};
constexpr std::array<std::uint32_t, 4> kPromptBlocks = {4, 12, 32, 80};
constexpr std::array<std::int64_t, 4> kGapSeconds = {10, 30, 90, 300};
constexpr std::array<std::uint32_t, 3> kNewBlocks = {2, 3, 7};
constexpr std::array<std::uint32_t, 3> kUses = {2, 3, 4};

}  // namespace

ReuseKind ReuseKind::of(const RequestContext* context, std::uint32_t position, std::uint32_t uses) {
  ReuseKind kind;
  kind.uses = bucket(kUses, uses);
  if (context == nullptr) {
    kind.span = bucket(kPromptBlocks, position + 1);
    return kind;
  }
  kind.continuing = context->continuing;
  kind.tail = position + 1 >= context->prompt_blocks;
  if (context->has_hint) kind.hint = position < context->hint_positions ? 1 : 2;
  if (!kind.continuing) {
    kind.span = bucket(kPromptBlocks, context->prompt_blocks);
    return kind;
  }
  const auto gap = std::chrono::duration_cast<std::chrono::seconds>(context->last_gap).count();
  kind.span = bucket(kGapSeconds, std::int64_t{gap});
  const std::uint32_t known = std::min(context->known_blocks, context->prompt_blocks);
  kind.news = bucket(kNewBlocks, context->prompt_blocks - known);
  return kind;
}

std::uint32_t ReuseKind::output_bucket(std::uint32_t tokens) {
  return bucket(kOutputTokens, tokens);
}

}  // namespace larder
