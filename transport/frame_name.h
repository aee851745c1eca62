#pragma once

#include "transport/frame.h"

namespace larder {

/// As PROTOCOL.md names it; "unknown" for a type that is none.
const char* name_of(FrameType type);

}  // namespace larder
