#include "transport/tls.h"

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>

#include "tests/tls_files.h"
#include "transport/socket.h"

namespace larder::tls_test {
namespace {

using std::chrono::seconds;

/// Both ends of a TCP connection over loopback.
struct Pair {
  Pair() {
    Address address;
    address.host = "127.0.0.1";
    address.port = "0";
    const Fd listener = *listen_on(address);
    address.port = std::to_string(*local_port(listener.get()));
    client = *connect_to(address, seconds(5));
    for (int tries = 0; tries < 1000 && !server.valid(); ++tries) {
      auto accepted = accept_from(listener.get());
      if (accepted.ok() && accepted->has_value()) server = std::move(**accepted);
      if (!server.valid()) usleep(1000);
    }
  }
  Fd client, server;
};

IoResult receive(ByteStream& from, std::span<char> into) {
  const iovec piece{into.data(), into.size()};
  Fds none;
  return from.receive({&piece, 1}, none);
}
IoResult send(ByteStream& to, std::string_view text) {
  const iovec piece{const_cast<char*>(text.data()), text.size()};
  return to.send({&piece, 1}, {});
}

/// Reads until `bytes` came or five seconds passed.
std::string read_all(ByteStream& from, std::size_t bytes) {
  std::string out;
  std::vector<char> some(100'000);
  const auto end = std::chrono::steady_clock::now() + seconds(5);
  while (out.size() < bytes && std::chrono::steady_clock::now() < end) {
    const IoResult got = receive(from, some);
    if (got.state == IoState::kDone) out.append(some.data(), got.bytes);
    if (got.state == IoState::kBlocked) usleep(200);
    if (got.state == IoState::kClosed || got.state == IoState::kFailed) break;
  }
  return out;
}

/// What comes next, within a second.
IoResult next(ByteStream& from) {
  std::vector<char> some(100);
  IoResult got;
  for (int tries = 0; tries < 1000; ++tries) {
    got = receive(from, some);
    if (got.state != IoState::kBlocked) break;
    usleep(1000);
  }
  return got;
}

/// Both ends in turns, until the client's is settled or two seconds passed.
absl::StatusOr<std::unique_ptr<TlsStream>> shake(std::unique_ptr<TlsStream> client,
                                                 ByteStream* server) {
  std::vector<char> none(1);
  for (int tries = 0; tries < 2000; ++tries) {
    const auto done = client->shake_hands();
    if (!done.ok()) return done.status();
    if (server != nullptr) (void)receive(*server, none);
    if (*done) return client;
    usleep(1000);
  }
  return absl::DeadlineExceededError("no answer");
}

struct Fixture {
  absl::StatusOr<std::unique_ptr<TlsStream>> connect(const TlsContext& trusts,
                                                     const std::string& name) {
    server = TlsStream::accept(**context, pair.server.get());
    return shake(TlsStream::connect(trusts, pair.client.get(), name), server.get());
  }

  test::TempDir dir;
  test::TlsFiles files{dir};
  absl::StatusOr<std::shared_ptr<const TlsContext>> context =
      TlsContext::server(files.cert, files.key);
  absl::StatusOr<std::shared_ptr<const TlsContext>> trusting = TlsContext::client(files.cert);
  Pair pair;
  std::unique_ptr<TlsStream> server;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tls, Fixture)

BOOST_AUTO_TEST_CASE(bytes_arrive_as_they_went_and_are_not_on_the_wire) {
  auto client = connect(**trusting, "127.0.0.1");
  BOOST_REQUIRE_MESSAGE(client.ok(), client.status().message());
  std::string text;
  for (int n = 0; n < 200'000; ++n)
    text += std::to_string(n);
  std::size_t sent = 0;
  std::string came;
  std::vector<char> some(70'000);
  const auto end = std::chrono::steady_clock::now() + seconds(10);
  while (came.size() < text.size() && std::chrono::steady_clock::now() < end) {
    if (sent < text.size()) {
      const IoResult result = send(**client, std::string_view(text).substr(sent));
      BOOST_REQUIRE((result.state == IoState::kDone || result.state == IoState::kBlocked));
      sent += result.bytes;
    } else {
      (void)(*client)->flush();
    }
    const IoResult got = receive(*server, some);
    if (got.state == IoState::kDone) came.append(some.data(), got.bytes);
  }
  BOOST_TEST((came == text));

  BOOST_REQUIRE((send(*server, "an answer of twenty b").state == IoState::kDone));
  std::vector<char> raw(4096);
  ssize_t peeked = 0;
  for (int tries = 0; tries < 1000 && peeked <= 0; ++tries) {
    peeked = ::recv(pair.client.get(), raw.data(), raw.size(), MSG_PEEK | MSG_DONTWAIT);
    usleep(1000);
  }
  BOOST_REQUIRE(peeked > 0);
  BOOST_TEST(std::string(raw.data(), static_cast<std::size_t>(peeked)).find("answer") ==
             std::string::npos);
  BOOST_TEST(read_all(**client, 21) == "an answer of twenty b");
}

BOOST_AUTO_TEST_CASE(a_server_that_cannot_prove_its_name_is_refused) {
  const auto other = connect(**trusting, "elsewhere.example");
  BOOST_TEST((other.status().code() == absl::StatusCode::kUnauthenticated));
  BOOST_TEST(std::string(other.status().message()).find("mismatch") != std::string::npos,
             other.status().message());
}

BOOST_AUTO_TEST_CASE(a_server_that_nobody_vouches_for_is_refused) {
  const test::TlsFiles stranger(dir, "stranger-");
  const auto trusts = TlsContext::client(stranger.cert);
  BOOST_REQUIRE(trusts.ok());
  BOOST_TEST(
      (connect(**trusts, "127.0.0.1").status().code() == absl::StatusCode::kUnauthenticated));
}

BOOST_AUTO_TEST_CASE(who_speaks_plain_is_told_in_plain) {
  server = TlsStream::accept(**context, pair.server.get());
  SocketStream plain(pair.client.get());
  BOOST_REQUIRE((send(plain, "LRDR and more").state == IoState::kDone));
  BOOST_TEST((next(*server).state == IoState::kFailed));
  BOOST_TEST(server->trouble().find("TLS") != std::string::npos);
  BOOST_REQUIRE((send(*server, "sorry").state == IoState::kDone));
  BOOST_TEST(read_all(plain, 5) == "sorry");
}

BOOST_AUTO_TEST_CASE(a_server_without_tls_ends_the_handshake) {
  SocketStream out(pair.server.get());
  BOOST_REQUIRE((send(out, "LRDR is what I speak").state == IoState::kDone));
  const auto refused =
      shake(TlsStream::connect(**trusting, pair.client.get(), "127.0.0.1"), nullptr);
  BOOST_TEST((refused.status().code() == absl::StatusCode::kUnavailable));
}

BOOST_AUTO_TEST_CASE(garbage_instead_of_a_record_ends_the_stream) {
  auto client = connect(**trusting, "127.0.0.1");
  BOOST_REQUIRE(client.ok());
  SocketStream raw(pair.client.get());
  BOOST_REQUIRE((send(raw, std::string(300, '\x17')).state == IoState::kDone));
  BOOST_TEST((next(*server).state == IoState::kFailed));
  BOOST_TEST((next(*server).state != IoState::kDone));
}

BOOST_AUTO_TEST_CASE(wrong_files_are_named) {
  using absl::StatusCode;
  BOOST_TEST(
      (TlsContext::server("/none", files.key).status().code() == StatusCode::kInvalidArgument));
  const test::TlsFiles other(dir, "other-");
  const auto mixed = TlsContext::server(files.cert, other.key);
  BOOST_TEST((mixed.status().code() == StatusCode::kInvalidArgument));
  BOOST_TEST(std::string(mixed.status().message()).find("tls_key") != std::string::npos);
  ::chmod(files.key.c_str(), 0644);
  BOOST_TEST(
      (TlsContext::server(files.cert, files.key).status().code() == StatusCode::kPermissionDenied));
  BOOST_TEST((TlsContext::client(files.key).status().code() == StatusCode::kInvalidArgument));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::tls_test
