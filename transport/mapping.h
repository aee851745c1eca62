#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include <sys/mman.h>

#include "store/huge_pages.h"

namespace larder {

/// Owns one mmap()ed range. Move-only.
class Mapping {
 public:
  Mapping() = default;
  /// MAP_SHARED of `length` bytes of `fd` from its start; invalid (errno says why) on failure.
  Mapping(int fd, std::size_t length, int protection) : length_(length) {
    void* at = map_at_huge_page({length}, protection, MAP_SHARED, fd);
    if (at != MAP_FAILED) data_ = static_cast<std::byte*>(at);
  }
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), length_(std::exchange(other.length_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(length_, other.length_);
    return *this;
  }
  ~Mapping() {
    if (data_ != nullptr) ::munmap(data_, length_);
  }

  bool valid() const { return data_ != nullptr; }
  std::byte* data() const { return data_; }
  std::size_t size() const { return data_ == nullptr ? 0 : length_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t length_ = 0;
};

}  // namespace larder
