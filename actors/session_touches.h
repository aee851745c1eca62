#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "actors/node_context.h"
#include "actors/session_lookup.h"
#include "actors/shard_calls.h"

namespace larder {

/// Touches that one session's calls made and no shard knows yet, gathered so that a get costs no
/// message. Sent before the session's next reservation, after kTouchStep, and on its timer.
///
/// One io thread. `node` outlives it.
class TouchBook {
 public:
  explicit TouchBook(NodeContext& node) : node_(node) {}

  /// The keys of one call, the most lasting first.
  void add(std::span<const LocatedKey> keys, std::optional<RequestId> request = std::nullopt);
  void flush();

 private:
  NodeContext& node_;
  std::vector<std::shared_ptr<TouchNote>> notes_;  ///< by shard; null: nothing to tell
  std::optional<RequestId> request_;
  std::size_t touches_ = 0;
};

}  // namespace larder
