#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include "store/types.h"

namespace larder {

/// The tightest of the limits on this process's memory, and what is taken of it.
struct MemoryRoom {
  static constexpr Bytes kUnlimited{~0ULL};

  Bytes limit = kUnlimited;
  Bytes taken;       ///< by all who share the limit; what the kernel can take back not counted
  std::string file;  ///< that tells the limit; empty: none was found

  bool limited() const { return limit != kUnlimited; }
  /// What may still be taken; 0 when the limit is passed, which memory.high allows.
  Bytes left() const { return limit - std::min(limit, taken); }
  /// What is kept free of it: time to give memory back in, while others take some.
  Bytes reserve() const;
  /// What memory of which `held` is ours may become, and leave the reserve. The same before and
  /// after we give some back: so nobody has to remember what is on its way.
  Bytes fitting(Bytes held) const;
};

/// Reads every level of the cgroup of `process` (v2: memory.max and memory.high; v1:
/// memory.limit_in_bytes) and MemAvailable, below `root` ("/"; another one in tests). What cannot
/// be read does not limit. A few files: tens of microseconds to some milliseconds.
MemoryRoom probe_memory_room(const std::string& root = "/", const std::string& process = "self");

/// A probe that a test may replace.
using MemoryProbe = std::function<MemoryRoom()>;

/// Whether files in `dir` are memory and nothing else (tmpfs): only then do fewer slabs make room.
bool is_memory(const std::string& dir);

}  // namespace larder
