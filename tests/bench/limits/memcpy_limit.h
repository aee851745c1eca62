#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "store/types.h"

namespace larder {

/// The machine's own limit for moving blocks between processes of one host: memcpy between two
/// areas larger than the caches, block after block, so that both sides are cold.
///
/// Owns nothing. Not thread-safe. `clock` is the caller's.
class MemcpyLimit {
 public:
  /// Areas of equal size, a multiple of `call_bytes`; a call copies blocks of `block_bytes`.
  MemcpyLimit(std::span<const std::byte> from, std::span<std::byte> to, std::size_t block_bytes,
              std::size_t call_bytes, Time (*clock)());
  /// Copies for `duration` (at least one call) and answers bytes a second.
  double round(Duration duration);

 private:
  std::span<const std::byte> from_;
  std::span<std::byte> to_;
  std::size_t block_bytes_;
  std::size_t call_bytes_;
  Time (*clock_)();
  std::size_t at_ = 0;
};

}  // namespace larder
