// The file system of the runtime directory is full: nothing is made, nothing is lost, nobody dies.

#include <filesystem>

#include <boost/test/unit_test.hpp>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/faults/private_space.h"
#include "tests/faults/process_figures.h"

namespace larder::full_directory_test {

namespace {

constexpr std::uint32_t kBlocks = 64;
constexpr std::size_t kBytes = 65'536;
constexpr Bytes kTmpfs{24 << 20};

/// A daemon that may hold two thirds of the small file system in `dir`.
sim::Daemon::Options options_in(const test::TempDir& dir, std::vector<std::string> flags = {}) {
  return {.host_bytes = Bytes{kTmpfs.count / 3 * 2},
          .flags = std::move(flags),
          .environment = {},
          .program = {},
          .runtime_dir = dir.path() + "/run"};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_full_directory)

BOOST_AUTO_TEST_CASE(puts_find_no_space_what_is_there_serves_and_room_heals) {
  const test::TempDir dir;
  const auto tmpfs = sim::SmallTmpfs::mount(dir.path(), kTmpfs);
  if (!tmpfs) return;
  sim::Daemon daemon(options_in(dir, {"--pin-quota-percent", "100"}));
  const auto client = daemon.shm();
  const NamespaceSpec spec = sim::sized_spec("full", kBytes);
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch there(spec, 1, kBlocks, kBytes);
  sim::check_all(client->put(ns, there.keys, there.sources, {}), kBlocks, KeyStatus::kOk);
  sim::check_all(client->pin(ns, there.keys, Duration(0)), kBlocks, KeyStatus::kOk);
  const NamespaceSpec wide = sim::sized_spec("wide", 4 * kBytes);
  const NamespaceId of_wide = *client->open_namespace(wide);
  const std::string ballast = tmpfs->fill();

  // A few slots of this size are free in slabs that are there; no more are made.
  sim::Batch more(spec, 2, 2 * kBlocks, kBytes);
  const Completion same = client->put(ns, more.keys, more.sources, {});
  BOOST_TEST(sim::count_of(same, KeyStatus::kNoSpace) >= kBlocks, same.message);
  BOOST_TEST(sim::count_of(same, KeyStatus::kNoSpace) + sim::count_of(same, KeyStatus::kOk) ==
             2 * kBlocks);
  sim::Batch other(wide, 3, 8, 4 * kBytes);
  sim::check_all(client->put(of_wide, other.keys, other.sources, {}), 8, KeyStatus::kNoSpace);
  const auto opened = client->open_namespace(sim::sized_spec("new", kBytes));
  BOOST_TEST((opened.status().code() == absl::StatusCode::kResourceExhausted),
             opened.status().message());
  BOOST_TEST(daemon.log().find("slab_not_made") != std::string::npos);
  for (const auto& reader : {daemon.shm(), daemon.tcp_client()}) {
    const NamespaceId same_ns = *reader->open_namespace(spec);
    there.clear();
    sim::check_all(reader->get(same_ns, there.keys, there.targets, {.verify = true}), kBlocks,
                   KeyStatus::kOk);
    BOOST_TEST(there.got_all());
  }

  std::filesystem::remove(ballast);
  BOOST_TEST(sim::soon(std::chrono::seconds(5), [&] {
    const Completion put = client->put(of_wide, other.keys, other.sources, {});
    return sim::count_of(put, KeyStatus::kNoSpace) == 0;
  }));
  BOOST_TEST(client->open_namespace(sim::sized_spec("new", kBytes)).ok());
}

/// Nothing that could leave makes place for so large a slab, so nothing leaves.
BOOST_AUTO_TEST_CASE(a_put_that_cannot_be_stored_costs_no_block) {
  const test::TempDir dir;
  const auto tmpfs = sim::SmallTmpfs::mount(dir.path(), kTmpfs);
  if (!tmpfs) return;
  sim::Daemon daemon(options_in(dir));
  const auto client = daemon.shm();
  const NamespaceSpec spec = sim::sized_spec("small", kBytes);
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch there(spec, 1, 16, kBytes);
  sim::check_all(client->put(ns, there.keys, there.sources, {}), 16, KeyStatus::kOk);
  constexpr std::size_t kLarge = 10 << 20;
  const NamespaceSpec wide = sim::sized_spec("wide", kLarge);
  const NamespaceId of_wide = *client->open_namespace(wide);
  const std::string ballast = tmpfs->fill();
  sim::Batch large(wide, 2, 1, kLarge);
  sim::check_all(client->put(of_wide, large.keys, large.sources, {}), 1, KeyStatus::kNoSpace);
  sim::check_all(client->get(ns, there.keys, there.targets, {}), 16, KeyStatus::kOk);
  BOOST_TEST(there.got_all());
}

BOOST_AUTO_TEST_CASE(a_restart_on_a_full_directory_says_what_it_lacks_and_loses_nothing) {
  const test::TempDir dir;
  const auto tmpfs = sim::SmallTmpfs::mount(dir.path(), kTmpfs);
  if (!tmpfs) return;
  sim::Daemon daemon(options_in(dir));
  const NamespaceSpec spec = sim::sized_spec("full", kBytes);
  sim::Batch there(spec, 1, kBlocks, kBytes);
  {
    const auto client = daemon.shm();
    sim::check_all(client->put(*client->open_namespace(spec), there.keys, there.sources, {}),
                   kBlocks, KeyStatus::kOk);
  }
  daemon.kill();
  const std::string ballast = tmpfs->fill();
  // As much as it has is enough for what it is asked to hold, yet not a page more is there.
  daemon.options().host_bytes = Bytes{4 << 20};

  BOOST_TEST(!daemon.try_start());

  BOOST_TEST(daemon.exit_status() == 4);
  BOOST_TEST(daemon.log().find(daemon.runtime_dir()) != std::string::npos, daemon.log());
  BOOST_TEST(daemon.log().find("No space left") != std::string::npos, daemon.log());
  std::filesystem::remove(ballast);
  daemon.options().host_bytes = Bytes{16 << 20};
  daemon.start();
  const auto client = daemon.shm();
  sim::check_all(client->get(*client->open_namespace(spec), there.keys, there.targets, {}), kBlocks,
                 KeyStatus::kOk);
  BOOST_TEST(there.got_all());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::full_directory_test
