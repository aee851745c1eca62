#include "ops/sim_plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/str_split.h"
#include <fmt/format.h>

#include "actors/config_keys.h"
#include "store/status_macros.h"

namespace larder {
namespace {

constexpr std::uint64_t kCurvePointsMax = 1'000;
constexpr std::uint64_t kCapacityMax = 1ULL << 40;  // blocks

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// splitmix64: a stream of random numbers that is the same everywhere.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

/// In [0, 1).
double chance(std::uint64_t value) {
  return static_cast<double>(mix(value) >> 11) * 0x1p-53;
}

void add_curve(std::uint64_t points, std::uint64_t unique, std::vector<std::uint64_t>& out) {
  const double top = std::log(static_cast<double>(std::max<std::uint64_t>(unique, 1)));
  const double bottom = std::min(top, std::log(10.0));
  for (std::uint64_t n = 0; n < points; ++n) {
    const double part = points == 1 ? 1 : static_cast<double>(n) / static_cast<double>(points - 1);
    out.push_back(
        static_cast<std::uint64_t>(std::llround(std::exp(bottom + part * (top - bottom)))));
  }
}

absl::Status refused(std::string_view item, std::string_view must) {
  return absl::InvalidArgumentError(fmt::format("{}: must be {}", item, must));
}

}  // namespace

absl::StatusOr<SimHints> parse_hints(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  const std::string must = "oracle:ERR or oracle:ERR:SEED, with ERR between 0 and 1";
  if (parts.size() < 2 || parts.size() > 3 || parts[0] != "oracle") {
    return refused("--hints " + text, must);
  }
  SimHints hints;
  const auto wrong = number<double>(parts[1]);
  if (!wrong || !(*wrong >= 0 && *wrong <= 1)) return refused("--hints " + text, must);
  hints.wrong = *wrong;
  if (parts.size() == 3) {
    const auto seed = number<std::uint64_t>(parts[2]);
    if (!seed) return refused("--hints " + text, must + " and SEED a whole number");
    hints.seed = *seed;
  }
  return hints;
}

std::vector<std::uint32_t> make_hints(const SimTrace& trace, const SimHints& hints) {
  std::vector<std::uint32_t> counts = reused_positions(trace);
  for (std::size_t n = 0; n < counts.size(); ++n) {
    if (chance(mix(hints.seed) + n) >= hints.wrong) continue;
    const std::uint32_t all = trace.requests[n].count;
    counts[n] = 2 * std::uint64_t{counts[n]} >= all ? std::min(counts[n], 1U) : all;
  }
  return counts;
}

absl::StatusOr<std::vector<std::uint64_t>> parse_capacities(const std::string& text,
                                                            Bytes block_bytes,
                                                            std::uint64_t unique) {
  std::vector<std::uint64_t> out;
  const std::vector<std::string> items = absl::StrSplit(text, ',');
  for (const std::string& item : items) {
    if (item.starts_with("curve:")) {
      const auto points = number<std::uint64_t>(std::string_view(item).substr(6));
      if (!points || *points == 0 || *points > kCurvePointsMax) {
        return refused("--capacity " + item,
                       fmt::format("curve:N, with N from 1 to {}", kCurvePointsMax));
      }
      add_curve(*points, unique, out);
      continue;
    }
    auto blocks = number<std::uint64_t>(item);
    if (!blocks) {
      const auto bytes = parse_bytes(item);
      if (bytes.ok()) blocks = bytes->count / block_bytes.count;
    }
    if (!blocks || *blocks == 0 || *blocks > kCapacityMax) {
      return refused("--capacity " + item,
                     fmt::format("blocks (1 to {}), bytes with a unit (at least a block's, {}), "
                                 "or curve:N",
                                 kCapacityMax, block_bytes.count));
    }
    out.push_back(*blocks);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

SimTrace sample(const SimTrace& trace, double rate) {
  constexpr std::uint32_t kLeftOut = 0xffffffff;
  std::vector<std::uint32_t> numbers(trace.unique, kLeftOut);
  SimTrace out;
  out.tenants = trace.tenants;
  for (std::uint32_t block = 0; block < trace.unique; ++block) {
    if (chance(block) < rate) numbers[block] = out.unique++;
  }
  for (const SimTrace::Request& request : trace.requests) {
    SimTrace::Request kept = request;
    kept.first = out.blocks.size();
    for (const std::uint32_t block : trace.blocks_of(request)) {
      if (numbers[block] != kLeftOut) out.blocks.push_back(numbers[block]);
    }
    kept.count = static_cast<std::uint32_t>(out.blocks.size() - kept.first);
    if (kept.count > 0) out.requests.push_back(kept);
  }
  return out;
}

}  // namespace larder
