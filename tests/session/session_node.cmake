# A node free of CAF, for tests and fuzzers.
include_guard(GLOBAL)
add_library(larder_session_node STATIC
  ${CMAKE_CURRENT_LIST_DIR}/desk_shards.cc ${CMAKE_CURRENT_LIST_DIR}/lone_session.cc
  ${CMAKE_CURRENT_LIST_DIR}/session_node.cc)
target_link_libraries(larder_session_node PUBLIC larder_session larder_policies)
