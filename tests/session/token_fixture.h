// Sessions of several tenants on one node, each by its token.

#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "store/checksum.h"
#include "tests/session/lone_session.h"
#include "transport/namespace_wire.h"
#include "transport/wire.pb.h"

namespace larder::sim {

inline constexpr const char* kReader = "0123456789abcdef-reader";
inline constexpr const char* kWriter = "0123456789abcdef-writer";
inline constexpr std::uint32_t kTokenBlock = 4096;

/// A node of 1 MiB and one shard, with a reader and a writer of tenant `t`, at a time that the test
/// says.
struct TokenFixture {
  TokenFixture() { load(fmt::format("{} t read\n{} t write\n", kReader, kWriter)); }

  void load(const std::string& text) {
    const std::string path = dir.file("tokens", text);
    ::chmod(path.c_str(), 0600);
    auto table = TokenTable::load(path);
    BOOST_REQUIRE(table.ok());
    node.tokens().set(*std::move(table));
  }

  struct Peer {
    Peer(TokenFixture& fixture, const std::string& token, std::optional<uid_t> unix_user = {},
         std::string of_tenant = "t")
        : all(fixture),
          tenant(std::move(of_tenant)),
          session(fixture.node,
                  {.id = ++fixture.sessions, .is_unix = unix_user.has_value(), .uid = unix_user},
                  all.now) {
      wire::HelloRequest hello;
      hello.set_version_min(1);
      hello.set_version_max(1);
      hello.set_token(token);
      hello.set_want_shm(unix_user.has_value());
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
        last_array = reply.array;
      }
      return code;
    }
    absl::StatusCode put(std::uint64_t n) {
      wire::PutRequest body;
      body.set_ns(ns());
      const std::vector<std::byte> bytes(kTokenBlock);
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
    /// Of a get of one key, or of a pin.
    wire::KeyStatus status(FrameType type, std::uint64_t n) {
      wire::GetRequest get;
      get.set_ns(ns());
      wire::PinRequest pin;
      pin.set_ns(ns());
      const wire::KeyRecord record = key(n);
      const bool is_get = type == FrameType::kGet;
      ask(type, is_get ? static_cast<google::protobuf::MessageLite&>(get) : pin,
          std::as_bytes(std::span(&record, 1)));
      std::uint16_t status = 0;  // both kinds of result begin with it
      if (last_array.size() < sizeof status) return wire::KeyStatus::kInvalid;
      std::memcpy(&status, last_array.data(), sizeof status);
      return static_cast<wire::KeyStatus>(status);
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

    std::uint64_t ns() const { return namespace_id(tenant, spec().fingerprint).value(); }

    TokenFixture& all;
    const std::string tenant;
    LoneSession session;
    std::uint64_t ids = 0;
    std::vector<std::byte> last_array;  ///< of the last answer
  };

  static NamespaceSpec spec() {
    NamespaceSpec out;
    out.fingerprint.model = "m";
    out.unit_tokens = 16;
    out.groups.push_back({GroupKind::kFull, 16, 0, {}});
    return out;
  }

  static wire::KeyRecord key(std::uint64_t n) {
    wire::KeyRecord out;
    out.hash = out.anchor = {n, n};
    out.length = kTokenBlock;
    return out;
  }

  Time now = Time(std::chrono::hours(1));
  std::uint64_t sessions = 0;
  test::TempDir dir;
  SessionNode node{{.capacity = Bytes{1 << 20}, .shards = 1, .now = [this] { return now; }}};
};

}  // namespace larder::sim
