#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace larder {

/// One request of a trace.
struct TraceRequest {
  std::uint64_t timestamp_ms = 0;
  std::uint32_t input_length = 0;   ///< tokens
  std::uint32_t output_length = 0;  ///< tokens
  /// One a block, the last one perhaps partial. Equal ids: equal prefix up to and with that block.
  std::vector<std::uint64_t> hash_ids;
};

/// Reads a trace as a stream: the Mooncake open format, one JSON object a line, or CSV (by its
/// first line, see trace_csv.h); `.zst` files (by their first bytes) are decompressed on the way.
/// Unknown fields of JSON are skipped, blank lines too.
///
/// Owns the open file. Not thread-safe. Memory: one line. Failures name file and line.
class TraceReader {
 public:
  static constexpr std::size_t kLineBytesMax = 16U << 20;
  static constexpr std::uint64_t kTokensMax = 1U << 28;
  static constexpr std::uint64_t kTimestampMsMax = 1ULL << 48;

  /// NOT_FOUND, PERMISSION_DENIED or UNAVAILABLE.
  static absl::StatusOr<TraceReader> open(const std::string& path);
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;
  ~TraceReader();

  /// The next request, or nothing at the end. INVALID_ARGUMENT for a broken line, DATA_LOSS for a
  /// broken or truncated compressed stream.
  absl::StatusOr<std::optional<TraceRequest>> next();
  /// Of the line read last, from 1.
  std::uint64_t line() const;

 private:
  struct Stream;
  explicit TraceReader(std::unique_ptr<Stream> stream);
  std::unique_ptr<Stream> stream_;
};

/// The first `limit` requests (0: all). Fails as next() does.
absl::StatusOr<std::vector<TraceRequest>> read_trace(const std::string& path, std::uint64_t limit);

}  // namespace larder
