# Two Debian packages: `cpack -G DEB` in the build directory, or the target `package`.
#   larder       daemon, command, service, configuration, man pages
#   larder-dev   client library, headers, CMake package
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME larder)
set(CPACK_PACKAGE_VENDOR Larder)
set(CPACK_PACKAGE_CONTACT "Larder <larder@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "prefix cache daemon for LLM inference")
set(CPACK_PACKAGE_DESCRIPTION "Keeps the KV cache of prompts in shared memory and serves it to the inference workers of a host.")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)  # what it unpacks, too
set(CPACK_SET_DESTDIR ON)  # /etc/larder is absolute
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

set(CPACK_COMPONENTS_ALL daemon command service client)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_SERVER_PACKAGE_NAME larder)
set(CPACK_DEBIAN_SERVER_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(scripts ${PROJECT_SOURCE_DIR}/ops/debian)
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA
  ${scripts}/conffiles ${scripts}/postinst ${scripts}/prerm ${scripts}/postrm)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME larder-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "libabsl-dev, libfmt-dev, libprotobuf-dev, libssl-dev, libxxhash-dev, pkg-config")

include(CPack)
cpack_add_component_group(server)
cpack_add_component_group(dev)
foreach(component daemon command service)
  cpack_add_component(${component} GROUP server)
endforeach()
cpack_add_component(client GROUP dev)
