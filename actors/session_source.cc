#include "actors/session_source.h"

#include <fmt/format.h>

#include "store/crash_point.h"

namespace larder {

using wire::KeyStatus;
using wire::PutPath;
using wire::PutSource;

PutPath path_of(const PutSource& source) {
  if (source.region == PutSource::kAttach) return PutPath::kAttach;
  if (source.region == PutSource::kStream) return PutPath::kStream;
  return PutPath::kRegion;
}

KeyStatus read_source(Session& session, const HeldRegions& regions, const PutSource& source,
                      std::uint64_t skip, std::span<std::byte> dst, Checksum* sum) {
  NodeMetrics& metrics = session.node().metrics;
  crash_point("copy");
  if (source.region == PutSource::kAttach) {
    AttachedProcess* peer = session.peer_process();
    if (peer == nullptr) return KeyStatus::kInvalid;
    if (peer->read(source.address + skip, dst, sum) != AttachedProcess::Outcome::kOk) {
      return KeyStatus::kFault;
    }
    count(metrics.put_attach_bytes, dst.size());
    return KeyStatus::kOk;
  }
  const std::byte* from = regions.at(source.region, source.address + skip, dst.size());
  if (from == nullptr) return KeyStatus::kInvalid;
  const bool copied = sum != nullptr ? copy_checksum_guarded(dst.data(), from, dst.size(), *sum)
                                     : copy_guarded(dst.data(), from, dst.size());
  if (!copied) return KeyStatus::kFault;
  count(metrics.put_region_bytes, dst.size());
  return KeyStatus::kOk;
}

absl::Status check_source_order(std::span<const PutSource> sources, std::size_t keys) {
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].key >= keys) {
      return absl::InvalidArgumentError(
          fmt::format("source {}: key {} is not below {}", i, sources[i].key, keys));
    }
    if (sources[i].key < last) {
      return absl::InvalidArgumentError(fmt::format(
          "source {}: key {} after key {}; sources are sorted by key", i, sources[i].key, last));
    }
    last = sources[i].key;
  }
  return absl::OkStatus();
}

}  // namespace larder
