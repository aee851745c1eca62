#pragma once

namespace larder {

/// sd_notify(3)'s protocol: one datagram to $NOTIFY_SOCKET, when the service manager set it.
/// Without it, nothing.
void notify_ready();
void notify_stopping();

}  // namespace larder
