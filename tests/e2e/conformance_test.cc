// The conformance suite against a real larderd, over every path.

#include "tests/client/conformance.h"

#include <boost/test/data/test_case.hpp>

#include "tests/e2e/daemon.h"

namespace larder::conformance_test {

namespace data = boost::unit_test::data;

namespace {

enum class Path { kTcp, kAttach, kStaged };
constexpr Path kPaths[] = {Path::kTcp, Path::kAttach, Path::kStaged};
std::ostream& operator<<(std::ostream& out, Path path) {
  return out << (path == Path::kTcp ? "tcp" : path == Path::kAttach ? "attach" : "staged");
}

std::unique_ptr<Client> client_of(const sim::Daemon& daemon, Path path) {
  Client::Options options;
  options.server = path == Path::kTcp ? daemon.tcp() : daemon.socket();
  options.deadline = std::chrono::seconds(20);
  options.allow_attach = path == Path::kAttach;
  return daemon.connect(std::move(options));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_conformance)

BOOST_DATA_TEST_CASE(blocks_of_256_bytes_to_256_mib_come_back, data::make(kPaths), path) {
  sim::Daemon daemon(
      {.host_bytes = Bytes{768 << 20}, .flags = {}, .environment = {}, .program = {}});
  const auto client = client_of(daemon, path);
  sim::round_trip(*client, 1, 1, 256);
  sim::round_trip(*client, 2, 16, 1000);
  sim::round_trip(*client, 3, 3, 70'000);
  sim::round_trip(*client, 4, 4, 5'000'001);
  sim::round_trip(*client, 5, 2, 16 << 20);
  sim::round_trip(*client, 6, 4096, 4096);
  sim::round_trip(*client, 7, 1, 256 << 20);
}

BOOST_DATA_TEST_CASE(each_key_has_its_own_answer, data::make(kPaths), path) {
  sim::Daemon daemon;
  sim::mixed_batch(*client_of(daemon, path));
}

BOOST_DATA_TEST_CASE(match_sees_what_is_there, data::make(kPaths), path) {
  sim::Daemon daemon;
  sim::match_and_remove(*client_of(daemon, path));
}

BOOST_DATA_TEST_CASE(flat_names_work, data::make(kPaths), path) {
  sim::Daemon daemon;
  sim::flat_names(*client_of(daemon, path));
}

BOOST_DATA_TEST_CASE(every_submission_ends_once, data::make(kPaths), path) {
  sim::Daemon daemon;
  sim::submitted(*client_of(daemon, path));
}

BOOST_DATA_TEST_CASE(layers_become_visible_together, data::make(kPaths), path) {
  sim::Daemon daemon;
  sim::layer_by_layer(*client_of(daemon, path), 3'000'000);
}

BOOST_DATA_TEST_CASE(layers_of_some_blocks_leave_the_others_alone, data::make(kPaths), path) {
  sim::Daemon daemon;
  const auto client = client_of(daemon, path);
  sim::layers_of_some(*client, 20'000);
}

BOOST_DATA_TEST_CASE(threads_share_a_client, data::make(kPaths), path) {
  sim::Daemon daemon(
      {.host_bytes = Bytes{256 << 20}, .flags = {}, .environment = {}, .program = {}});
  sim::many_threads(*client_of(daemon, path), 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::conformance_test
