# Every target of ours links larder_flags, and no flag is set anywhere else. Who links the installed
# library gets none of the warnings.
add_library(larder_flags INTERFACE)
target_compile_options(larder_flags INTERFACE
  "$<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow;-Werror>")
# g++ 12 sees them where they are not: std::string + at -O3; headers of Boost.Test and CAF; a moved StatusOr<string>.
target_compile_options(larder_flags INTERFACE
  "$<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-error=maybe-uninitialized;-Wno-error=array-bounds>>")
# What a mutex guards is touched under it: the sanitizers' builds hold all code to its annotations.
target_compile_options(larder_flags INTERFACE
  "$<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>>")
target_compile_features(larder_flags INTERFACE cxx_std_20)
target_include_directories(larder_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/larder>)
# Code that nobody waits for: what it does is I/O, parsing and messages. Optimising it takes a third of the
# compiler's time in a release, and half of it with sanitizers.
function(larder_cold target)
  if(NOT LARDER_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  elseif(LARDER_BUILD_DAEMON)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()
if(LARDER_FUZZ)
  # Else the fuzzers see the coverage of their own files alone, and grow blindly.
  target_compile_options(larder_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(LARDER_COVERAGE)
  target_compile_options(larder_flags INTERFACE -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(larder_flags INTERFACE -fprofile-instr-generate)
endif()
if(LARDER_SANITIZE)
  target_compile_options(larder_flags INTERFACE -fsanitize=${LARDER_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(larder_flags INTERFACE -fsanitize=${LARDER_SANITIZE})
  if(LARDER_SANITIZE MATCHES "thread")
    target_compile_definitions(larder_flags INTERFACE LARDER_SANITIZE_THREAD)
    # Fences order what the sanitizer would not race on anyway: it models the atomics beside them.
    target_compile_options(larder_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
  if(LARDER_SANITIZE MATCHES "address")
    target_compile_definitions(larder_flags INTERFACE LARDER_SANITIZE_ADDRESS)
  endif()
  if(LARDER_SANITIZE MATCHES "undefined")
    # CAF 0.17.6 binds a reference to null in init_fun_factory.hpp. vptr reads memory through
    # descriptors, and reports what is right when there are none.
    target_compile_options(larder_flags INTERFACE -fno-sanitize=null,vptr)
  endif()
endif()
