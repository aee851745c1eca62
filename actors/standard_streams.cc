#include "actors/standard_streams.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace larder {

namespace {

constexpr int kExitLost = 4;
constexpr int kExitReaderLeft = 128 + SIGPIPE;

bool output_closed = false;
int output_error = 0;  ///< the first

}  // namespace

void open_standard_streams() {
  for (;;) {
    const int fd = ::open("/dev/null", O_RDWR);  // the lowest number that is free; inherited
    if (fd == STDOUT_FILENO) output_closed = true;
    if (fd >= 0 && fd <= STDERR_FILENO) continue;
    if (fd >= 0) ::close(fd);
    return;
  }
}

void write_output(std::string_view text) {
  if (text.empty() || output_lost()) return;
  if (output_closed) {
    output_error = EBADF;
    return;
  }
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!whole || std::fflush(stdout) != 0) output_error = errno;
}

bool output_lost() {
  return output_error != 0;
}

int exit_code_after(const char* program, int code) {
  if (!output_lost()) return code;
  if (output_error == EPIPE) return kExitReaderLeft;
  std::fprintf(stderr, "%s: stdout: %s\n", program,
               std::generic_category().message(output_error).c_str());
  return kExitLost;
}

}  // namespace larder
