#pragma once

namespace larder {

/// A named place at which a test build dies as by `kill -9`: with LARDER_CRASH_AT=name[:n] in the
/// environment, the n-th pass (the first without n) kills the process. Compiled to nothing unless
/// LARDER_CRASH_POINTS. Any thread.
#ifdef LARDER_CRASH_POINTS
void crash_point(const char* name);
#else
inline void crash_point(const char* /*name*/) {}
#endif

}  // namespace larder
