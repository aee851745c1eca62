// Hostile and mistaken input: each has its clear error, and the daemon serves on.

#include <cstring>

#include <boost/test/unit_test.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/e2e/raw.h"

namespace larder::bad_input_test {

using sim::Raw;

namespace {

bool names(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

std::vector<std::byte> header_with(std::size_t offset, std::uint32_t value) {
  std::vector<std::byte> head = make_head({.type = FrameType::kPing, .id = 9});
  std::memcpy(head.data() + offset, &value, 4);
  return head;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(larderd_bad_input)

BOOST_AUTO_TEST_CASE(malformed_headers_end_the_session_with_a_reason) {
  const sim::Daemon daemon;
  const struct {
    std::size_t offset;
    std::uint32_t value;
    const char* field;
  } cases[] = {{0, 0x12345678, "magic"},  {4, 0x00000263, "version"},  {16, 0x7fffffff, "body"},
               {20, 0x7fffffff, "array"}, {24, 0x7fffffff, "payload"}, {28, 1, "reserved"}};
  for (const auto& one : cases) {
    Raw raw(daemon.tcp());
    raw.bytes(header_with(one.offset, one.value));
    const std::string why = raw.error_notice();
    BOOST_TEST(names(why, one.field), why);
    BOOST_TEST(!raw.receive());
  }
  BOOST_TEST(daemon.stat("sessions") == 1);
}

BOOST_AUTO_TEST_CASE(a_session_begins_with_hello) {
  const sim::Daemon daemon;
  Raw raw(daemon.tcp(), /*greet=*/false);
  raw.send(FrameType::kPing, wire::SimpleReply());
  BOOST_TEST(names(raw.error_notice(), "hello"));
}

BOOST_AUTO_TEST_CASE(frames_that_lie_are_refused_and_nothing_changes) {
  const sim::Daemon daemon;
  const NamespaceSpec spec = sim::chain_spec("bad");
  Raw raw(daemon.tcp());
  const std::uint64_t ns = raw.open(spec);

  wire::GetRequest unknown;
  unknown.set_ns(ns + 1);
  std::vector<wire::KeyRecord> one(1);
  raw.send(FrameType::kGet, unknown, std::as_bytes(std::span(one)));
  BOOST_TEST(names(raw.refusal(), "namespace"));

  wire::GetRequest get;
  get.set_ns(ns);
  const std::vector<std::byte> torn(71);
  raw.send(FrameType::kGet, get, torn);
  BOOST_TEST(names(raw.refusal(), "array"));

  std::vector<wire::KeyRecord> many(4097);
  raw.send(FrameType::kGet, get, std::as_bytes(std::span(many)));
  BOOST_TEST(names(raw.refusal(), "4096"));

  wire::MatchRequest match;
  match.set_ns(ns);
  match.add_chain_units(0xffffffff);
  raw.send(FrameType::kMatch, match);
  BOOST_TEST(names(raw.refusal(), "chain_units"));

  wire::PutRequest put;
  put.set_ns(ns);
  put.set_sources(0xffffffff);
  raw.send(FrameType::kPut, put, std::as_bytes(std::span(one)));
  BOOST_TEST(names(raw.refusal(), "sources"));

  raw.send(static_cast<FrameType>(200), get);
  BOOST_TEST(names(raw.refusal(), "type"));

  wire::PutPartRequest part;
  part.set_put(12345);
  raw.send(FrameType::kPutPart, part);
  BOOST_TEST(names(raw.refusal(), "put"));

  BOOST_TEST(daemon.stat("blocks") == 0);
}

BOOST_AUTO_TEST_CASE(keys_out_of_bounds_are_answered_one_by_one) {
  const sim::Daemon daemon;
  const auto client = daemon.shm();
  const NamespaceSpec spec = sim::chain_spec("keys");
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch batch(spec, 1, 4, 4096);
  batch.keys[0].group = 1;
  batch.keys[1].rank = 1;
  batch.keys[2].flags = wire::kKeyFlat;
  const Completion put = client->put(ns, batch.keys, batch.sources, {});
  BOOST_REQUIRE(put.keys.size() == 4U);
  BOOST_TEST((put.keys[0] == KeyStatus::kInvalid));
  BOOST_TEST((put.keys[1] == KeyStatus::kInvalid));
  BOOST_TEST((put.keys[2] == KeyStatus::kInvalid));
  BOOST_TEST((put.keys[3] == KeyStatus::kOk));

  sim::Batch small(spec, 2, 1, 64);
  BOOST_TEST((client->put(ns, small.keys, small.sources, {}).keys != std::vector{KeyStatus::kOk}));
  BOOST_TEST(daemon.stat("blocks") == 1);
}

BOOST_AUTO_TEST_CASE(the_same_key_with_another_length_is_a_size_mismatch) {
  const sim::Daemon daemon;
  const auto client = daemon.shm();
  const NamespaceSpec spec = sim::chain_spec("length");
  const NamespaceId ns = *client->open_namespace(spec);
  sim::Batch first(spec, 1, 1, 4096);
  sim::Batch other(spec, 1, 1, 8192);
  sim::check_all(client->put(ns, first.keys, first.sources, {}), 1, KeyStatus::kOk);
  sim::check_all(client->put(ns, other.keys, other.sources, {}), 1, KeyStatus::kSizeMismatch);
  sim::check_all(client->get(ns, other.keys, other.targets, {}), 1, KeyStatus::kSizeMismatch);
  sim::check_all(client->put(ns, first.keys, first.sources, {}), 1, KeyStatus::kPresent);
}

BOOST_AUTO_TEST_CASE(another_group_table_of_an_open_namespace_is_an_error) {
  const sim::Daemon daemon;
  const auto client = daemon.shm();
  NamespaceSpec spec = sim::chain_spec("table");
  BOOST_REQUIRE(client->open_namespace(spec).ok());
  spec.groups[0].block_tokens = 32;
  const auto again = client->open_namespace(spec);
  BOOST_TEST((again.status().code() == absl::StatusCode::kFailedPrecondition));
  BOOST_TEST(names(std::string(again.status().message()), "block_tokens 32"));
}

BOOST_AUTO_TEST_CASE(memory_that_may_shrink_is_not_registered) {
  const sim::Daemon daemon;
  const auto client = daemon.shm();
  const int fd = ::memfd_create("unsealed", MFD_CLOEXEC);
  BOOST_REQUIRE(::ftruncate(fd, 1 << 20) == 0);
  void* memory = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const absl::Status refused =
      client->register_region(fd, {static_cast<std::byte*>(memory), 1 << 20});
  BOOST_TEST(!refused.ok());
  BOOST_TEST(names(std::string(refused.message()), "F_SEAL_SHRINK"), refused.message());
  ::munmap(memory, 1 << 20);
  ::close(fd);
}

BOOST_AUTO_TEST_CASE(a_configuration_that_cannot_be_is_refused_by_key) {
  const struct {
    std::vector<std::string> flags;
    const char* what;
  } cases[] = {{{"--shards", "1000"}, "shards"},
               {{"--policy", "magic"}, "policy"},
               {{"--host-bytes", "12 parsecs"}, "host"},
               {{"--listen", "0.0.0.0:7440"}, "token_file"},
               {{"--runtime-dir", "/proc/larder"}, "runtime_dir"},
               {{"--host-bytes", "1000TiB"}, "host"}};
  for (const auto& one : cases) {
    std::vector<std::string> command = {sim::built("larderd"), "--http", "off"};
    command.insert(command.end(), one.flags.begin(), one.flags.end());
    const sim::Finished finished = sim::run_program(command, std::chrono::seconds(5));
    BOOST_TEST((finished.status == 2 || finished.status == 4), finished.output);
    BOOST_TEST(names(finished.output, one.what), finished.output);
  }
}

BOOST_AUTO_TEST_CASE(a_broken_trace_is_named_by_line) {
  const sim::Daemon daemon;
  const std::string path = daemon.dir() + "/trace.jsonl";
  FILE* file = std::fopen(path.c_str(), "w");
  std::fputs(
      "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 1, \"hash_ids\": [1]}\n"
      "{\"timestamp\": 0, \"input_length\": 10, \"hash\n",
      file);
  std::fclose(file);
  const sim::Finished finished =
      sim::run_program({sim::built("larder"), "replay", path, "--server", daemon.socket()},
                       std::chrono::seconds(10));
  BOOST_TEST(finished.status != 0);
  BOOST_TEST(names(finished.output, "2"), finished.output);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::bad_input_test
