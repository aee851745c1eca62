#include "store/namespace_spec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include <fmt/format.h>

#include "store/assert.h"
#include "store/checksum.h"
#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {
namespace {

constexpr std::uint64_t kClassFirst = 256;
constexpr std::size_t kClassesMax = 96;

constexpr std::uint64_t aligned(std::uint64_t bytes) {
  const std::uint64_t unit = bytes < limits::kPageAlignedFrom.count ? 64 : 4096;
  return (bytes + unit - 1) / unit * unit;
}

struct SizeClasses {
  std::array<std::uint64_t, kClassesMax> sizes{};
  std::size_t count = 0;
};

/// From 256 B four steps a doubling, of 1.25 at most, rounded up to the alignment: powers of two,
/// which most blocks are, waste nothing.
constexpr SizeClasses make_classes() {
  SizeClasses classes;
  for (std::uint64_t power = kClassFirst; power < limits::kBlockBytesMax.count; power *= 2) {
    for (std::uint64_t quarter = 0; quarter < 4; ++quarter) {
      const std::uint64_t size = aligned(power + power / 4 * quarter);
      const bool known = classes.count > 0 && classes.sizes[classes.count - 1] >= size;
      if (!known) classes.sizes[classes.count++] = size;
    }
  }
  classes.sizes[classes.count++] = limits::kBlockBytesMax.count;
  return classes;
}

constexpr SizeClasses kClasses = make_classes();

absl::Status invalid(const std::string& message) {
  return absl::InvalidArgumentError(message);
}

absl::Status check_range(std::string_view field, std::uint64_t value, std::uint64_t min,
                         std::uint64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return invalid(fmt::format("{} is {}, must be {} to {}", field, value, min, max));
}

std::array<std::pair<std::string_view, const std::string*>, 6> fields(const Fingerprint& f) {
  return {{{"model", &f.model},
           {"revision", &f.revision},
           {"dtype", &f.dtype},
           {"quantisation", &f.quantisation},
           {"layout", &f.layout},
           {"parallel_layout", &f.parallel_layout}}};
}

absl::Status check_fingerprint(const Fingerprint& fingerprint) {
  if (fingerprint.model.empty()) return invalid("model is empty, must name the model");
  for (const auto& [name, value] : fields(fingerprint)) {
    if (value->size() <= limits::kFingerprintFieldMax) continue;
    return invalid(fmt::format("{} has {} bytes, limit {}", name, value->size(),
                               limits::kFingerprintFieldMax));
  }
  return absl::OkStatus();
}

absl::Status check_block_bytes(std::size_t n, Bytes bytes) {
  if (bytes.count == 0) return absl::OkStatus();
  return check_range(fmt::format("groups[{}].block_bytes", n), bytes.count,
                     limits::kBlockBytesMin.count, limits::kBlockBytesMax.count);
}

absl::Status check_tokens(std::size_t n, const GroupSpec& group, std::uint32_t unit_tokens) {
  LARDER_RETURN_IF_ERROR(check_range(fmt::format("groups[{}].block_tokens", n), group.block_tokens,
                                     1, limits::kUnitTokensMax));
  if (group.block_tokens % unit_tokens != 0) {
    return invalid(
        fmt::format("groups[{}].block_tokens is {}, must be a multiple of unit_tokens {}", n,
                    group.block_tokens, unit_tokens));
  }
  const bool window = group.kind == GroupKind::kWindow;
  if (window == (group.window_tokens > 0)) return absl::OkStatus();
  return invalid(fmt::format("groups[{}].window_tokens is {}, must be {} for this kind", n,
                             group.window_tokens, window ? "at least 1" : "0"));
}

absl::Status check_group(std::size_t n, const GroupSpec& group, const NamespaceSpec& spec) {
  if (group.kind > GroupKind::kState) {
    return invalid(
        fmt::format("groups[{}].kind is {}, must be 0 to 2", n, static_cast<int>(group.kind)));
  }
  LARDER_RETURN_IF_ERROR(check_block_bytes(n, group.block_bytes));
  if (spec.fingerprint.flat) return absl::OkStatus();  // names have no tokens
  return check_tokens(n, group, spec.unit_tokens);
}

}  // namespace

absl::Status NamespaceSpec::validate() const {
  LARDER_RETURN_IF_ERROR(check_fingerprint(fingerprint));
  const std::uint32_t unit_min = fingerprint.flat ? 0 : 1;
  LARDER_RETURN_IF_ERROR(check_range("unit_tokens", unit_tokens, unit_min, limits::kUnitTokensMax));
  LARDER_RETURN_IF_ERROR(check_range("segment_tokens", segment_tokens, 0, limits::kUnitTokensMax));
  LARDER_RETURN_IF_ERROR(check_range("ranks", ranks, 1, limits::kRanksMax));
  LARDER_RETURN_IF_ERROR(check_range("groups", groups.size(), 1, limits::kGroupsMax));
  if (ttl < Duration::zero()) {
    return invalid(fmt::format("ttl is {} ns, must be 0 or more", ttl.count()));
  }
  for (std::size_t n = 0; n < groups.size(); ++n) {
    LARDER_RETURN_IF_ERROR(check_group(n, groups[n], *this));
  }
  return absl::OkStatus();
}

std::uint32_t NamespaceSpec::segment_units() const {
  if (fingerprint.flat || unit_tokens == 0) return 1;
  const std::uint32_t tokens = segment_tokens == 0 ? limits::kSegmentTokensDefault : segment_tokens;
  return std::bit_floor(std::max(1U, tokens / unit_tokens));
}

NamespaceId namespace_id(const std::string& tenant, const Fingerprint& fingerprint) {
  ChecksumStream stream;
  const auto add = [&stream](const std::string& field) {
    const std::uint64_t length = field.size();
    stream.update(std::as_bytes(std::span(&length, 1)));
    stream.update(std::as_bytes(std::span(field)));
  };
  add(tenant);
  for (const auto& [name, value] : fields(fingerprint))
    add(*value);
  add(fingerprint.flat ? "flat" : "chain");
  return NamespaceId(stream.digest());
}

Bytes slot_bytes(const GroupSpec& group, Bytes length) {
  if (group.block_bytes.count > 0) return {aligned(group.block_bytes.count)};
  LARDER_ASSERT(length <= limits::kBlockBytesMax);
  const auto* end = kClasses.sizes.data() + kClasses.count;
  return {*std::lower_bound(kClasses.sizes.data(), end, length.count)};
}

}  // namespace larder
