#include "actors/metric_table.h"

namespace larder {

namespace {

MetricFamilyRow counter(const char* figure, const char* name, const char* help) {
  return {name, true, help, {{figure, {}}}};
}
MetricFamilyRow gauge(const char* figure, const char* name, const char* help) {
  return {name, false, help, {{figure, {}}}};
}

MetricSeries refused(const char* figure, const char* wanted, const char* used, const char* reason) {
  return {figure, {{"wanted", wanted}, {"used", used}, {"reason", reason}}};
}

std::vector<MetricFamilyRow> calls() {
  return {
      counter("gets", "larder_gets_total", "Get calls."),
      counter("get_hits", "larder_get_hits_total", "Blocks that gets found."),
      counter("get_misses", "larder_get_misses_total", "Keys for which gets found no block."),
      counter("get_bytes", "larder_get_bytes_total", "Bytes of blocks that gets found."),
      counter("puts", "larder_puts_total", "Put calls, layer by layer or at once."),
      counter("put_stored", "larder_put_stored_total", "Blocks stored."),
      counter("put_present", "larder_put_present_total", "Blocks of puts that were there already."),
      counter("put_no_space", "larder_put_no_space_total", "Blocks of puts that found no room."),
      counter("put_cancelled", "larder_put_cancelled_total",
              "Blocks of puts that their client gave up."),
      counter("put_corrupt", "larder_put_corrupt_total",
              "Blocks of puts whose bytes did not agree with their checksum."),
      counter("put_bytes", "larder_put_bytes_total", "Bytes that puts brought, by any path."),
      {"larder_put_path_bytes_total",
       true,
       "Bytes of stored blocks by the path on which they came.",
       {{"put_region_bytes", {{"path", "region"}}},
        {"put_attach_bytes", {{"path", "attach"}}},
        {"put_stream_bytes", {{"path", "stream"}}}}},
      counter("matches", "larder_matches_total", "Match calls."),
      counter("match_units", "larder_match_units_total", "Hash units that matches asked for."),
      counter("match_hit_tokens", "larder_match_hit_tokens_total",
              "Tokens that matches found usable."),
      counter("shadow_hit_tokens", "larder_shadow_hit_tokens_total",
              "Tokens that matches in shadow mode would have found usable."),
      counter("shadow_get_hits", "larder_shadow_get_hits_total",
              "Blocks that gets and flat matches in shadow mode would have found."),
      counter("namespaces_turned_off", "larder_namespaces_turned_off_total",
              "Guarded namespaces that a corrupt block turned off."),
      counter("requests", "larder_requests_total", "Requests begun."),
      counter("requests_expired", "larder_requests_expired_total",
              "Requests that ended by their deadline instead of by their client."),
  };
}

std::vector<MetricFamilyRow> sessions() {
  return {
      counter("sessions_opened", "larder_sessions_opened_total", "Sessions opened."),
      counter("sessions_refused", "larder_sessions_refused_total",
              "Sessions refused because of max_sessions."),
      counter("sessions_timed_out", "larder_sessions_timed_out_total",
              "Sessions ended for silence or for answers that nobody read."),
      counter("accepts_failed", "larder_accepts_failed_total",
              "Connections for which no descriptor was left."),
      counter("frames_refused", "larder_frames_refused_total",
              "Frames and calls that the protocol does not allow."),
      counter("audit_lost", "larder_audit_lost_total",
              "Audit lines that could not be written; what they tell of was done."),
      counter("leases_expired", "larder_leases_expired_total",
              "Leases that ended by their deadline."),
      {"larder_fallbacks_total",
       true,
       "Sessions that wanted a faster path and are served by a slower one.",
       {refused("shm_refused", "shm", "stream", "no_memory"),
        refused("attach_refused_off", "attach", "staging", "configuration"),
        refused("attach_refused_uid", "attach", "staging", "other_user"),
        refused("attach_refused_host", "attach", "staging", "kernel")}},
      gauge("sessions", "larder_sessions", "Sessions open."),
  };
}

std::vector<MetricFamilyRow> blocks() {
  return {
      {"larder_evictions_total",
       true,
       "Blocks evicted: the node was full, no slot of a size was free, or a slab was emptied for "
       "another size.",
       {{"evictions_for_capacity", {{"cause", "capacity"}}},
        {"evictions_for_slot", {{"cause", "slot"}}},
        {"evictions_for_slab", {{"cause", "slab"}}}}},
      counter("removals", "larder_removals_total", "Blocks removed by a client."),
      counter("expirations", "larder_expirations_total", "Blocks whose time to live ended."),
      counter("admission_refused", "larder_admission_refused_total",
              "Blocks that the policy did not let in."),
      counter("scrubbed_blocks", "larder_scrubbed_blocks_total",
              "Committed blocks read again in the background."),
      counter("scrubbed_bytes", "larder_scrubbed_bytes_total",
              "Bytes of committed blocks read again in the background."),
      counter("blocks_quarantined", "larder_blocks_quarantined_total",
              "Blocks set aside because their bytes had changed, as io threads saw it."),
      counter("shard_quarantined", "larder_shard_quarantined_total",
              "Slots that shards set aside for damage."),
      counter("slabs_set_aside", "larder_slabs_set_aside_total",
              "Slabs found damaged at the start, now under a .bad name."),
      counter("slots_damaged", "larder_slots_damaged_total",
              "Slots whose header was found damaged at the start."),
      counter("shard_inserts", "larder_shard_inserts_total", "Reservations made by shards."),
      counter("shard_hits", "larder_shard_hits_total", "Uses of blocks that shards were told of."),
      counter("shard_aborts", "larder_shard_aborts_total", "Reservations taken back."),
      counter("shard_restarts", "larder_shard_restarts_total", "Shard actors that were made anew."),
      counter("orphans", "larder_orphans_total", "Blocks inserted without their parent."),
      counter("adopted", "larder_adopted_total", "Blocks re-adopted at the start."),
      gauge("capacity_bytes", "larder_capacity_bytes",
            "Bytes of blocks that the node may hold now: less than configured while memory is "
            "short."),
      gauge("capacity_configured_bytes", "larder_capacity_configured_bytes",
            "Bytes of blocks that the node may hold when memory is not short."),
      gauge("memory_room_bytes", "larder_memory_room_bytes",
            "Bytes that may still be taken of the tightest limit on the node's memory."),
      {"larder_capacity_changes_total",
       true,
       "Changes of the capacity: memory was short, there was room again, or a reload.",
       {{"capacity_changes_for_pressure", {{"cause", "pressure"}}},
        {"capacity_changes_for_room", {{"cause", "room"}}},
        {"capacity_changes_for_reload", {{"cause", "reload"}}}}},
      gauge("used_bytes", "larder_used_bytes", "Bytes of slots that blocks have."),
      gauge("slab_bytes", "larder_slab_bytes", "Bytes of slab files."),
      gauge("pinned_bytes", "larder_pinned_bytes", "Bytes of blocks held by requests and pins."),
      gauge("index_bytes", "larder_index_bytes", "Bytes of memory that the indexes take."),
      gauge("blocks", "larder_blocks", "Blocks committed or being written."),
      gauge("ghosts", "larder_ghosts", "Evicted blocks that are remembered."),
      gauge("pins", "larder_pins", "Explicit pins."),
      gauge("shards", "larder_shards", "Shard actors."),
      gauge("io_threads", "larder_io_threads", "Threads that serve sessions."),
  };
}

}  // namespace

std::span<const MetricFamilyRow> metric_table() {
  static const std::vector<MetricFamilyRow> kTable = [] {
    std::vector<MetricFamilyRow> all = calls();
    for (auto part : {sessions(), blocks()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return kTable;
}

}  // namespace larder
