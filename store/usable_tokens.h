#pragma once

#include <span>
#include <vector>

#include "store/namespace_spec.h"

namespace larder {

/// Presence of one group's blocks along a chain: element n is 1 when block n is there on every
/// rank.
using GroupPresence = std::vector<std::uint8_t>;

/// The longest prefix, in tokens, that a reader can use: at that boundary B each full group has all
/// of its blocks below B, each window group the blocks covering the last W tokens before B, and
/// each state group the state that ends exactly at B. B is a multiple of every group's
/// `block_tokens`; 0 when nothing is usable. O(blocks).
std::uint32_t usable_tokens(const NamespaceSpec& spec, std::span<const GroupPresence> groups);

}  // namespace larder
