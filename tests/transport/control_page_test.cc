#include "transport/control_page.h"

#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>

#include "store/limits.h"
#include "store/status_macros.h"

namespace larder::control_page_test {
namespace {

struct TwoEnds {
  TwoEnds()
      : server(*ControlPage::create()),
        client(*ControlPage::map(Fd(fcntl(server.fd(), F_DUPFD_CLOEXEC, 0)))) {}
  ControlPage server;
  ControlPage client;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(control_page)

BOOST_AUTO_TEST_CASE(a_commit_makes_a_cancel_too_late) {
  TwoEnds ends;
  ends.client.activate(3, 17);
  BOOST_TEST(ends.server.is_active(3, 17));

  BOOST_TEST(ends.server.commit(3, 17));
  BOOST_TEST(!ends.client.cancel(3, 17));
}

BOOST_AUTO_TEST_CASE(a_cancel_makes_a_commit_impossible) {
  TwoEnds ends;
  ends.client.activate(3, 17);

  BOOST_TEST(ends.client.cancel(3, 17));
  BOOST_TEST(ends.client.cancel(3, 17));
  BOOST_TEST(!ends.server.commit(3, 17));
  BOOST_TEST(!ends.server.is_active(3, 17));
}

BOOST_AUTO_TEST_CASE(a_reused_word_is_not_taken_for_the_put_before) {
  TwoEnds ends;
  ends.client.activate(3, 17);
  ends.client.clear(3);
  ends.client.activate(3, 18);

  BOOST_TEST(!ends.server.commit(3, 17));
  BOOST_TEST(ends.server.commit(3, 18));
}

BOOST_AUTO_TEST_CASE(of_racing_commit_and_cancel_exactly_one_wins) {
  TwoEnds ends;
  constexpr std::uint64_t kRounds = 20'000;
  std::atomic<std::uint64_t> round{0};
  std::vector<std::uint8_t> committed(kRounds + 1);
  std::thread server([&] {
    for (std::uint64_t id = 1; id <= kRounds; ++id) {
      while (round.load() < id)
        std::this_thread::yield();
      committed[id] = ends.server.commit(0, id) ? 1 : 0;
      while (round.load() == id)
        std::this_thread::yield();
    }
  });
  std::vector<std::uint8_t> cancelled(kRounds + 1);

  for (std::uint64_t id = 1; id <= kRounds; ++id) {
    ends.client.activate(0, id);
    round = id;
    if (id % 3 == 0) std::this_thread::yield();
    cancelled[id] = ends.client.cancel(0, id) ? 1 : 0;
  }
  round = kRounds + 1;
  server.join();

  std::uint64_t agree = 0;
  for (std::uint64_t id = 1; id <= kRounds; ++id)
    agree += committed[id] + cancelled[id];
  // The last rounds may have been cleared by the next activation before the server looked: then
  // it did not commit, and the client had cancelled.
  BOOST_TEST(agree == kRounds);
}

BOOST_AUTO_TEST_CASE(the_page_can_not_be_resized_and_an_unsealed_one_is_refused) {
  const ControlPage page = *ControlPage::create();
  BOOST_TEST(ftruncate(page.fd(), 1) != 0);
  BOOST_TEST(ftruncate(page.fd(), 1 << 20) != 0);

  Fd loose(memfd_create("larder-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  BOOST_REQUIRE(ftruncate(loose.get(), limits::kControlWords * 8) == 0);

  BOOST_TEST(absl::IsFailedPrecondition(ControlPage::map(std::move(loose)).status()));
}

BOOST_AUTO_TEST_CASE(a_page_too_short_is_refused_by_its_size) {
  absl::StatusOr<Fd> small = make_sealed_memfd("larder-test", {100});
  BOOST_REQUIRE(small.ok());

  const absl::Status status = ControlPage::map(*std::move(small)).status();

  BOOST_TEST(absl::IsFailedPrecondition(status));
  BOOST_TEST(std::string(status.message()).find("100") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::control_page_test
