#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <boost/test/unit_test.hpp>

namespace larder::sim {

/// Changes one byte of the block that is all `fill`, in the slab files below the running daemon.
inline void flip_byte_of(const std::string& runtime_dir, char fill, std::size_t block) {
  for (const auto& entry : std::filesystem::directory_iterator(runtime_dir)) {
    if (entry.path().extension() != ".data") continue;
    std::fstream slab(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    std::string bytes(block, 0);
    for (std::size_t at = 0; slab.read(bytes.data(), static_cast<std::streamsize>(block));
         at += block) {
      if (bytes != std::string(block, fill)) continue;
      slab.seekp(static_cast<std::streamoff>(at + block / 2));
      slab.put(static_cast<char>(fill ^ 1));
      return;
    }
  }
  BOOST_ERROR("no block of " << fill);
}

}  // namespace larder::sim
