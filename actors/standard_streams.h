#pragma once

#include <string_view>

namespace larder {

/// What both programs say on standard output, and whether it arrived. From one thread.
///
/// Opens /dev/null in the place of descriptors 0 to 2 that are closed: else the next file or socket
/// takes the number, and messages go into it. First in main.
void open_standard_streams();

/// Written through. A failure is remembered for exit_code_after.
void write_output(std::string_view text);
bool output_lost();

/// `code`; if output was lost: 4, with the reason on standard error, or in silence what a shell
/// says of a program that SIGPIPE ended, when the reader has left.
int exit_code_after(const char* program, int code);

}  // namespace larder
