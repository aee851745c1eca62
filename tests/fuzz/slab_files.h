// A directory of slabs as a former run might have left it, or anyone else, from a fuzzer's input.

#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>
#include <sys/stat.h>

#include "store/checksum.h"
#include "store/limits.h"
#include "store/slab.h"
#include "store/slot_ops.h"

namespace larder::fuzz {

/// Writes slab files into `dir`: most are whole, with fields from the input and a checksum that is
/// theirs; some are then damaged, cut or missing.
class SlabFiles {
 public:
  SlabFiles(FuzzedDataProvider& in, std::string dir) : in_(in), dir_(std::move(dir)) {}

  void write() {
    for (int slabs = in_.ConsumeIntegralInRange(0, 4); slabs > 0; --slabs)
      write_slab();
    if (in_.ConsumeBool()) {
      put(dir_ + "/slab-next-id",
          {in_.ConsumeBool() ? std::to_string(id()) : in_.ConsumeRandomLengthString(12)});
    }
    if (rarely()) write_no_file();
    if (rarely()) put(dir_ + "/slab-" + std::to_string(id()) + ".hdr.tmp", "unfinished");
    if (rarely()) put(dir_ + "/slab-" + std::to_string(id()) + ".hdr.bad", "set aside");
    if (rarely()) put(dir_ + "/slab-" + std::to_string(id()) + ".data", "alone");
    if (rarely()) put(dir_ + "/slab-" + in_.ConsumeRandomLengthString(4) + ".hdr", "named badly");
  }

 private:
  bool rarely() { return in_.ConsumeIntegralInRange(0, 15) == 0; }

  std::uint32_t id() {
    static constexpr std::uint32_t kSome[] = {0,      1,          2,          65'535, 65'536,
                                              65'537, 0x7fffffff, 0xfffffffe, ~0U,    1'000};
    return rarely() ? in_.ConsumeIntegral<std::uint32_t>() : in_.PickValueInArray(kSome);
  }

  /// What has a slab's name and is no file of this user's alone.
  void write_no_file() {
    static constexpr const char* kNames[] = {".hdr", ".data", ".hdr.tmp"};
    const std::string path = rarely()
                                 ? dir_ + "/slab-next-id" + (in_.ConsumeBool() ? ".tmp" : "")
                                 : dir_ + "/slab-" + std::to_string(in_.ConsumeBool() ? id() : 1) +
                                       in_.PickValueInArray(kNames);
    std::error_code ignored;
    switch (in_.ConsumeIntegralInRange(0, 3)) {
      case 0:
        std::filesystem::create_directory(path, ignored);
        return;
      case 1:
        std::filesystem::create_symlink("slab-2.hdr", path, ignored);
        return;
      case 2:
        ::mkfifo(path.c_str(), 0600);
        return;
      default:
        ::chmod(path.c_str(), 0666);
    }
  }

  SlabFileHeader file_header(std::uint32_t id) {
    static constexpr std::uint64_t kSizes[] = {256, 320, 4096, 65'536, 1 << 20};
    SlabFileHeader header{};
    header.magic = rarely() ? in_.ConsumeIntegral<std::uint64_t>() : SlabFileHeader::kMagic;
    header.version = rarely() ? in_.ConsumeIntegral<std::uint32_t>() : SlabFileHeader::kVersion;
    header.id = rarely() ? this->id() : id;
    header.slot_bytes =
        rarely() ? in_.ConsumeIntegral<std::uint64_t>() : in_.PickValueInArray(kSizes);
    header.slots =
        rarely() ? in_.ConsumeIntegral<std::uint32_t>() : in_.ConsumeIntegralInRange(1U, 40U);
    const std::string tenant = rarely() ? in_.ConsumeRandomLengthString(255)
                                        : std::string(1, in_.ConsumeBool() ? 'a' : 'b');
    header.tenant_length =
        static_cast<std::uint32_t>(rarely() ? in_.ConsumeIntegral<std::uint16_t>() : tenant.size());
    std::memcpy(header.tenant, tenant.data(), tenant.size());
    header.checksum =
        checksum({reinterpret_cast<const std::byte*>(&header), offsetof(SlabFileHeader, checksum)});
    if (rarely()) header.checksum ^= 1;
    return header;
  }

  void fill_slot(SlotHeader& header, std::uint64_t slot_bytes) {
    const std::uint64_t name = in_.ConsumeIntegralInRange<std::uint64_t>(0, 12);
    header.generation.store(in_.ConsumeIntegral<std::uint64_t>());
    prepare(header, {.key = {.ns = NamespaceId(name % 2),
                             .hash = {name, name},
                             .group = GroupId(few(3)),
                             .rank = Rank(few(3))},
                     .parent = {in_.ConsumeIntegralInRange<std::uint64_t>(0, 12), 0},
                     .anchor = {name, rarely() ? in_.ConsumeIntegral<std::uint64_t>() : 0},
                     .expiry_wall_ns = rarely() ? in_.ConsumeIntegral<std::int64_t>() : 0,
                     .length = rarely() ? in_.ConsumeIntegral<std::uint32_t>()
                                        : static_cast<std::uint32_t>(1 + name % slot_bytes),
                     .position = rarely() ? in_.ConsumeIntegral<std::uint32_t>() : few(8),
                     .ranks = few(4)});
    if (in_.ConsumeBool()) seal(header, in_.ConsumeIntegral<std::uint64_t>());
    if (!rarely()) return;
    // A bit of it turned over: its checksum does not hold any more, but for `committed`.
    auto* bytes = reinterpret_cast<unsigned char*>(&header);
    bytes[in_.ConsumeIntegralInRange<std::size_t>(0, sizeof header - 1)] ^=
        in_.ConsumeIntegral<unsigned char>();
  }
  std::uint16_t few(std::uint16_t most) {
    return rarely() ? in_.ConsumeIntegral<std::uint16_t>()
                    : in_.ConsumeIntegralInRange<std::uint16_t>(0, most);
  }

  void write_slab() {
    const std::uint32_t id = this->id();
    const SlabFileHeader header = file_header(id);
    const std::uint32_t slots = std::min(header.slots, 40U);
    std::vector<std::byte> bytes(kSlotHeadersOffset + slots * sizeof(SlotHeader));
    std::memcpy(bytes.data(), &header, sizeof header);
    auto* heads = reinterpret_cast<SlotHeader*>(bytes.data() + kSlotHeadersOffset);
    for (std::uint32_t n = in_.ConsumeIntegralInRange(0U, slots); n > 0; --n)
      fill_slot(heads[n - 1], std::max<std::uint64_t>(1, header.slot_bytes));
    put(Slab::header_path(dir_, SlabId(id)),
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    // As long as the header says, whatever that is: the file is sparse.
    resize(Slab::header_path(dir_, SlabId(id)),
           kSlotHeadersOffset + header.slots * sizeof(SlotHeader));
    if (rarely()) return;
    put(Slab::data_path(dir_, SlabId(id)), {});
    resize(Slab::data_path(dir_, SlabId(id)), header.slot_bytes * header.slots);
  }

  void resize(const std::string& path, std::uint64_t bytes) {
    std::error_code ignored;  // more than the file system can name
    const std::uint64_t whole =
        rarely() ? in_.ConsumeIntegral<std::uint16_t>() : (bytes + 4095) / 4096 * 4096;
    std::filesystem::resize_file(path, whole, ignored);
  }

  static void put(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  FuzzedDataProvider& in_;
  const std::string dir_;
};

}  // namespace larder::fuzz
