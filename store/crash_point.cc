#include "store/crash_point.h"

#ifdef LARDER_CRASH_POINTS

#include <atomic>
#include <cstdlib>
#include <string>

#include <signal.h>
#include <unistd.h>

namespace larder {

namespace {

struct Plan {
  std::string name;
  std::atomic<long> left{1};

  Plan() {
    const char* text = std::getenv("LARDER_CRASH_AT");
    if (text == nullptr) return;
    name = text;
    const auto colon = name.find(':');
    if (colon == std::string::npos) return;
    left = std::strtol(name.c_str() + colon + 1, nullptr, 10);
    name.resize(colon);
  }
};

}  // namespace

void crash_point(const char* name) {
  static Plan plan;
  if (plan.name != name) return;
  if (plan.left.fetch_sub(1) == 1) ::kill(::getpid(), SIGKILL);
}

}  // namespace larder

#endif
