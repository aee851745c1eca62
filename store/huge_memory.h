#pragma once

#include <cstddef>

#include "store/types.h"

namespace larder {

/// Zeroed private memory from the kernel, for what is walked at random: a TLB miss costs as much as
/// the cache miss it comes with. Filled in small pages, because to zero a huge one takes
/// milliseconds on a virtual machine; once full, the kernel may put huge ones in their place.
///
/// Owns the mapping; costs nothing until it is written. Aborts when there is no address space.
class HugeMemory {
 public:
  explicit HugeMemory(Bytes length);
  ~HugeMemory();
  HugeMemory(const HugeMemory&) = delete;
  HugeMemory& operator=(const HugeMemory&) = delete;

  std::byte* data() const { return data_; }
  Bytes length() const { return length_; }
  /// The memory has been written: huge pages are welcome, made in the background.
  void full();
  /// Gives the pages of a part back; they read as zero from then on.
  void give_back(std::size_t offset, Bytes length);

 private:
  std::byte* data_;
  Bytes length_;
};

}  // namespace larder
