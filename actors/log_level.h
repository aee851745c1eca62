#pragma once

#include <string_view>

#include <spdlog/common.h>

namespace larder {

/// How severe a line is, by the name of its event, its first word: so that who writes one says it
/// once, and no failure hides at info.
///
///   …_corrupt, …_lost                                          error
///   …_refused, …_failed, …_set_aside, …_restarted,
///   …_needs_restart, …_not_…                                   warn
///   audit action=Hello                                         debug: each call of `larder` is one
///   all else                                                   info
spdlog::level::level_enum level_of(std::string_view line);

}  // namespace larder
