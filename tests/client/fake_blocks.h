// The blocks of the fake server: in one sparse slab file, so that they can be got in place.

#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "store/assert.h"
#include "store/slot_header.h"
#include "transport/guarded_copy.h"
#include "transport/mapping.h"
#include "transport/records.h"
#include "transport/slab_map.h"
#include "transport/socket.h"

namespace larder::sim {

struct FakeBlock {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t checksum = 0;
  std::uint32_t slot = 0;
  const std::byte* data = nullptr;
};

class FakeBlocks {
 public:
  using Name = std::tuple<std::uint64_t, BlockHash, std::uint16_t, std::uint16_t>;
  static constexpr std::uint32_t kSlots = 16'384;
  static constexpr std::size_t kBytes = 1ULL << 30;
  static constexpr std::size_t kHeaderBytes = kSlotHeadersOffset + kSlots * sizeof(SlotHeader);

  FakeBlocks()
      : data_fd(memfd_create("larder-fake-data", MFD_CLOEXEC)),
        header_fd(memfd_create("larder-fake-headers", MFD_CLOEXEC)) {
    LARDER_ASSERT(ftruncate(data_fd.get(), kBytes) == 0);
    LARDER_ASSERT(ftruncate(header_fd.get(), kHeaderBytes) == 0);
    data_ = Mapping(data_fd.get(), kBytes, PROT_READ | PROT_WRITE);
    headers_ = Mapping(header_fd.get(), kHeaderBytes, PROT_READ | PROT_WRITE);
    LARDER_ASSERT(data_.valid() && headers_.valid());
  }

  static Name name_of(std::uint64_t ns, const wire::KeyRecord& key) {
    return {ns, key.hash, key.group, key.rank};
  }
  std::shared_ptr<const FakeBlock> find(const Name& name) const {
    const auto at = blocks_.find(name);
    return at == blocks_.end() ? nullptr : at->second;
  }
  void add(const Name& name, std::span<const std::byte> bytes) {
    LARDER_ASSERT(next_slot_ < kSlots && next_offset_ + bytes.size() <= kBytes);
    auto block = std::make_shared<FakeBlock>();
    block->offset = next_offset_;
    block->length = bytes.size();
    block->slot = next_slot_++;
    block->data = data_.data() + block->offset;
    std::memcpy(data_.data() + block->offset, bytes.data(), bytes.size());
    block->checksum = checksum_of(bytes.data(), bytes.size());
    raise_generation(block->slot);
    next_offset_ += (bytes.size() + 4095) / 4096 * 4096;
    blocks_[name] = std::move(block);
  }
  bool erase(const Name& name) { return blocks_.erase(name) > 0; }
  std::size_t size() const { return blocks_.size(); }
  const auto& all() const { return blocks_; }

  std::atomic<std::uint64_t>& generation(std::uint32_t slot) {
    return reinterpret_cast<SlotHeader*>(headers_.data() + kSlotHeadersOffset)[slot].generation;
  }
  void raise_generation(std::uint32_t slot) { generation(slot).fetch_add(1); }

  Fd data_fd;
  Fd header_fd;

 private:
  Mapping data_;
  Mapping headers_;
  std::map<Name, std::shared_ptr<const FakeBlock>> blocks_;
  std::uint32_t next_slot_ = 0;
  std::uint64_t next_offset_ = 0;
};

}  // namespace larder::sim
