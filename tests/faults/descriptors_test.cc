// Too few file descriptors: who cannot be served is told, who is served goes on.

#include <algorithm>
#include <filesystem>

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/e2e/raw.h"
#include "tests/faults/process_figures.h"

namespace larder::descriptors_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::size_t kBytes = 65'536;

NamespaceSpec spec() {
  return sim::sized_spec("descriptors", kBytes);
}

/// 0: as here.
std::vector<sim::ResourceLimit> limit(std::uint64_t descriptors) {
  if (descriptors == 0) return {};
  return {{RLIMIT_NOFILE, descriptors}};
}

sim::Daemon::Options options(std::uint64_t descriptors) {
  sim::Daemon::Options made;
  made.host_bytes = Bytes{4 << 20};
  made.flags = {"--heartbeat-ms", "60000"};
  made.limits = limit(descriptors);
  return made;
}

/// Who connects without a word, and has not waited for an answer yet.
std::unique_ptr<sim::Raw> newcomer(const sim::Daemon& daemon) {
  auto raw = std::make_unique<sim::Raw>(daemon.tcp(), /*greet=*/false);
  raw->say_hello({});
  return raw;
}

void set_limit(pid_t pid, std::uint64_t descriptors) {
  const rlimit changed{descriptors, 128};
  BOOST_REQUIRE(::prlimit(pid, RLIMIT_NOFILE, &changed, nullptr) == 0);
}

bool names(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_descriptors)

BOOST_AUTO_TEST_CASE(who_comes_when_none_are_left_is_told_and_open_sessions_go_on) {
  const sim::Daemon daemon(options(128));
  const auto bystander = daemon.shm();
  const NamespaceId ns = *bystander->open_namespace(spec());
  sim::Batch batch(spec(), 1, 16, kBytes);
  sim::check_all(bystander->put(ns, batch.keys, batch.sources, {}), 16, KeyStatus::kOk);
  sim::check_all(bystander->get(ns, batch.keys, batch.targets, {}), 16, KeyStatus::kOk);

  std::vector<std::unique_ptr<sim::Raw>> crowd;
  std::size_t told = 0;
  for (int n = 0; n < 300; ++n) {
    auto raw = newcomer(daemon);
    BOOST_REQUIRE(raw->receive());
    if (raw->frame().header.type == FrameType::kError) {
      const std::string why = raw->body<wire::ErrorNotice>().status().message();
      BOOST_TEST(names(why, "descriptors"), why);
      BOOST_TEST(names(why, "128"), why);
      told += 1;
    }
    crowd.push_back(std::move(raw));
  }
  BOOST_TEST(told >= 150U);
  BOOST_TEST(sim::figure(*bystander, "accepts_failed") >= 150);
  batch.clear();
  sim::check_all(bystander->get(ns, batch.keys, batch.targets, {}), 16, KeyStatus::kOk);
  BOOST_TEST(batch.got_all());
  // A put may need a slab, and so a descriptor: it takes the place of others, or finds no room.
  sim::Batch more(spec(), 2, 32, kBytes);
  for (const KeyStatus status : bystander->put(ns, more.keys, more.sources, {}).keys)
    BOOST_TEST((status == KeyStatus::kOk || status == KeyStatus::kNoSpace));

  crowd.clear();
  BOOST_TEST(sim::soon(seconds(2), [&] {
    Client::Options again;
    again.server = daemon.tcp();
    again.connect_deadline = milliseconds(200);
    return Client::connect(again).ok();
  }));
  for (const KeyStatus status : bystander->put(ns, batch.keys, batch.sources, {}).keys)
    BOOST_TEST((status == KeyStatus::kOk || status == KeyStatus::kPresent));
}

BOOST_AUTO_TEST_CASE(who_comes_is_told_although_the_kept_descriptor_was_lost_for_a_moment) {
  const sim::Daemon daemon(options(128));
  std::vector<std::unique_ptr<sim::Raw>> crowd;
  do {
    crowd.push_back(newcomer(daemon));
    BOOST_REQUIRE(crowd.back()->receive());
    BOOST_REQUIRE(crowd.size() < 200U);
  } while (crowd.back()->frame().header.type != FrameType::kError);
  const auto in_use = [&] { return sim::descriptors(daemon.pid()); };
  const std::size_t before = in_use();

  // As when a file that the daemon opens for a moment takes the place while it is given up.
  set_limit(daemon.pid(), 4);
  const auto waits = newcomer(daemon);
  BOOST_REQUIRE(sim::soon(seconds(2), [&] { return in_use() < before; }));
  set_limit(daemon.pid(), 128);

  BOOST_TEST(names(waits->error_notice(), "descriptors"));
  for (int n = 0; n < 20; ++n)
    BOOST_TEST(names(newcomer(daemon)->error_notice(), "descriptors"));
}

BOOST_AUTO_TEST_CASE(slabs_that_cannot_be_opened_for_want_of_descriptors_are_not_damaged) {
  sim::Daemon daemon(options(0));
  NamespaceSpec many = spec();
  std::vector<std::unique_ptr<sim::Batch>> batches;
  {
    const auto client = daemon.shm();
    const NamespaceId ns = *client->open_namespace(many);
    batches.push_back(std::make_unique<sim::Batch>(many, 1, 56, kBytes));
    sim::check_all(client->put(ns, batches[0]->keys, batches[0]->sources, {}), 56, KeyStatus::kOk);
  }
  daemon.kill();
  daemon.options().limits = limit(64);  // each slab needs one

  BOOST_TEST(!daemon.try_start());

  BOOST_TEST(daemon.exit_status() == 4);
  BOOST_TEST(names(daemon.log(), "descriptors"), daemon.log());
  for (const auto& entry : std::filesystem::directory_iterator(daemon.runtime_dir()))
    BOOST_TEST(entry.path().extension() != ".bad", entry.path().string());
  daemon.options().limits = limit(0);
  daemon.start();
  const auto client = daemon.shm();
  sim::check_all(
      client->get(*client->open_namespace(many), batches[0]->keys, batches[0]->targets, {}), 56,
      KeyStatus::kOk);
  BOOST_TEST(batches[0]->got_all());
}

BOOST_AUTO_TEST_CASE(a_limit_below_what_a_start_needs_is_refused_by_name) {
  sim::Daemon daemon(options(0));
  daemon.kill();
  for (const std::uint64_t few : {8U, 16U, 24U, 63U}) {
    daemon.options().limits = limit(few);
    BOOST_TEST(!daemon.try_start());
    BOOST_TEST(daemon.exit_status() == 4, few << " descriptors: " << daemon.log());
    BOOST_TEST(names(daemon.log(), "descriptors"), daemon.log());
  }
  daemon.options().limits = limit(0);
  daemon.start();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::descriptors_test
