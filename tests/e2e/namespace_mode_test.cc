// How namespaces are served, removal of all that somebody stored, and who may do it; with the lines
// that tell who did.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/e2e/flip_byte.h"

namespace larder::namespace_mode_test {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::uint32_t kBlocks = 8;
constexpr const char* kToken = "0123456789abcdef-b";

std::string read(const std::string& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

/// A daemon with a second tenant by token, and an audit file.
struct Served {
  Served() {
    ::chmod(tokens.c_str(), 0600);
    daemon = std::make_unique<sim::Daemon>(
        sim::Daemon::Options{.flags = {"--token-file", tokens, "--audit-file", audit_file},
                             .environment = {},
                             .program = {}});
    client = daemon->shm();
    ns = *client->open_namespace(spec);
  }
  std::unique_ptr<Client> tenant_b() const {
    Client::Options options;
    options.server = daemon->tcp();
    options.token = kToken;
    options.deadline = std::chrono::seconds(5);
    return daemon->connect(std::move(options));
  }
  ChainMatch match(const sim::Batch& batch, bool claim = false) const {
    const std::span<const BlockHash> chain(batch.chain);
    const auto found = client->match(ns, {&chain, 1}, {.claim = claim, .details = true});
    BOOST_REQUIRE(found.ok());
    return found->at(0);
  }
  Completion get(sim::Batch& batch) const {
    batch.clear();
    return client->get(ns, batch.keys, batch.targets, {});
  }
  NamespaceMode served() const {
    const auto rows = client->namespaces(false);
    BOOST_REQUIRE(rows.ok());
    for (const auto& row : *rows) {
      if (row.id == ns) return row.served;
    }
    BOOST_ERROR("the namespace is not listed");
    return NamespaceMode::kDefault;
  }
  bool audited(const std::string& what) const {
    return read(audit_file).find(what) != std::string::npos;
  }

  test::TempDir dir;
  std::string tokens = dir.file("tokens", std::string(kToken) + " b read write\n");
  std::string audit_file = dir.path() + "/audit";
  NamespaceSpec spec = sim::chain_spec("modes");
  std::unique_ptr<sim::Daemon> daemon;
  std::unique_ptr<Client> client;
  NamespaceId ns;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(namespace_mode, Served)

BOOST_AUTO_TEST_CASE(shadow_stores_and_counts_and_serves_nothing) {
  sim::Batch old(spec, 1, kBlocks, kBlock);
  sim::Batch fresh(spec, 2, kBlocks, kBlock);
  sim::check_all(client->put(ns, old.keys, old.sources, {}), kBlocks, KeyStatus::kOk);
  BOOST_REQUIRE(client->set_mode(ns, NamespaceMode::kShadow).ok());

  const ChainMatch match = this->match(old, /*claim=*/true);
  BOOST_TEST(match.usable_tokens == 0U);
  BOOST_TEST(match.pending_tokens == 0U);
  BOOST_TEST(match.claimed == 0U);
  BOOST_REQUIRE(match.groups.at(0).size() == kBlocks);
  for (const wire::MatchRecord& record : match.groups[0])
    BOOST_TEST(record.state == static_cast<std::uint8_t>(MatchState::kAbsent));
  sim::check_all(get(old), kBlocks, KeyStatus::kMiss);
  sim::check_all(client->wait(ns, old.keys, std::chrono::seconds(1)), kBlocks, KeyStatus::kMiss);
  sim::check_all(client->put(ns, old.keys, old.sources, {}), kBlocks, KeyStatus::kPresent);
  sim::check_all(client->put(ns, fresh.keys, fresh.sources, {}), kBlocks, KeyStatus::kOk);
  BOOST_TEST(daemon->stat("shadow_hit_tokens") == kBlocks * 16.0);
  BOOST_TEST(daemon->stat("shadow_get_hits") == kBlocks);
  BOOST_TEST(daemon->stat("match_hit_tokens") == 0);

  BOOST_REQUIRE(client->set_mode(ns, NamespaceMode::kOn).ok());
  for (sim::Batch* batch : {&old, &fresh}) {
    sim::check_all(get(*batch), kBlocks, KeyStatus::kOk);
    BOOST_TEST(batch->got_all());
  }
  BOOST_TEST(audited("action=SetMode"));
  BOOST_TEST(audited("mode=shadow"));
}

BOOST_AUTO_TEST_CASE(off_stores_nothing_serves_nothing_and_outlives_a_kill) {
  sim::Batch old(spec, 1, kBlocks, kBlock);
  sim::Batch fresh(spec, 2, kBlocks, kBlock);
  sim::check_all(client->put(ns, old.keys, old.sources, {}), kBlocks, KeyStatus::kOk);
  BOOST_REQUIRE(client->set_mode(ns, NamespaceMode::kOff).ok());
  for (int turn = 0; turn < 2; ++turn) {
    BOOST_TEST((served() == NamespaceMode::kOff));
    sim::check_all(client->put(ns, fresh.keys, fresh.sources, {}), kBlocks, KeyStatus::kRefused);
    const auto layers = client->put_start(ns, fresh.keys, {});
    BOOST_REQUIRE(layers.ok());
    for (const KeyStatus key : layers->keys)
      BOOST_TEST((key == KeyStatus::kRefused));
    client->put_abort(layers->id);
    sim::check_all(get(old), kBlocks, KeyStatus::kMiss);
    BOOST_TEST(match(old).usable_tokens == 0U);
    daemon->kill();
    daemon->start();
    client = daemon->shm();
    ns = *client->open_namespace(spec);
  }
  BOOST_REQUIRE(client->set_mode(ns, NamespaceMode::kDefault).ok());
  sim::check_all(get(old), kBlocks, KeyStatus::kOk);
  BOOST_TEST(old.got_all());
  sim::check_all(get(fresh), kBlocks, KeyStatus::kMiss);
}

BOOST_AUTO_TEST_CASE(off_holds_for_a_put_that_is_under_way_and_a_wait_that_is_open) {
  sim::Batch batch(spec, 1, 2, kBlock);
  const auto put = client->put_start(ns, batch.keys, {});
  BOOST_REQUIRE(put.ok());
  const std::vector<Client::Part> parts = {{.key = 0, .offset = 0, .buffer = batch.sources[0]},
                                           {.key = 1, .offset = 0, .buffer = batch.sources[1]}};
  BOOST_REQUIRE(client->put_part(put->id, parts).ok());
  std::thread switches([&] {
    const auto other = daemon->shm();
    usleep(100'000);
    BOOST_TEST(other->set_mode(ns, NamespaceMode::kOff).ok());
  });
  sim::check_all(client->wait(ns, batch.keys, std::chrono::seconds(20)), 2, KeyStatus::kMiss);
  switches.join();
  sim::check_all(client->put_end(put->id), 2, KeyStatus::kRefused);
  BOOST_REQUIRE(client->set_mode(ns, NamespaceMode::kOn).ok());
  sim::check_all(get(batch), 2, KeyStatus::kMiss);
}

BOOST_AUTO_TEST_CASE(a_tenant_is_purged_though_its_namespaces_are_forgotten) {
  auto b = tenant_b();
  const NamespaceId theirs = *b->open_namespace(spec);
  sim::Batch batch(spec, 1, kBlocks, kBlock);
  sim::check_all(b->put(theirs, batch.keys, batch.sources, {}), kBlocks, KeyStatus::kOk);
  daemon->kill();
  std::filesystem::remove(daemon->runtime_dir() + "/namespaces");
  daemon->start();
  client = daemon->shm();
  BOOST_TEST(*client->purge({.tenant = "nobody"}) == 0U);
  BOOST_TEST(*client->purge({.tenant = "b"}) == kBlocks);
  b = tenant_b();
  BOOST_REQUIRE(b->open_namespace(spec).ok());
  sim::check_all(b->get(theirs, batch.keys, batch.targets, {}), kBlocks, KeyStatus::kMiss);
}

BOOST_AUTO_TEST_CASE(puts_over_tcp_into_a_namespace_that_is_off_end_at_once) {
  const auto tcp = daemon->connect(
      {.server = daemon->tcp(), .token = kToken, .deadline = std::chrono::seconds(5)});
  const NamespaceId theirs = *tcp->open_namespace(spec);
  BOOST_REQUIRE(client->set_mode(theirs, NamespaceMode::kOff).ok());
  for (const std::size_t bytes : {std::size_t{1000}, std::size_t{1} << 20}) {  // inline, streamed
    sim::Batch batch(spec, bytes, 4, bytes);
    sim::check_all(tcp->put(theirs, batch.keys, batch.sources, {}), 4, KeyStatus::kRefused);
  }
}

BOOST_AUTO_TEST_CASE(a_corrupt_block_turns_a_guarded_namespace_off_and_no_other) {
  const NamespaceSpec unguarded = sim::chain_spec("unguarded");
  const NamespaceId other = *client->open_namespace(unguarded);
  BOOST_REQUIRE(client->set_mode(ns, NamespaceMode::kGuarded).ok());
  sim::Batch batch(spec, 1, kBlocks, kBlock);
  sim::Batch theirs(unguarded, 2, kBlocks, kBlock);
  for (std::uint32_t n = 0; n < kBlocks; ++n)
    std::fill(batch.blocks[n].begin(), batch.blocks[n].end(), static_cast<std::byte>('A' + n));
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), kBlocks, KeyStatus::kOk);
  sim::check_all(client->put(other, theirs.keys, theirs.sources, {}), kBlocks, KeyStatus::kOk);
  sim::check_all(get(batch), kBlocks, KeyStatus::kOk);

  sim::flip_byte_of(daemon->runtime_dir(), 'C', kBlock);
  batch.clear();
  (void)client->get(ns, batch.keys, batch.targets, {.verify = true});
  for (int tries = 0; tries < 500 && served() != NamespaceMode::kOff; ++tries)
    usleep(10'000);
  BOOST_TEST((served() == NamespaceMode::kOff));
  sim::check_all(get(batch), kBlocks, KeyStatus::kMiss);
  BOOST_TEST(daemon->stat("namespaces_turned_off") == 1);
  BOOST_TEST(audited("action=turned_off"));
  sim::check_all(client->get(other, theirs.keys, theirs.targets, {}), kBlocks, KeyStatus::kOk);
}

BOOST_AUTO_TEST_CASE(all_of_a_writer_a_tenant_or_a_namespace_is_removed) {
  const auto second = daemon->shm();
  const auto b = tenant_b();
  const NamespaceId ns_of_b = *b->open_namespace(spec);
  (void)*second->open_namespace(spec);
  sim::Batch mine(spec, 1, kBlocks, kBlock);
  sim::Batch seconds(spec, 2, kBlocks, kBlock);
  sim::Batch of_b(spec, 3, kBlocks, kBlock);
  sim::check_all(client->put(ns, mine.keys, mine.sources, {}), kBlocks, KeyStatus::kOk);
  sim::check_all(second->put(ns, seconds.keys, seconds.sources, {}), kBlocks, KeyStatus::kOk);
  sim::check_all(b->put(ns_of_b, of_b.keys, of_b.sources, {}), kBlocks, KeyStatus::kOk);
  sim::check_all(client->pin(ns, mine.keys, {}), kBlocks, KeyStatus::kOk);

  std::uint64_t writer = 0;
  Client::ListPage page;
  for (int pages = 0; pages < 10 && !page.end; ++pages) {
    auto next = client->list(ns, page.cursor, 4096);
    BOOST_REQUIRE(next.ok());
    page = *std::move(next);
    for (std::size_t n = 0; n < page.blocks.size(); ++n) {
      if (page.blocks[n].hash == mine.keys[0].hash) writer = page.writers.at(n);
    }
  }
  BOOST_TEST(*client->purge({.writer = writer}) == kBlocks);
  BOOST_TEST(*client->purge({.writer = writer}) == 0U);
  sim::check_all(get(mine), kBlocks, KeyStatus::kMiss);
  sim::check_all(get(seconds), kBlocks, KeyStatus::kOk);

  BOOST_TEST(*client->purge({.tenant = "b"}) == kBlocks);
  sim::check_all(b->get(ns_of_b, of_b.keys, of_b.targets, {}), kBlocks, KeyStatus::kMiss);
  sim::check_all(get(seconds), kBlocks, KeyStatus::kOk);

  BOOST_TEST(*client->purge({.ns = ns}) == kBlocks);
  sim::check_all(get(seconds), kBlocks, KeyStatus::kMiss);
  BOOST_TEST(audited("action=Purge"));
  BOOST_TEST(audited("of_tenant=\"b\""));
  BOOST_TEST(audited("action=Pin"));
}

BOOST_AUTO_TEST_CASE(who_is_no_administrator_changes_no_mode_and_sees_no_other_tenant) {
  const auto b = tenant_b();
  const NamespaceId mine = *b->open_namespace(spec);
  using enum absl::StatusCode;
  BOOST_TEST((b->set_mode(mine, NamespaceMode::kOff).code() == kPermissionDenied));
  BOOST_TEST((b->purge({.ns = ns}).status().code() == kPermissionDenied));
  BOOST_TEST((b->namespaces(true).status().code() == kPermissionDenied));
  const auto rows = b->namespaces(false);
  BOOST_REQUIRE(rows.ok());
  BOOST_REQUIRE(rows->size() == 1U);
  BOOST_TEST((rows->at(0).id == mine));
  BOOST_TEST(rows->at(0).tenant == "b");
  const auto all = client->namespaces(true);
  BOOST_REQUIRE(all.ok());
  BOOST_TEST(all->size() == 2U);
  BOOST_TEST((client->set_mode(NamespaceId(12345), NamespaceMode::kOff).code() == kNotFound));
  BOOST_TEST((client->purge({}).status().code() == kInvalidArgument));
}

BOOST_AUTO_TEST_CASE(the_command_lists_switches_and_removes) {
  const auto larder = [this](std::vector<std::string> words) {
    words.insert(words.begin(), sim::built("larder"));
    words.insert(words.end(), {"--server", daemon->socket()});
    return sim::run_program(words, std::chrono::seconds(20));
  };
  sim::Batch batch(spec, 1, kBlocks, kBlock);
  sim::check_all(client->put(ns, batch.keys, batch.sources, {}), kBlocks, KeyStatus::kOk);
  std::ostringstream id;
  id << std::hex << ns.value();
  BOOST_TEST(larder({"mode", "shadow", "--id", id.str()}).status == 0);
  const sim::Finished list = larder({"namespaces", "--all"});
  BOOST_TEST(list.status == 0);
  BOOST_TEST(list.output.find("shadow") != std::string::npos, list.output);
  BOOST_TEST(larder({"mode", "sideways", "--id", id.str()}).status == 2);
  BOOST_TEST(larder({"mode", "on", "--id", "xyz"}).status == 2);
  BOOST_TEST(larder({"mode", "off", "--model", "a-slip-of-the-pen"}).status == 2);
  BOOST_TEST(client->namespaces(false)->size() == 1U);
  BOOST_TEST(larder({"purge"}).status == 2);
  for (const char* flag : {"--id", "--tenant", "--writer"})
    BOOST_TEST(larder({"purge", flag, ""}).status == 2, flag);
  BOOST_TEST(larder({"mode", "off", "--id", ""}).status == 2);
  BOOST_TEST(larder({"purge", "--id", id.str(), "--tenant", "b"}).status == 2);
  BOOST_TEST(larder({"purge", "--id", id.str()}).status == 0);
  BOOST_TEST(larder({"purge", "--id", id.str()}).status == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::namespace_mode_test
