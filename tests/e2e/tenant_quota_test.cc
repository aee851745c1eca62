// Quotas of tenants: a tenant that floods loses its own blocks and nobody else's, over a reload and
// a restart.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/eventually.h"

namespace larder::tenant_quota_test {
namespace {

constexpr const char* kRedToken = "0123456789abcdef-red";
constexpr const char* kBlueToken = "0123456789abcdef-blue";
constexpr std::size_t kSmall = 64 << 10;
constexpr std::size_t kLarge = 1 << 20;

/// A daemon of 64 MiB and two tenants, of which red may have 8 MiB.
struct Shared {
  Shared() {
    ::chmod(tokens.c_str(), 0600);
    write("red host=8MiB share=2\n");
    daemon = std::make_unique<sim::Daemon>(
        sim::Daemon::Options{.flags = {"--token-file", tokens, "--tenant-file", tenants},
                             .environment = {},
                             .program = {}});
    connect();
  }
  void write(const std::string& text) const { std::ofstream(tenants) << text; }
  void connect() {
    red = client_of(kRedToken);
    blue = client_of(kBlueToken);
    red_ns = *red->open_namespace(spec);
    blue_ns = *blue->open_namespace(spec);
  }
  std::unique_ptr<Client> client_of(const std::string& token) const {
    Client::Options options;
    options.server = daemon->socket();
    options.token = token;
    options.deadline = std::chrono::seconds(10);
    return daemon->connect(std::move(options));
  }
  /// Blocks of the batch that are there with the right bytes.
  static std::size_t hits(Client& client, NamespaceId ns, sim::Batch& batch) {
    batch.clear();
    const Completion got = client.get(ns, batch.keys, batch.targets, {});
    std::size_t found = 0;
    for (std::size_t n = 0; n < got.keys.size(); ++n) {
      if (got.keys[n] != KeyStatus::kOk) continue;
      BOOST_TEST((batch.places[n] == batch.blocks[n]));
      found += 1;
    }
    return found;
  }
  /// Blocks that blue has from now on.
  sim::Batch blues(std::uint32_t count) const {
    sim::Batch batch(spec, 1, count, kSmall);
    sim::check_all(blue->put(blue_ns, batch.keys, batch.sources, {}), count, KeyStatus::kOk);
    return batch;
  }
  std::size_t red_hits(sim::Batch& batch) const { return hits(*red, red_ns, batch); }
  std::size_t blue_hits(sim::Batch& batch) const { return hits(*blue, blue_ns, batch); }
  /// One at a time: the blocks of one call are held until it is answered.
  void flood(sim::Batch& batch) const {
    for (std::size_t n = 0; n < batch.keys.size(); ++n) {
      sim::check_all(red->put(red_ns, std::span(batch.keys).subspan(n, 1),
                              std::span(batch.sources).subspan(n, 1), {}),
                     1, KeyStatus::kOk);
    }
  }

  test::TempDir dir;
  std::string tokens = dir.file(
      "tokens", std::string(kRedToken) + " red read write\n" + kBlueToken + " blue read write\n");
  std::string tenants = dir.path() + "/tenants";
  NamespaceSpec spec = sim::chain_spec("quota");
  std::unique_ptr<sim::Daemon> daemon;
  std::unique_ptr<Client> red, blue;
  NamespaceId red_ns, blue_ns;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tenant_quota)

BOOST_AUTO_TEST_CASE(a_tenant_that_floods_keeps_its_quota_and_costs_the_other_nothing) {
  Shared with;
  sim::Batch of_blue = with.blues(600);  // 37.5 of 64 MiB
  sim::Batch small(with.spec, 2, 300, kSmall);
  with.flood(small);
  const std::size_t kept = with.red_hits(small);
  BOOST_TEST(kept >= 120U);
  BOOST_TEST(kept <= 129U);  // of 128; the reserve is one

  sim::Batch large(with.spec, 3, 20, kLarge);
  with.flood(large);
  BOOST_TEST(with.red_hits(large) >= 7U);
  BOOST_TEST(with.red_hits(large) <= 8U);
  // Larger than the quota: no room ever, and said at once.
  sim::Batch huge(with.spec, 4, 1, 9 << 20);
  const auto before = std::chrono::steady_clock::now();
  sim::check_all(with.red->put(with.red_ns, huge.keys, huge.sources, {}), 1, KeyStatus::kNoSpace);
  BOOST_TEST((std::chrono::steady_clock::now() - before < std::chrono::milliseconds(500)));

  BOOST_TEST(with.blue_hits(of_blue) == 600U);
  BOOST_TEST(with.daemon->stat("used_bytes") <= 600 * kSmall + (8 << 20) + (8 << 20) / 100);
}

BOOST_AUTO_TEST_CASE(a_tenant_pins_no_more_than_its_quota_s_part) {
  Shared with;
  sim::Batch blocks(with.spec, 2, 4, kLarge);
  with.flood(blocks);
  const Completion pinned = with.red->pin(with.red_ns, blocks.keys, Duration(0));
  const std::vector<KeyStatus> right{KeyStatus::kOk, KeyStatus::kOk, KeyStatus::kNoSpace,
                                     KeyStatus::kNoSpace};
  BOOST_TEST((pinned.keys == right));  // a quarter of 8 MiB
  sim::Batch of_blue = with.blues(64);
  sim::check_all(with.blue->pin(with.blue_ns, of_blue.keys, Duration(0)), 64, KeyStatus::kOk);
}

BOOST_AUTO_TEST_CASE(a_reload_lowers_and_raises_a_quota_and_a_wrong_file_changes_nothing) {
  Shared with;
  sim::Batch of_blue = with.blues(100);
  sim::Batch of_red(with.spec, 2, 100, kSmall);
  with.flood(of_red);
  BOOST_TEST(with.red_hits(of_red) == 100U);
  const double blues = 100.0 * kSmall;

  with.write("red host=2MiB\n");
  with.daemon->reload("audit action=reload");
  BOOST_TEST(test::eventually(
      [&] { return with.daemon->stat("used_bytes") <= blues + static_cast<double>(2 << 20); }));
  BOOST_TEST(with.red_hits(of_red) == 32U);

  with.write("red host=1MiB\nblue hots=1\n");
  with.daemon->reload("reload_refused");
  BOOST_TEST(with.daemon->logged("line 2: word = hots=1: must be host=SIZE or share=N") == 1U);
  BOOST_TEST(with.red_hits(of_red) == 32U);

  with.write("* host=4MiB\nblue share=1\n");  // red has no line any more, blue has one
  with.daemon->reload("audit action=reload");
  sim::Batch more(with.spec, 3, 32, kSmall);
  with.flood(more);
  BOOST_TEST(with.red_hits(of_red) + with.red_hits(more) == 64U);

  with.write("red host=0\n");
  with.daemon->reload("audit action=reload");
  BOOST_TEST(test::eventually([&] { return with.daemon->stat("used_bytes") <= blues; }));
  BOOST_TEST(with.red_hits(more) == 0U);
  sim::Batch one(with.spec, 4, 1, 4096);
  sim::check_all(with.red->put(with.red_ns, one.keys, one.sources, {}), 1, KeyStatus::kNoSpace);

  with.write("");
  with.daemon->reload("audit action=reload");
  sim::Batch all(with.spec, 5, 300, kSmall);
  with.flood(all);
  BOOST_TEST(with.red_hits(all) == 300U);
  BOOST_TEST(with.blue_hits(of_blue) == 100U);
}

BOOST_AUTO_TEST_CASE(who_is_over_its_quota_after_kill_9_shrinks_to_it) {
  Shared with;
  sim::Batch of_blue = with.blues(300);
  sim::Batch of_red(with.spec, 2, 120, kSmall);
  with.flood(of_red);
  with.daemon->kill();

  with.write("red host=4MiB\n");
  with.daemon->start();
  with.connect();
  BOOST_TEST(test::eventually([&] { return with.daemon->stat("adopted") == 420; }));
  const double most = 300.0 * kSmall + static_cast<double>(4 << 20);
  BOOST_TEST(test::eventually([&] { return with.daemon->stat("used_bytes") <= most; }));
  BOOST_TEST(with.red_hits(of_red) == 64U);
  BOOST_TEST(with.blue_hits(of_blue) == 300U);

  // The next start is refused while the file is wrong, and nothing is lost by that.
  with.daemon->kill();
  with.write("red host=much\n");
  BOOST_TEST(!with.daemon->try_start());
  BOOST_TEST(with.daemon->log().find("line 1: host = much: must be a number of bytes") !=
             std::string::npos);
  with.write("red host=4MiB\n");
  with.daemon->start();
  with.connect();
  BOOST_TEST(with.red_hits(of_red) == 64U);
  BOOST_TEST(with.blue_hits(of_blue) == 300U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::tenant_quota_test
