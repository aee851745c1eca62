# Configuration, free of CAF: larderd and `larder config check` share it.
add_library(larder_config
  config.cc config_files.cc config_keys.cc config_load.cc machine.cc memory_cgroup.cc memory_room.cc standard_streams.cc
  tenant_limits.cc)
target_link_libraries(larder_config
  PUBLIC larder_store
  PRIVATE larder_client larder_tokens CLI11::CLI11 tomlplusplus::tomlplusplus fmt::fmt absl::strings)
larder_cold(larder_config)
