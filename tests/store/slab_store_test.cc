#include "store/slab_store.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/checksum.h"
#include "tests/store/store_fixture.h"

namespace larder::slab_store_test {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using test::key_of;
using test::kTenant;

SlotFields fields_of(std::uint64_t n) {
  return {.key = key_of(n), .anchor = {n, n}, .writer = WriterId(5), .length = 4000, .position = 3};
}

void commit(const SlabStore& slabs, const SlotRef& slot, std::uint64_t n) {
  slabs.begin_reuse(slot);
  slabs.prepare(slot, fields_of(n));
  std::memset(slabs.data(slot), static_cast<int>(n), 4000);
  slabs.seal(slot, n);
}

struct SlabFixture {
  std::unique_ptr<SlabStore> reopen(SlabStore::OpenReport* report = nullptr) {
    auto store = std::make_unique<SlabStore>(dir.path(), 16_MiB);
    auto opened = store->open(
        [](const std::string& name) { return name == "alpha" ? kTenant : TenantId(9); });
    BOOST_REQUIRE_MESSAGE(opened.ok(), opened.status());
    if (report != nullptr) *report = *opened;
    return store;
  }
  std::string file(const char* kind) const {
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
      if (entry.path().extension() == kind) return entry.path().string();
    }
    return {};
  }
  static void overwrite(const std::string& path, std::streamoff at, char byte) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put(byte);
  }

  test::TempDir dir;
};

constexpr std::streamoff kFirstHeader = kSlotHeadersOffset;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(slab_store, SlabFixture)

BOOST_AUTO_TEST_CASE(slabs_are_a_64th_of_capacity_in_whole_slots) {
  const SlabStore slabs(dir.path(), Bytes{655'360'000});

  BOOST_TEST(slabs.slots_per_slab(kTenant, 64_KiB) == 157U);
  BOOST_TEST(slabs.slots_per_slab(kTenant, 1_GiB) == 1U);
  BOOST_TEST(SlabStore(dir.path(), Bytes{1ULL << 40}).slots_per_slab(kTenant, 1_MiB) == 64U);
}

BOOST_AUTO_TEST_CASE(a_committed_slot_is_found_again_after_a_restart) {
  SlotRef slot;
  std::uint64_t generation = 0;
  {
    const auto slabs = reopen();
    slot = {slabs->create(kTenant, "alpha", 4_KiB).value()->id(), 2};
    commit(*slabs, slot, 42);
    generation = slabs->header(slot)->generation;
  }

  const auto slabs = reopen();

  const Slab* slab = slabs->find(slot.slab);
  BOOST_REQUIRE(slab != nullptr);
  BOOST_TEST(slab->tenant() == kTenant);
  BOOST_TEST(slab->slot_bytes() == 4_KiB);
  const SlotHeader& header = *slabs->header(slot);
  BOOST_TEST((inspect(header, 4_KiB) == SlotCondition::kCommitted));
  BOOST_TEST((inspect(*slab->header(1), 4_KiB) == SlotCondition::kEmpty));
  BOOST_TEST(header.hash_low == key_of(42).hash.low);
  BOOST_TEST(header.checksum == 42U);
  BOOST_TEST(header.generation.load() == generation);
  BOOST_TEST(static_cast<int>(slabs->data(slot)[3999]) == 42);
}

BOOST_AUTO_TEST_CASE(a_generation_only_grows_over_reuse_and_restart) {
  SlotRef slot;
  std::uint64_t last = 0;
  for (std::uint64_t run = 0; run < 3; ++run) {
    const auto slabs = reopen();
    if (run == 0) slot = {slabs->create(kTenant, "alpha", 4_KiB).value()->id(), 0};
    for (std::uint64_t n = 0; n < 3; ++n) {
      commit(*slabs, slot, n);
      BOOST_TEST(slabs->header(slot)->generation.load() > last);
      last = slabs->header(slot)->generation;
    }
    slabs->begin_reuse(slot);  // killed while the slot was being filled
    BOOST_TEST(slabs->header(slot)->generation.load() > last);
    last = slabs->header(slot)->generation;
  }
}

BOOST_AUTO_TEST_CASE(a_cleared_slot_is_not_committed_after_a_restart) {
  SlotRef slot;
  {
    const auto slabs = reopen();
    slot = {slabs->create(kTenant, "alpha", 4_KiB).value()->id(), 0};
    commit(*slabs, slot, 1);
    slabs->clear(slot);
  }

  BOOST_TEST((inspect(*reopen()->header(slot), 4_KiB) == SlotCondition::kEmpty));
}

BOOST_AUTO_TEST_CASE(any_flipped_byte_of_a_committed_header_is_damage) {
  SlotRef slot;
  {
    const auto slabs = reopen();
    slot = {slabs->create(kTenant, "alpha", 4_KiB).value()->id(), 0};
    commit(*slabs, slot, 1);
  }
  const std::string path = file(".hdr");
  for (std::size_t at = 0; at < sizeof(SlotHeader); ++at) {
    char before = 0;
    {
      std::ifstream in(path, std::ios::binary);
      in.seekg(kFirstHeader + static_cast<std::streamoff>(at));
      in.get(before);
    }
    overwrite(path, kFirstHeader + static_cast<std::streamoff>(at),
              static_cast<char>(before ^ 0x10));

    BOOST_TEST((inspect(*reopen()->header(slot), 4_KiB) == SlotCondition::kDamaged), "byte " << at);
    overwrite(path, kFirstHeader + static_cast<std::streamoff>(at), before);
  }
  BOOST_TEST((inspect(*reopen()->header(slot), 4_KiB) == SlotCondition::kCommitted));
}

BOOST_AUTO_TEST_CASE(a_truncated_slab_is_set_aside_and_the_others_serve) {
  SlabId damaged;
  SlabId whole;
  {
    const auto slabs = reopen();
    damaged = slabs->create(kTenant, "alpha", 4_KiB).value()->id();
    whole = slabs->create(kTenant, "alpha", 4_KiB).value()->id();
  }
  std::filesystem::resize_file(Slab::data_path(dir.path(), damaged), 100);

  SlabStore::OpenReport report;
  const auto slabs = reopen(&report);

  BOOST_TEST(report.slabs == 1U);
  BOOST_TEST(report.slabs_set_aside == 1U);
  BOOST_TEST(slabs->find(damaged) == nullptr);
  BOOST_TEST(slabs->find(whole) != nullptr);
  BOOST_TEST(std::filesystem::exists(Slab::data_path(dir.path(), damaged) + ".bad"));
}

BOOST_AUTO_TEST_CASE(damage_in_the_first_page_sets_the_slab_aside) {
  for (const std::streamoff at : {0, 8, 13, 16, 40, 290}) {
    reopen()->create(kTenant, "alpha", 4_KiB).value();
    overwrite(file(".hdr"), at, '\x7f');

    SlabStore::OpenReport report;
    const auto slabs = reopen(&report);

    BOOST_TEST(report.slabs_set_aside == 1U, "byte " << at);
    BOOST_TEST(slabs->slab_ids().empty());
  }
}

BOOST_AUTO_TEST_CASE(what_others_could_have_written_is_set_aside_and_no_link_is_followed) {
  for (const char* kind : {".hdr", ".data"}) {
    for (const mode_t mode : {0666U, 0620U, 0602U}) {
      reopen()->create(kTenant, "alpha", 4_KiB).value();
      ::chmod(file(kind).c_str(), mode);

      SlabStore::OpenReport report;
      const auto slabs = reopen(&report);
      BOOST_TEST(report.slabs_set_aside == 1U, kind << " of mode " << mode);
      BOOST_TEST(slabs->slab_ids().empty());
    }
    reopen()->create(kTenant, "alpha", 4_KiB).value();
    const std::string path = file(kind);
    std::filesystem::rename(path, dir.path() + "/elsewhere");
    std::filesystem::create_symlink(dir.path() + "/elsewhere", path);

    SlabStore::OpenReport report;
    const auto slabs = reopen(&report);
    BOOST_TEST(report.slabs_set_aside == 1U, kind << " behind a link");
    BOOST_TEST(slabs->slab_ids().empty());
  }
}

BOOST_AUTO_TEST_CASE(another_format_version_is_refused_with_file_and_remedy) {
  reopen()->create(kTenant, "alpha", 4_KiB).value();
  const std::string path = file(".hdr");
  SlabFileHeader header{};
  std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
  stream.read(reinterpret_cast<char*>(&header), sizeof header);
  header.version = 2;
  header.checksum =
      checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(SlabFileHeader, checksum)));
  stream.seekp(0);
  stream.write(reinterpret_cast<const char*>(&header), sizeof header);
  stream.close();

  SlabStore slabs(dir.path(), 16_MiB);
  const auto opened = slabs.open([](const std::string& /*name*/) { return kTenant; });

  BOOST_TEST((opened.status().code() == absl::StatusCode::kFailedPrecondition));
  BOOST_TEST(opened.status().message().find(path) != absl::string_view::npos);
  BOOST_TEST(opened.status().message().find("remove") != absl::string_view::npos);
  BOOST_TEST(std::filesystem::exists(path));
}

BOOST_AUTO_TEST_CASE(leftovers_of_a_killed_create_are_cleaned_up) {
  std::ofstream(dir.path() + "/slab-7.data") << "x";
  std::ofstream(dir.path() + "/slab-8.hdr.tmp") << "x";
  std::ofstream(dir.path() + "/slab-mine.data") << "x";

  const auto slabs = reopen();

  BOOST_TEST(!std::filesystem::exists(dir.path() + "/slab-7.data"));
  BOOST_TEST(!std::filesystem::exists(dir.path() + "/slab-8.hdr.tmp"));
  BOOST_TEST(std::filesystem::exists(dir.path() + "/slab-mine.data"));
  BOOST_TEST(slabs->create(kTenant, "alpha", 4_KiB).value()->id().value() > 8U);
}

BOOST_AUTO_TEST_CASE(the_next_id_is_neither_written_through_a_link_nor_read_from_a_pipe) {
  const SlabId id = reopen()->create(kTenant, "alpha", 4_KiB).value()->id();
  const std::string next_id = dir.path() + "/slab-next-id";
  std::filesystem::create_symlink(file(".hdr"), next_id + ".tmp");
  std::filesystem::remove(next_id);
  BOOST_REQUIRE(::mkfifo(next_id.c_str(), 0600) == 0);
  const auto before = std::filesystem::file_size(file(".hdr"));

  SlabStore::OpenReport report;
  const auto slabs = reopen(&report);

  BOOST_TEST(report.slabs_set_aside == 0U);
  BOOST_TEST((slabs->slab_ids() == std::vector{id}));
  BOOST_TEST(std::filesystem::file_size(file(".hdr")) == before);
  BOOST_TEST(std::filesystem::is_regular_file(next_id));
}

BOOST_AUTO_TEST_CASE(ids_are_not_reused_after_retire_and_restart) {
  SlabId first;
  {
    const auto slabs = reopen();
    first = slabs->create(kTenant, "alpha", 4_KiB).value()->id();
    BOOST_REQUIRE(slabs->retire(first).ok());
  }

  BOOST_TEST(reopen()->create(kTenant, "alpha", 4_KiB).value()->id() > first);
}

BOOST_AUTO_TEST_CASE(a_retired_slab_reads_as_changed_and_holds_no_memory) {
  const auto slabs = reopen();
  Slab* slab = slabs->create(kTenant, "alpha", 4_KiB).value();
  const SlotRef slot{slab->id(), 0};
  commit(*slabs, slot, 1);
  const std::uint64_t generation = slab->header(0)->generation;
  const SlabFds fds = slabs->open_read_only(slab->id()).value();

  BOOST_REQUIRE(slabs->retire(slab->id()).ok());

  struct stat stat {};
  BOOST_REQUIRE(::fstat(fds.data, &stat) == 0);
  BOOST_TEST(stat.st_blocks == 0);
  BOOST_TEST(slab->header(0)->generation.load() > generation);
  BOOST_TEST(slabs->find(slot.slab) == nullptr);
  BOOST_TEST(slabs->total_bytes().count == 0U);
  BOOST_TEST(slabs->retired_bytes() == slab->bytes());
  BOOST_TEST(file(".data").empty());
  slabs->release_retired(slot.slab);
  BOOST_TEST(slabs->retired_bytes().count == 0U);
  BOOST_TEST(!slabs->retire(slot.slab).ok());
  ::close(fds.data);
  ::close(fds.headers);
}

BOOST_AUTO_TEST_CASE(clients_get_descriptors_that_cannot_be_mapped_writable) {
  const auto slabs = reopen();
  const SlabId id = slabs->create(kTenant, "alpha", 4_KiB).value()->id();

  const SlabFds fds = slabs->open_read_only(id).value();

  for (const int fd : {fds.data, fds.headers}) {
    void* writable = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    BOOST_TEST((writable == MAP_FAILED));
    BOOST_TEST(errno == EACCES);
    void* readable = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
    BOOST_TEST((readable != MAP_FAILED));
    ::munmap(readable, 4096);
    ::close(fd);
  }
}

BOOST_AUTO_TEST_CASE(grows_to_capacity_and_one_slab_a_pool_beyond) {
  const auto slabs = reopen();
  const Bytes slab = 256_KiB;

  while (slabs->may_grow(kTenant, 64_KiB))
    slabs->create(kTenant, "alpha", 64_KiB).value();
  BOOST_TEST(slabs->total_bytes() == 16_MiB + slab);

  BOOST_TEST(slabs->may_grow(TenantId(9), 64_KiB));
  slabs->create(TenantId(9), "beta", 64_KiB).value();
  BOOST_TEST(!slabs->may_grow(kTenant, 64_KiB));
  BOOST_TEST(slabs->total_bytes() <= 16_MiB + slab + slab);
  BOOST_TEST(!slabs->may_grow(kTenant, 32_MiB));
}

BOOST_AUTO_TEST_CASE(no_space_is_an_error_that_names_path_need_and_free) {
  SlabStore slabs(dir.path(), Bytes{1ULL << 50});

  const auto made = slabs.create(kTenant, "alpha", Bytes{1ULL << 49});

  BOOST_REQUIRE(!made.ok());
  BOOST_TEST(made.status().message().find(dir.path()) != absl::string_view::npos);
  BOOST_TEST(file(".data").empty());
  BOOST_TEST(file(".hdr").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::slab_store_test
