#include "ops/trace_csv.h"

#include <array>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {
namespace {

absl::StatusOr<std::uint64_t> whole(std::string_view text, std::string_view name,
                                    std::uint64_t max) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} is {}, must be a whole number of 0 or more", name, text.substr(0, 40)));
  }
  if (value <= max) return value;
  return absl::InvalidArgumentError(fmt::format("{} is {}, must be at most {}", name, value, max));
}

std::string_view take(std::string_view& rest, char until) {
  const std::size_t at = std::min(rest.find(until), rest.size());
  const std::string_view out = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return out;
}

}  // namespace

absl::StatusOr<TraceRequest> parse_csv_line(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
    line.remove_suffix(1);
  constexpr std::array<std::string_view, 3> kNames = {"timestamp", "input_length", "output_length"};
  constexpr std::array<std::uint64_t, 3> kMost = {TraceReader::kTimestampMsMax,
                                                  TraceReader::kTokensMax, TraceReader::kTokensMax};
  std::array<std::uint64_t, 3> values{};
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (line.find(',') == std::string_view::npos) {
      return absl::InvalidArgumentError(fmt::format("{} fields, must be 4", n + 1));
    }
    LARDER_ASSIGN_OR_RETURN(values[n], whole(take(line, ','), kNames[n], kMost[n]));
  }
  TraceRequest request{.timestamp_ms = values[0],
                       .input_length = static_cast<std::uint32_t>(values[1]),
                       .output_length = static_cast<std::uint32_t>(values[2]),
                       .hash_ids = {}};
  while (!line.empty()) {
    if (request.hash_ids.size() == limits::kMatchUnitsMax) {
      return absl::InvalidArgumentError(
          fmt::format("hash_ids has more than {} elements", limits::kMatchUnitsMax));
    }
    const std::string name = fmt::format("hash_ids[{}]", request.hash_ids.size());
    LARDER_ASSIGN_OR_RETURN(const std::uint64_t id, whole(take(line, ' '), name, ~0ULL));
    request.hash_ids.push_back(id);
  }
  return request;
}

}  // namespace larder
