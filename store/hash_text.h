#pragma once

#include <string>

#include "store/types.h"

namespace larder {

/// 32 hex digits, in the order of the bytes: as every message, table and log names a block.
std::string hash_text(const BlockHash& hash);

}  // namespace larder
