#include "actors/metrics.h"

namespace larder {

std::vector<std::pair<std::string, std::uint64_t>> NodeMetrics::snapshot() const {
  const std::pair<const char*, const Counter*> all[] = {
      {"gets", &gets},
      {"get_hits", &get_hits},
      {"get_misses", &get_misses},
      {"get_bytes", &get_bytes},
      {"puts", &puts},
      {"put_stored", &put_stored},
      {"put_present", &put_present},
      {"put_no_space", &put_no_space},
      {"put_bytes", &put_bytes},
      {"put_region_bytes", &put_region_bytes},
      {"put_attach_bytes", &put_attach_bytes},
      {"put_stream_bytes", &put_stream_bytes},
      {"put_cancelled", &put_cancelled},
      {"put_corrupt", &put_corrupt},
      {"matches", &matches},
      {"match_units", &match_units},
      {"match_hit_tokens", &match_hit_tokens},
      {"shadow_hit_tokens", &shadow_hit_tokens},
      {"shadow_get_hits", &shadow_get_hits},
      {"namespaces_turned_off", &namespaces_turned_off},
      {"requests", &requests},
      {"requests_expired", &requests_expired},
      {"leases_expired", &leases_expired},
      {"blocks_quarantined", &blocks_quarantined},
      {"scrubbed_blocks", &scrubbed_blocks},
      {"scrubbed_bytes", &scrubbed_bytes},
      {"sessions_opened", &sessions_opened},
      {"sessions_refused", &sessions_refused},
      {"audit_lost", &audit_lost},
      {"accepts_failed", &accepts_failed},
      {"sessions_timed_out", &sessions_timed_out},
      {"frames_refused", &frames_refused},
      {"shard_restarts", &shard_restarts},
      {"slabs_set_aside", &slabs_set_aside},
      {"slots_damaged", &slots_damaged},
      {"shm_refused", &shm_refused},
      {"attach_refused_off", &attach_refused_off},
      {"attach_refused_uid", &attach_refused_uid},
      {"attach_refused_host", &attach_refused_host},
      {"capacity_changes_for_pressure", &capacity_changes_for_pressure},
      {"capacity_changes_for_room", &capacity_changes_for_room},
      {"capacity_changes_for_reload", &capacity_changes_for_reload},
  };
  std::vector<std::pair<std::string, std::uint64_t>> values;
  for (const auto& [name, counter] : all) {
    values.emplace_back(name, counter->load(std::memory_order_relaxed));
  }
  return values;
}

}  // namespace larder
