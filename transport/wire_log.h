#pragma once

namespace larder {

/// Keeps protobuf from writing to standard error: it does so for every string that is not UTF-8, so
/// a client could fill the log. Such a body is refused as any other that cannot be parsed. Whole
/// process; call before any thread parses.
void silence_wire_log();

}  // namespace larder
