// Tokens: what each may do, and what becomes of its sessions when the table is loaded anew.

#include <optional>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "store/checksum.h"
#include "tests/session/lone_session.h"
#include "transport/namespace_wire.h"
#include "transport/wire.pb.h"

namespace larder {
namespace {

constexpr const char* kReader = "0123456789abcdef-reader";
constexpr const char* kWriter = "0123456789abcdef-writer";
constexpr std::uint32_t kLength = 4096;

struct Fixture {
  Fixture() { load(fmt::format("{} t read\n{} t write\n", kReader, kWriter)); }

  void load(const std::string& text) {
    const std::string path = dir.file("tokens", text);
    ::chmod(path.c_str(), 0600);
    auto table = TokenTable::load(path);
    BOOST_REQUIRE(table.ok());
    node.tokens().set(*std::move(table));
  }

  struct Peer {
    Peer(Fixture& fixture, const std::string& token, std::optional<uid_t> unix_user = {})
        : all(fixture),
          session(fixture.node,
                  {.id = ++fixture.sessions, .is_unix = unix_user.has_value(), .uid = unix_user},
                  all.now) {
      wire::HelloRequest hello;
      hello.set_version_min(1);
      hello.set_version_max(1);
      hello.set_token(token);
      ask(FrameType::kHello, hello);
      const auto open = to_wire(spec());
      ask(FrameType::kOpenNamespace, open);
    }
    absl::StatusCode ask(FrameType type, const google::protobuf::MessageLite& body,
                         std::span<const std::byte> array = {},
                         std::span<const std::byte> payload = {}) {
      const std::uint64_t id = ++ids;
      session.add({.type = type, .id = id, .body = &body, .array = array}, payload);
      session.send_all(all.now);
      session.settle(all.now);
      auto code = absl::StatusCode::kUnknown;
      for (const auto& reply : session.replies()) {
        wire::SimpleReply answer;
        if (reply.header.id != id || reply.header.type != type) continue;
        BOOST_TEST(parse_body(reply.body, answer));
        code = static_cast<absl::StatusCode>(answer.status().code());
      }
      return code;
    }
    absl::StatusCode put(std::uint64_t n) {
      wire::PutRequest body;
      body.set_ns(ns());
      const std::vector<std::byte> bytes(kLength);
      body.add_inline_checksums(checksum(bytes));
      const wire::KeyRecord record = key(n);
      return ask(FrameType::kPut, body, std::as_bytes(std::span(&record, 1)), bytes);
    }
    absl::StatusCode get(std::uint64_t n) {
      wire::GetRequest body;
      body.set_ns(ns());
      const wire::KeyRecord record = key(n);
      return ask(FrameType::kGet, body, std::as_bytes(std::span(&record, 1)));
    }
    absl::StatusCode match(bool claim) {
      wire::MatchRequest body;
      body.set_ns(ns());
      body.set_claim(claim);
      body.add_chain_units(1);
      const BlockHash hash{9, 9};
      return ask(FrameType::kMatch, body, std::as_bytes(std::span(&hash, 1)));
    }
    absl::StatusCode switch_on() {
      wire::SetModeRequest body;
      body.set_ns(ns());
      body.set_mode(static_cast<std::uint32_t>(NamespaceMode::kOn));
      return ask(FrameType::kSetMode, body);
    }
    absl::StatusCode remove(std::uint64_t n) {
      wire::RemoveRequest body;
      body.set_ns(ns());
      const wire::KeyRecord record = key(n);
      return ask(FrameType::kRemove, body, std::as_bytes(std::span(&record, 1)));
    }

    Fixture& all;
    sim::LoneSession session;
    std::uint64_t ids = 0;
  };

  static NamespaceSpec spec() {
    NamespaceSpec out;
    out.fingerprint.model = "m";
    out.unit_tokens = 16;
    out.groups.push_back({GroupKind::kFull, 16, 0, {}});
    return out;
  }
  static std::uint64_t ns() { return namespace_id("t", spec().fingerprint).value(); }
  static wire::KeyRecord key(std::uint64_t n) {
    wire::KeyRecord out;
    out.hash = out.anchor = {n, n};
    out.length = kLength;
    return out;
  }

  Time now = Time(std::chrono::hours(1));
  std::uint64_t sessions = 0;
  test::TempDir dir;
  sim::SessionNode node{{.capacity = Bytes{1 << 20}, .shards = 1, .now = [this] { return now; }}};
};

}  // namespace

using enum absl::StatusCode;

BOOST_FIXTURE_TEST_SUITE(rights, Fixture)

BOOST_AUTO_TEST_CASE(a_reader_changes_nothing_and_a_writer_sees_nothing) {
  Peer writer(*this, kWriter);
  Peer reader(*this, kReader);
  BOOST_TEST((writer.put(1) == kOk));
  BOOST_TEST((reader.put(2) == kPermissionDenied));
  BOOST_TEST((reader.remove(1) == kPermissionDenied));
  BOOST_TEST((reader.match(true) == kPermissionDenied));
  BOOST_TEST((reader.match(false) == kOk));
  BOOST_TEST((reader.get(1) == kOk));
  BOOST_TEST((writer.get(1) == kPermissionDenied));
  BOOST_TEST((writer.match(false) == kPermissionDenied));
  BOOST_TEST((writer.remove(1) == kOk));
  BOOST_TEST(sim::held_in(node.store()).claimed == 0U);
  BOOST_TEST(reader.session.alive());
}

BOOST_AUTO_TEST_CASE(a_table_loaded_anew_changes_rights_and_ends_what_was_revoked) {
  Peer writer(*this, kWriter);
  Peer reader(*this, kReader);
  load(fmt::format("{} t read write\n", kReader));
  writer.session.on_time(now);
  reader.session.on_time(now);
  BOOST_TEST((reader.put(2) == kOk));
  BOOST_TEST(!writer.session.alive());
  Peer again(*this, kWriter);
  BOOST_TEST((again.put(3) == kUnknown));  // no answer: it was not let in
}

BOOST_AUTO_TEST_CASE(an_administrator_by_token_is_none_when_its_line_says_so_no_more) {
  constexpr uid_t kSomebody = 12'345;
  load(fmt::format("{} t read write admin\n", kWriter));
  Peer tcp(*this, kWriter);
  Peer local(*this, kWriter, kSomebody);
  Peer root(*this, kWriter, 0);
  for (Peer* peer : {&tcp, &local, &root})
    BOOST_TEST((peer->switch_on() == kOk));
  load(fmt::format("{} t read write\n", kWriter));
  for (Peer* peer : {&tcp, &local, &root})
    peer->session.on_time(now);
  BOOST_TEST((tcp.switch_on() == kPermissionDenied));
  BOOST_TEST((local.switch_on() == kPermissionDenied));
  BOOST_TEST((root.switch_on() == kOk));  // by its uid
}

BOOST_AUTO_TEST_CASE(a_token_of_another_tenant_now_is_not_the_session_s_any_more) {
  Peer writer(*this, kWriter);
  load(fmt::format("{} other write\n", kWriter));
  writer.session.on_time(now);
  BOOST_TEST(!writer.session.alive());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder
