// Memory in huge pages: where it is mapped, what it holds, and what happens where there are none.

#include "store/huge_pages.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/slab.h"
#include "tests/temp_dir.h"

namespace larder::huge_pages_test {
namespace {

constexpr std::uint64_t kMib = 1 << 20;

bool at_boundary(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) % kHugePage.count == 0;
}

std::uint64_t address_space_pages() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

/// A memfd of `length`, mapped shared and writable.
struct Memory {
  explicit Memory(std::uint64_t bytes)
      : length{bytes}, fd(::memfd_create("larder-test", MFD_CLOEXEC)) {
    BOOST_REQUIRE(::ftruncate(fd, static_cast<off_t>(bytes)) == 0);
    void* const at = map_at_huge_page(length, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    BOOST_REQUIRE(at != MAP_FAILED);
    data = static_cast<std::byte*>(at);
  }
  ~Memory() {
    ::munmap(data, length.count);
    ::close(fd);
  }
  std::uint64_t allocated() const { return allocated_of(fd); }
  static std::uint64_t allocated_of(int file) {
    struct stat info {};
    BOOST_REQUIRE(::fstat(file, &info) == 0);
    return static_cast<std::uint64_t>(info.st_blocks) * 512;
  }

  Bytes length;
  int fd;
  std::byte* data = nullptr;
};

bool all_zero(const std::byte* data, std::uint64_t length) {
  return std::all_of(data, data + length, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(huge_pages)

BOOST_AUTO_TEST_CASE(what_can_hold_a_huge_page_is_mapped_at_its_boundary) {
  const std::uint64_t before = address_space_pages();
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{4096}, kHugePage.count - 1, kHugePage.count,
        kHugePage.count + 1, 3 * kHugePage.count + 4097, 64 * kMib}) {
    void* const at = map_at_huge_page({bytes}, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    BOOST_REQUIRE(at != MAP_FAILED);
    if (bytes >= kHugePage.count) BOOST_TEST(at_boundary(at), bytes);
    static_cast<volatile std::byte*>(at)[bytes - 1] = std::byte{1};
    BOOST_TEST(::munmap(at, bytes) == 0);
  }
  BOOST_TEST(address_space_pages() < before + kHugePage.count / 4096);
}

BOOST_AUTO_TEST_CASE(a_mapping_that_fails_says_why_and_leaves_no_address_space) {
  const std::uint64_t before = address_space_pages();
  for (int n = 0; n < 1000; ++n) {
    errno = 0;
    BOOST_REQUIRE(map_at_huge_page({64 * kMib}, PROT_READ, MAP_SHARED, -1) == MAP_FAILED);
    BOOST_REQUIRE(errno == EBADF);
  }
  BOOST_TEST(address_space_pages() < before + 64 * kMib / 4096);
}

BOOST_AUTO_TEST_CASE(threads_that_map_at_once_get_places_of_their_own) {
  std::atomic<int> wrong{0};
  const auto work = [&wrong](unsigned char mine) {
    for (std::uint64_t n = 0; n < 500; ++n) {
      const std::uint64_t bytes = (n % 3 + 1) * kHugePage.count;
      void* const at = map_at_huge_page({bytes}, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
      if (at == MAP_FAILED) {
        wrong += 1;
        continue;
      }
      auto* const data = static_cast<unsigned char*>(at);
      for (std::uint64_t byte = 0; byte < bytes; byte += kHugePage.count / 2) {
        wrong += data[byte] == 0 ? 0 : 1;
        data[byte] = mine;
      }
      std::this_thread::yield();
      for (std::uint64_t byte = 0; byte < bytes; byte += kHugePage.count / 2)
        wrong += data[byte] == mine ? 0 : 1;
      wrong += ::munmap(at, bytes) == 0 ? 0 : 1;
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned char mine = 1; mine <= 4; ++mine)
    threads.emplace_back(work, mine);
  threads.clear();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(filled_memory_is_there_is_zero_and_keeps_what_stood_in_it) {
  Memory memory(7 * kMib + 4096);
  memory.data[3 * kMib] = std::byte{42};
  const Bytes done = fill_with_huge_pages(memory.fd, memory.data, memory.length);
  BOOST_TEST(done.count % kHugePage.count == 0U);
  BOOST_TEST(done <= memory.length);
  BOOST_TEST(memory.allocated() >= done.count);
  BOOST_TEST((memory.data[3 * kMib] == std::byte{42}));
  memory.data[3 * kMib] = std::byte{0};
  BOOST_TEST(all_zero(memory.data, memory.length.count));
  // The tail holds none, wherever the kernel has them.
  BOOST_TEST(done.count <= 6 * kMib);
  // Again, what is there stays; of a piece that is not at a boundary nothing happens.
  BOOST_TEST(fill_with_huge_pages(memory.fd, memory.data, memory.length) >= done);
  BOOST_TEST(all_zero(memory.data, memory.length.count));
  BOOST_TEST(fill_with_huge_pages(memory.fd, memory.data + 4096, {4 * kMib}) == Bytes{0});
  BOOST_TEST(fill_with_huge_pages(memory.fd, memory.data, {kMib}) == Bytes{0});
}

BOOST_AUTO_TEST_CASE(a_file_without_huge_pages_has_all_of_its_memory_all_the_same) {
  for (const char* parent : {test::kShm, "/tmp", "/var/tmp"}) {
    if (::access(parent, W_OK) != 0) continue;
    const test::TempDir dir(parent);
    const std::string path = dir.path() + "/file";
    const auto made = MappedFile::make(path, {5 * kMib + 4096});
    BOOST_REQUIRE(made.ok());
    BOOST_TEST(at_boundary(made->data()));
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    BOOST_TEST(Memory::allocated_of(fd) >= 5 * kMib + 4096);
    ::close(fd);
    BOOST_TEST(all_zero(made->data(), made->length().count));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::huge_pages_test
