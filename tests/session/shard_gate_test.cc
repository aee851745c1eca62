#include "actors/shard_gate.h"

#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "policies/lru_policy.h"
#include "tests/temp_dir.h"

namespace larder::shard_gate_test {

namespace {

/// A gate before the desk of an empty shard.
struct Gated {
  Gated() {
    BOOST_REQUIRE(store.open([](const std::string&) { return TenantId(0); }).ok());
    desk = std::make_unique<ShardDesk>(
        std::make_unique<Shard>(ShardId(0), store,
                                [](TenantId) { return std::make_unique<LruPolicy>(); }),
        ShardDesk::Hooks{});
  }
  bool tried() {
    bool ran = false;
    const bool here = gate.try_here([&](ShardDesk& at) { ran = &at == desk.get(); });
    BOOST_TEST(here == ran);
    return here;
  }

  test::TempDir temp{test::kShm};
  NodeStore store{{.runtime_dir = temp.path(), .capacity = Bytes{1 << 20}, .shards = 1}};
  std::unique_ptr<ShardDesk> desk;
  ShardGate gate;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(shard_gate, Gated)

BOOST_AUTO_TEST_CASE(nobody_comes_in_before_it_opens_and_after_it_closes) {
  BOOST_TEST(!tried());
  gate.open(desk.get());
  BOOST_TEST(tried());
  gate.close();
  BOOST_TEST(!tried());
}

BOOST_AUTO_TEST_CASE(nobody_overtakes_a_message_that_waits) {
  gate.open(desk.get());
  gate.sent();
  gate.sent();
  BOOST_TEST(!tried());
  gate.handled();
  BOOST_TEST(!tried());
  gate.handled();
  BOOST_TEST(tried());
}

BOOST_AUTO_TEST_CASE(who_comes_while_somebody_is_there_is_not_kept_waiting) {
  gate.open(desk.get());
  bool came_in = true;
  gate.at_desk([&] {
    std::thread other([&] { came_in = gate.try_here([](ShardDesk&) {}); });
    other.join();
  });
  BOOST_TEST(!came_in);
}

BOOST_AUTO_TEST_CASE(one_at_a_time_is_at_the_desk_and_each_sender_s_messages_keep_their_order) {
  constexpr std::uint64_t kMessages = 20'000;
  gate.open(desk.get());
  // Plain fields: ThreadSanitizer sees whoever is there beside another.
  std::uint64_t handled = 0;
  std::vector<std::uint64_t> last(3, 0);
  Mutex mutex;
  std::vector<std::pair<std::size_t, std::uint64_t>> mailbox;
  bool ended = false;
  const auto carry_out = [&](std::size_t sender, std::uint64_t n) {
    handled += 1;
    BOOST_REQUIRE(last[sender] + 1 == n);
    last[sender] = n;
  };
  std::thread actor([&] {
    for (bool end = false; !end;) {
      std::vector<std::pair<std::size_t, std::uint64_t>> taken;
      {
        MutexLock lock(&mutex);
        end = ended;
        taken.swap(mailbox);
      }
      for (const auto& [sender, n] : taken) {
        gate.at_desk([&, from = sender, number = n] { carry_out(from, number); });
        gate.handled();
      }
    }
  });
  std::vector<std::thread> senders;
  for (std::size_t sender = 0; sender < last.size(); ++sender) {
    senders.emplace_back([&, sender] {
      for (std::uint64_t n = 1; n <= kMessages; ++n) {
        const bool is_short = n % 5 != 0;
        if (is_short && gate.try_here([&](ShardDesk&) { carry_out(sender, n); })) continue;
        gate.sent();
        MutexLock lock(&mutex);
        mailbox.emplace_back(sender, n);
      }
    });
  }
  for (std::thread& sender : senders)
    sender.join();
  {
    MutexLock lock(&mutex);
    ended = true;
  }
  actor.join();
  BOOST_TEST(handled == kMessages * last.size());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::shard_gate_test
