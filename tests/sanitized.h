#pragma once

namespace larder::sim {

/// Built with AddressSanitizer: then mappings and memory are its own too.
#ifdef LARDER_SANITIZE_ADDRESS
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace larder::sim
