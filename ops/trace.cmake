# Alone, because the fuzzers want it without the rest of the command.
include_guard(GLOBAL)
add_library(larder_trace ${CMAKE_CURRENT_LIST_DIR}/trace_csv.cc ${CMAKE_CURRENT_LIST_DIR}/trace_reader.cc)
target_link_libraries(larder_trace
  PUBLIC larder_store
  PRIVATE nlohmann_json::nlohmann_json PkgConfig::zstd fmt::fmt)
larder_cold(larder_trace)
