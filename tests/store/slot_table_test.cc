#include "store/slot_table.h"

#include <atomic>
#include <cstdint>
#include <thread>

#include <boost/test/unit_test.hpp>

namespace larder::slot_table_test {
namespace {

constexpr std::uint64_t kHash = 5ULL << 32 | 0x11;
constexpr std::uint64_t kSameHomeOtherTag = 5ULL << 32 | 0x22;

BOOST_AUTO_TEST_SUITE(slot_table)

BOOST_AUTO_TEST_CASE(a_tag_is_found_wherever_in_its_line_and_beyond_it) {
  for (std::uint64_t home = 0; home < 64; ++home) {
    SlotTable table(6);
    for (std::uint32_t before = 0; before < 20; ++before) {
      const std::uint64_t hash = home << 32 | 0x11;
      BOOST_TEST(table.find_tag(hash) == SlotTable::kEmpty);
      table.place(hash, EntryId(before));
      BOOST_TEST(SlotTable::entry_of(table.find_tag(hash)) == EntryId(before));
      BOOST_TEST(table.remove(hash, EntryId(before)));
      table.place(home << 32 | 0x22, EntryId(before));
    }
  }
}

/// A search that saw the tag and then looks at the slot again finds a tombstone there as often as
/// not: that names no entry.
BOOST_AUTO_TEST_CASE(what_is_found_names_an_entry_while_the_writer_takes_it_out) {
  constexpr int kRounds = 300'000;
  SlotTable table(6);
  table.place(kHash, EntryId(1));
  table.place(kSameHomeOtherTag, EntryId(2));  // behind it: what is taken out leaves a tombstone
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      table.remove(kHash, EntryId(1));
      table.place(kHash, EntryId(1));
    }
  });
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint32_t slot = table.find_tag(kHash);
    if (slot != SlotTable::kEmpty && !SlotTable::tag_matches(slot, kHash)) wrong += 1;
  }
  stop = true;
  writer.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace larder::slot_table_test
