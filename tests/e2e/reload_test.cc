// SIGHUP: what a running daemon takes over, what it says of the rest, and that a broken file
// changes nothing.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/eventually.h"

namespace larder::reload_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Reloaded {
  Reloaded() { write("host_bytes = \"64MiB\""); }

  void write(const std::string& text) const { std::ofstream(file) << text << '\n'; }
  std::uint64_t slab_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(daemon->runtime_dir())) {
      std::error_code gone;  // slabs are retired meanwhile
      const std::uint64_t size = entry.file_size(gone);
      if (!gone) bytes += size;
    }
    return bytes;
  }

  test::TempDir dir;
  std::string file = dir.path() + "/larder.toml";
  std::unique_ptr<sim::Daemon> daemon;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(reload)

BOOST_AUTO_TEST_CASE(another_policy_keeps_every_block_under_a_running_client) {
  Reloaded with;
  with.write("policy = \"lru\"");
  with.daemon = std::make_unique<sim::Daemon>(sim::Daemon::Options{.host_bytes = Bytes{256 << 20},
                                                                   .flags = {"--config", with.file},
                                                                   .environment = {},
                                                                   .program = {}});
  const auto client = with.daemon->shm();
  const NamespaceSpec spec = sim::chain_spec("policy");
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch batch(spec, 1, 64, 1 << 20);
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 64, KeyStatus::kOk);
  for (const std::string name : {"haz", "sieve", "lru", "haz"}) {
    with.write("policy = \"" + name + "\"");
    std::atomic<bool> done{false};
    std::thread other([&] {
      const auto busy = with.daemon->shm();
      const NamespaceId own = *busy->open_namespace(spec);
      for (std::uint64_t n = 2; !done; ++n) {
        sim::Batch more(spec, 100 + n % 20, 2, 1 << 20);
        for (const KeyStatus status : busy->put(own, more.keys, more.sources, {}).keys)
          BOOST_TEST((status == KeyStatus::kOk || status == KeyStatus::kPresent));
      }
    });
    with.daemon->reload("reload_changed key=policy");
    std::this_thread::sleep_for(milliseconds(100));
    done = true;
    other.join();
    batch.clear();
    sim::check_all(client->get(ns, batch.keys, batch.targets, {}), 64, KeyStatus::kOk);
    BOOST_TEST(batch.got_all());
    BOOST_TEST(client->server_stats()->policy == name);
  }
}

BOOST_AUTO_TEST_CASE(capacity_shrinks_and_grows_under_a_running_client) {
  Reloaded with;
  with.daemon = std::make_unique<sim::Daemon>(sim::Daemon::Options{
      .host_bytes = Bytes{0}, .flags = {"--config", with.file}, .environment = {}, .program = {}});
  auto client = with.daemon->shm();
  const NamespaceSpec spec = sim::chain_spec("reload");
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch batch(spec, 1, 48, 1 << 20);
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 48, KeyStatus::kOk);
  const std::uint64_t before = with.slab_bytes();

  with.write("host_bytes = \"16MiB\"");
  with.daemon->reload("reload_changed key=host_bytes");
  BOOST_TEST(test::eventually([&] { return with.daemon->stat("used_bytes") <= 16 << 20; }));
  BOOST_TEST(with.daemon->stat("used_bytes") > 8 << 20);
  // Memory follows within a few of the slab actor's rounds.
  const auto end = std::chrono::steady_clock::now() + seconds(40);
  while (with.slab_bytes() > before / 2 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(100));
  BOOST_TEST(with.slab_bytes() <= before / 2);
  // What is left is right to the byte, what left is a miss.
  const Completion got = client->get(ns, batch.keys, batch.targets, {});
  BOOST_TEST((got.code == absl::StatusCode::kOk));
  for (std::size_t n = 0; n < batch.keys.size(); ++n) {
    if (got.keys[n] == KeyStatus::kOk) {
      BOOST_TEST((batch.places[n] == batch.blocks[n]));
    } else {
      BOOST_TEST((got.keys[n] == KeyStatus::kMiss));
    }
  }

  with.write("host_bytes = \"64MiB\"");
  with.daemon->reload("reload_changed key=host_bytes");
  sim::Batch more(spec, 2, 48, 1 << 20);
  sim::check_all(client->put(ns, more.keys, more.sources, {}), 48, KeyStatus::kOk);
  sim::check_all(client->get(ns, more.keys, more.targets, {}), 48, KeyStatus::kOk);
  BOOST_TEST(more.got_all());
}

BOOST_AUTO_TEST_CASE(what_cannot_change_is_named_and_a_broken_file_changes_nothing) {
  Reloaded with;
  with.daemon = std::make_unique<sim::Daemon>(sim::Daemon::Options{
      .host_bytes = Bytes{0}, .flags = {"--config", with.file}, .environment = {}, .program = {}});
  auto client = with.daemon->shm();

  with.write("host_bytes = \"64MiB\"\nlease_ms = 5000\nmax_sessions = 7");
  with.daemon->reload("reload_needs_restart key=lease_ms value=10000 wanted=5000");
  BOOST_TEST(test::eventually([&] {  // logged after it
    return with.daemon->logged("reload_changed key=max_sessions from=1024 to=7") == 1U;
  }));

  with.write("host_bytes = \"64MiB\"\nmax_sessions = 3\nno_such_key = 1");
  with.daemon->reload("reload_refused");
  BOOST_TEST(with.daemon->logged("no_such_key") == 1U);
  BOOST_TEST(with.daemon->logged("key=max_sessions") == 1U);

  // More than the file system has room for.
  with.write("host_bytes = \"60T\"");
  with.daemon->reload("reload_refused");
  sim::Batch batch(sim::chain_spec("reload"), 1, 2, 5000);
  const NamespaceId ns = *client->open_namespace(sim::chain_spec("reload"));
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), 2, KeyStatus::kOk);
  BOOST_TEST(client->stats().reconnects == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::reload_test
