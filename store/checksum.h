#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace larder {

/// XXH3-64 of a block's bytes, as it stands in headers and on the wire. Runs near memory speed;
/// not thread-bound, does not allocate, cannot fail.
std::uint64_t checksum(std::span<const std::byte> bytes);

/// The same over bytes that come in pieces: equal bytes give an equal digest, however they are cut.
///
/// Owns its state in place (no heap). Not thread-safe. Copyable: a copy continues on its own.
class ChecksumStream {
 public:
  ChecksumStream() { reset(); }
  void reset();
  void update(std::span<const std::byte> bytes);
  /// Of all bytes so far; more may follow.
  std::uint64_t digest() const;

 private:
  static constexpr std::size_t kStateBytes = 576;
  alignas(64) std::array<std::byte, kStateBytes> state_;
};

}  // namespace larder
