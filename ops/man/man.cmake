# Man pages and bash's completion, from the programs' own --help.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(man ${CMAKE_CURRENT_SOURCE_DIR}/man)
set(pages ${CMAKE_CURRENT_BINARY_DIR}/man)
file(MAKE_DIRECTORY ${pages})
# A build with AddressSanitizer: what --help leaves behind at its exit is of no interest here.
set(quiet ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0)
add_custom_command(OUTPUT ${pages}/larder.1 ${pages}/larderd.8 ${pages}/larder.bash
  COMMAND ${quiet} ${Python3_EXECUTABLE} -B ${man}/make_man.py $<TARGET_FILE:larder> 1 commands > ${pages}/larder.1
  COMMAND ${quiet} ${Python3_EXECUTABLE} -B ${man}/make_man.py $<TARGET_FILE:larderd> 8 > ${pages}/larderd.8
  COMMAND ${quiet} ${Python3_EXECUTABLE} -B ${man}/make_completion.py $<TARGET_FILE:larder> $<TARGET_FILE:larderd>
    > ${pages}/larder.bash
  DEPENDS larder larderd ${man}/help_tree.py ${man}/make_man.py ${man}/make_completion.py VERBATIM)
add_custom_target(larder_man ALL DEPENDS ${pages}/larder.1)

install(FILES ${pages}/larder.1 DESTINATION share/man/man1 COMPONENT command)
install(FILES ${pages}/larderd.8 DESTINATION share/man/man8 COMPONENT daemon)
install(FILES ${pages}/larder.bash DESTINATION share/bash-completion/completions RENAME larder COMPONENT command)
# bash-completion looks for a file of the command's name.
install(FILES ${pages}/larder.bash DESTINATION share/bash-completion/completions RENAME larderd COMPONENT daemon)
