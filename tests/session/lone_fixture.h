// A lone session with its namespace open, and short words for its frames.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "store/checksum.h"
#include "tests/session/lone_session.h"
#include "transport/namespace_wire.h"
#include "transport/wire.pb.h"

namespace larder::sim {

inline constexpr std::uint32_t kLength = 4096;

inline NamespaceSpec lone_spec(bool flat = false) {
  NamespaceSpec out;
  out.fingerprint.model = "m";
  out.fingerprint.flat = flat;
  out.unit_tokens = flat ? 0 : 16;
  out.groups.push_back({GroupKind::kFull, flat ? 0U : 16U, 0, {}});
  return out;
}

/// A node of one shard and a client whose default namespace is open, at a time that the test says.
struct LoneFixture {
  LoneFixture() { make_client(true); }
  ~LoneFixture() {
    client = nullptr;
    other = nullptr;
  }

  void make_client(bool is_unix) {
    client = nullptr;
    client = make(is_unix);
  }
  std::unique_ptr<LoneSession> make(bool is_unix) {
    auto made = std::make_unique<LoneSession>(
        node, LoneSession::Options{.id = ++sessions, .is_unix = is_unix}, now);
    wire::HelloRequest hello;
    hello.set_version_min(1);
    hello.set_version_max(1);
    hello.set_want_shm(is_unix);
    made->add({.type = FrameType::kHello, .id = 1, .body = &hello});
    const auto body = to_wire(lone_spec());
    made->add({.type = FrameType::kOpenNamespace, .id = 2, .body = &body});
    work(*made);
    (void)made->replies();
    return made;
  }
  void work(LoneSession& session) {
    session.send_all(now);
    session.settle(now);
  }
  /// Status of the reply of `id`; kUnknown when there was none.
  template <class Body>
  absl::StatusCode answer(std::uint64_t id) {
    auto code = absl::StatusCode::kUnknown;
    for (const auto& reply : client->replies()) {
      if (reply.header.id != id) continue;
      Body body;
      BOOST_TEST(parse_body(reply.body, body));
      code = static_cast<absl::StatusCode>(body.status().code());
    }
    return code;
  }

  /// Statuses of all replies of `id` since the last look.
  std::vector<absl::StatusCode> codes(std::uint64_t id) {
    std::vector<absl::StatusCode> out;
    for (const auto& reply : client->replies()) {
      wire::SimpleReply body;  // every reply's body begins as this does
      if (reply.header.id != id || !reply.header.is_reply()) continue;
      BOOST_TEST(parse_body(reply.body, body));
      out.push_back(static_cast<absl::StatusCode>(body.status().code()));
    }
    return out;
  }

  static std::uint64_t ns(bool flat = false) {
    return namespace_id("default", lone_spec(flat).fingerprint).value();
  }
  static wire::KeyRecord key(std::uint64_t n, std::uint32_t length = kLength) {
    wire::KeyRecord out;
    out.hash = out.anchor = {n, n};
    out.length = length;
    return out;
  }
  /// Blocks of zeros, in the frame.
  void put(std::uint64_t id, std::span<const wire::KeyRecord> keys, std::uint64_t request = 0) {
    wire::PutRequest body;
    body.set_ns(ns());
    body.set_request(request);
    std::vector<std::byte> bytes;
    for (const wire::KeyRecord& key : keys) {
      body.add_inline_checksums(checksum(std::vector<std::byte>(key.length)));
      bytes.resize(bytes.size() + key.length);
    }
    client->add({.type = FrameType::kPut, .id = id, .body = &body, .array = std::as_bytes(keys)},
                bytes);
  }
  /// A call whose body names the namespace alone, of these keys.
  template <class Body>
  void call(FrameType type, std::uint64_t id, std::span<const wire::KeyRecord> keys = {}) {
    Body body;
    body.set_ns(ns());
    client->add({.type = type, .id = id, .body = &body, .array = std::as_bytes(keys)});
  }
  /// Keys of puts and removals that were answered `status` since the last look.
  std::size_t answered(wire::KeyStatus status) {
    std::size_t keys = 0;
    for (const auto& reply : client->replies()) {
      std::vector<wire::PutResult> results;
      BOOST_TEST(wire::parse(reply.array, results));
      for (const wire::PutResult& result : results)
        keys += result.status == static_cast<std::uint16_t>(status) ? 1 : 0;
    }
    return keys;
  }
  void put_start(std::uint64_t id, std::span<const wire::KeyRecord> keys) {
    wire::PutStartRequest body;
    body.set_ns(ns());
    client->add(
        {.type = FrameType::kPutStart, .id = id, .body = &body, .array = std::as_bytes(keys)});
  }
  /// Sources at offset 0 of keys 0, 1, …
  void put_part(std::uint64_t id, std::uint64_t put, const std::vector<wire::PutSource>& sources,
                std::span<const std::byte> payload, std::uint32_t payload_said) {
    wire::PutPartRequest body;
    body.set_put(put);
    body.set_sources(static_cast<std::uint32_t>(sources.size()));
    std::vector<std::byte> array;
    wire::append(array, std::span<const wire::PutSource>(sources));
    const std::vector<std::uint64_t> offsets(sources.size(), 0);
    wire::append(array, std::span<const std::uint64_t>(offsets));
    for (std::size_t i = 0; i < sources.size(); ++i)
      body.add_checksums(checksum(payload));
    client->add_bytes(make_head({.type = FrameType::kPutPart,
                                 .id = id,
                                 .body = &body,
                                 .array = array,
                                 .payload = payload_said}));
    client->add_bytes(payload);
  }
  void cancel(std::uint64_t id) {
    wire::CancelRequest body;
    body.set_id(id);
    client->add({.type = FrameType::kCancel, .id = 99, .body = &body});
  }

  Time now = Time(std::chrono::hours(1));
  std::uint64_t sessions = 0;
  SessionNode node{
      {.capacity = Bytes{1 << 20}, .shards = 1, .lease_ms = 200, .now = [this] { return now; }}};
  std::unique_ptr<LoneSession> client, other;
};

}  // namespace larder::sim
