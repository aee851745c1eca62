# The installed package: static libraries, the headers that client.h needs, larder-config.cmake.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

foreach(name store transport wire flags)
  set_target_properties(larder_${name} PROPERTIES EXPORT_NAME ${name})
endforeach()
install(TARGETS larder_client larder_store larder_transport larder_wire larder_flags
  EXPORT larder-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client)

set(installed_headers # the public ones and what they include: ops/check_layers.py holds this list to it
  client/client.h transport/records.h
  store/chain.h store/limits.h store/namespace_mode.h store/namespace_spec.h store/types.h)
foreach(header ${installed_headers})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/${header}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/larder/${folder} COMPONENT client)
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/larder)
install(EXPORT larder-targets NAMESPACE larder:: DESTINATION ${package} COMPONENT client)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/larder-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/larder-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/larder-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/larder-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/larder-config-version.cmake
  DESTINATION ${package} COMPONENT client)
