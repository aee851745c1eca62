# Sessions, io threads and the desks of shards and slabs: free of CAF and of what only the daemon
# needs, so that they are built, and tested, under ThreadSanitizer and by the fuzzers too.
add_library(larder_tokens token_table.cc)
target_link_libraries(larder_tokens PUBLIC larder_store PRIVATE OpenSSL::Crypto fmt::fmt absl::strings)

add_library(larder_session
  inbox.cc io_thread.cc turn_queue.cc metrics.cc namespace_directory.cc namespace_table.cc node_stats.cc pin_table.cc session.cc
  session_abort.cc session_admin.cc session_common.cc session_erase_op.cc session_get.cc session_get_stream.cc
  session_hello.cc session_layer_calls.cc session_layer_put.cc session_leases.cc session_lookup.cc
  session_match.cc session_match_call.cc session_namespaces.cc session_put.cc session_put_batch.cc session_put_op.cc session_regions.cc
  removal_set.cc request_end.cc session_removal_op.cc session_request_calls.cc session_requests.cc session_source.cc session_steps.cc session_touches.cc
  corrupt_block.cc refusal_log.cc runtime_dir.cc scrubber.cc session_rights.cc shard_calls.cc shard_desk.cc shard_gate.cc shard_work.cc slab_desk.cc tenant_use.cc)
target_compile_definitions(larder_session PRIVATE LARDER_VERSION="${PROJECT_VERSION}")
target_link_libraries(larder_session
  PUBLIC larder_store larder_tokens larder_transport absl::flat_hash_map absl::flat_hash_set
  PRIVATE nlohmann_json::nlohmann_json OpenSSL::Crypto absl::strings)
target_precompile_headers(larder_session PRIVATE session.h)
