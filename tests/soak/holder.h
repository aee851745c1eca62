#pragma once

#include <string>

#include "tests/soak/worker_client.h"

namespace larder::soak {

/// Leaves open everything that a client can: views, a request and its pins, claims, a put layer by
/// layer with half of its bytes, a wait. Then keeps its session alive and does no more, until it is
/// told to stop, or killed; one in three ends at once. Ends the process, without goodbye.
void hold_open(WorkerClient& at, const std::string& server);

}  // namespace larder::soak
