// What a process takes of its machine, read from /proc, and what a daemon says of itself.

#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

#include "client/client.h"
#include "tests/sanitized.h"

namespace larder::sim {

/// Memory of its own: heap and stacks, not slabs and not what clients registered.
Bytes own_memory(pid_t pid);
std::size_t mappings(pid_t pid);
std::size_t descriptors(pid_t pid);

/// One figure of `larder status` by a session that is open already; -1 when there is none.
double figure(Client& client, const std::string& name);

std::size_t count_of(const Completion& done, KeyStatus status);

/// Asks until it is so; false when `within` passes first.
bool soon(Duration within, const std::function<bool()>& so);

/// This process may have as many descriptors as it is allowed to.
void raise_descriptor_limit();

}  // namespace larder::sim
