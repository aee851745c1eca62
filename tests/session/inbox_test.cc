#include "actors/inbox.h"

#include <boost/test/unit_test.hpp>

namespace larder::inbox_test {

namespace {

std::shared_ptr<const AbortNote> abort_of(Inbox& inbox, std::uint32_t entry) {
  auto note = std::make_shared<AbortNote>(ShardId(0), &inbox);
  note->items.push_back({EntryId(entry), 1});
  return note;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(inbox)

BOOST_AUTO_TEST_CASE(an_abort_that_dies_undone_comes_back) {
  Inbox inbox;
  abort_of(inbox, 1).reset();
  BOOST_TEST(inbox.take().size() == 1U);
}

BOOST_AUTO_TEST_CASE(aborts_that_nobody_took_go_with_it) {
  auto inbox = std::make_unique<Inbox>();
  for (std::uint32_t n = 0; n < 5; ++n)
    inbox->post(abort_of(*inbox, n));
  inbox = nullptr;  // each of them would come back, into what is being destroyed
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::inbox_test
