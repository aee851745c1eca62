// Limits that the kernel sets a process: what they forbid is an error of the call that needs it.

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/faults/process_figures.h"

namespace larder::kernel_limits_test {

namespace {

constexpr std::size_t kBytes = 65'536;

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_kernel_limits)

/// ulimit -f, which also sends a signal that ends a process that does not expect it.
BOOST_AUTO_TEST_CASE(a_slab_beyond_the_limit_on_files_is_no_space_and_costs_no_block) {
  constexpr std::size_t kLarge = 4 << 20;
  constexpr std::uint32_t kBlocks = 256;
  sim::Daemon::Options options;
  options.host_bytes = Bytes{16 << 20};
  options.limits = {{RLIMIT_FSIZE, kLarge / 2}};
  const sim::Daemon daemon(options);
  const auto client = daemon.shm();
  const NamespaceSpec small = sim::sized_spec("small", kBytes);
  const NamespaceSpec large = sim::sized_spec("large", kLarge);
  const NamespaceId of_small = *client->open_namespace(small);
  const NamespaceId of_large = *client->open_namespace(large);
  sim::Batch there(small, 1, kBlocks, kBytes);
  sim::check_all(client->put(of_small, there.keys, there.sources, {}), kBlocks, KeyStatus::kOk);

  sim::Batch beyond(large, 2, 1, kLarge);
  for (int n = 0; n < 20; ++n)
    sim::check_all(client->put(of_large, beyond.keys, beyond.sources, {}), 1, KeyStatus::kNoSpace);

  BOOST_TEST(daemon.log().find("slab_not_made") != std::string::npos);
  // One attempt made room before it failed.
  const Completion got = client->get(of_small, there.keys, there.targets, {.verify = true});
  BOOST_TEST(sim::count_of(got, KeyStatus::kOk) >= kBlocks - kLarge / kBytes - 32);
}

BOOST_AUTO_TEST_CASE(too_little_address_space_is_refused_by_name) {
  if (sim::kSanitized) return;  // its shadow needs more than any limit that would do
  sim::Daemon daemon(sim::Daemon::Options{});
  daemon.kill();
  daemon.options().limits = {{RLIMIT_AS, 1ULL << 30}};

  BOOST_TEST(!daemon.try_start());

  BOOST_TEST(daemon.exit_status() == 4);
  BOOST_TEST(daemon.log().find("RLIMIT_AS") != std::string::npos, daemon.log());
  daemon.options().limits = {{RLIMIT_AS, 8ULL << 30}};
  daemon.start();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::kernel_limits_test
