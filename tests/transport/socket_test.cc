#include "transport/socket.h"

#include <filesystem>
#include <thread>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/temp_dir.h"
#include "tests/transport/stream.h"

namespace larder::socket_test {
namespace {

std::string socket_path(const char* name) {
  const std::string path = "/tmp/larder-" + std::string(name) + "-" + std::to_string(getpid());
  unlink(path.c_str());
  return path;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(socket)

BOOST_AUTO_TEST_CASE(addresses_are_paths_or_host_and_port) {
  BOOST_TEST(parse_address("/run/larder/larderd.sock")->path == "/run/larder/larderd.sock");
  BOOST_TEST(parse_address("unix:./larderd.sock")->path == "./larderd.sock");
  BOOST_TEST(parse_address("127.0.0.1:7411")->host == "127.0.0.1");
  BOOST_TEST(parse_address("node-3:7411")->port == "7411");
  BOOST_TEST(parse_address("[::1]:80")->host == "::1");
  BOOST_TEST(parse_address("[::1]:80")->text() == "[::1]:80");
}

BOOST_AUTO_TEST_CASE(a_text_without_slash_is_a_path_when_it_has_no_port_or_names_a_socket) {
  const test::TempDir dir;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  BOOST_TEST(parse_address("r.sock")->path == "r.sock");
  BOOST_TEST(parse_address("unix:a:1")->path == "a:1");
  BOOST_TEST(!parse_address("a:1")->is_unix());
  dir.file("a:1", "no socket");
  BOOST_TEST(!parse_address("a:1")->is_unix());

  const absl::StatusOr<Fd> listener = listen_on(*parse_address("unix:b:1"));
  BOOST_REQUIRE(listener.ok());
  BOOST_TEST(parse_address("b:1")->path == "b:1");
  BOOST_TEST(connect_to(*parse_address("b:1"), std::chrono::seconds(1)).ok());

  const std::string why(
      connect_to(*parse_address("localhost"), std::chrono::seconds(1)).status().message());
  BOOST_TEST(why.find("localhost (a socket's path, as it has no port)") != std::string::npos, why);
  std::filesystem::current_path(before);
}

BOOST_DATA_TEST_CASE(what_is_no_address_is_refused_by_its_text,
                     boost::unit_test::data::make({"unix:", ":80", "host:", "host:http",
                                                   "host:65536", "::1:80", ""}),
                     text) {
  const absl::Status status = parse_address(text).status();

  BOOST_TEST(absl::IsInvalidArgument(status));
  BOOST_TEST(std::string(status.message()).find("'" + std::string(text) + "'") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_path_too_long_for_a_socket_is_refused) {
  BOOST_TEST(absl::IsInvalidArgument(parse_address("/" + std::string(120, 'x')).status()));
}

BOOST_AUTO_TEST_CASE(little_waits_in_the_kernel_for_a_tcp_peer_that_does_not_read) {
  const absl::StatusOr<Fd> listener = listen_on(*parse_address("127.0.0.1:0"));
  BOOST_REQUIRE(listener.ok());
  const Address address{.host = "127.0.0.1", .port = std::to_string(*local_port(listener->get()))};
  const absl::StatusOr<Fd> client = connect_to(address, std::chrono::seconds(1));
  BOOST_REQUIRE(client.ok());
  absl::StatusOr<std::optional<Fd>> server = accept_from(listener->get());
  BOOST_REQUIRE((server.ok() && server->has_value()));
  std::vector<std::byte> bytes(256 << 10);
  const iovec piece{bytes.data(), bytes.size()};

  for (const int sender : {client->get(), (*server)->get()}) {
    std::size_t taken = 0;
    for (int blocked = 0; blocked < 20 && taken < (64U << 20);) {
      const IoResult sent = send_message(sender, {&piece, 1});
      taken += sent.bytes;
      blocked = sent.state == IoState::kBlocked ? blocked + 1 : 0;
      if (blocked > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

    BOOST_TEST(taken >= 256U << 10);
    BOOST_TEST(taken <= 3U << 20);
  }
}

BOOST_AUTO_TEST_CASE(unix_peers_connect_and_know_each_other) {
  const Address address{.path = socket_path("unix")};
  const absl::StatusOr<Fd> listener = listen_on(address);
  BOOST_REQUIRE(listener.ok());
  BOOST_TEST(!accept_from(listener->get())->has_value());

  const absl::StatusOr<Fd> client = connect_to(address, std::chrono::seconds(1));
  absl::StatusOr<std::optional<Fd>> server = accept_from(listener->get());
  unlink(address.path.c_str());

  BOOST_REQUIRE(client.ok());
  BOOST_REQUIRE((server.ok() && server->has_value()));
  BOOST_TEST(peer_credentials((*server)->get())->pid == getpid());
  BOOST_TEST(peer_credentials((*server)->get())->uid == getuid());
}

BOOST_AUTO_TEST_CASE(tcp_peers_connect_by_name_and_port) {
  const absl::StatusOr<Fd> listener = listen_on({.host = "127.0.0.1", .port = "0"});
  BOOST_REQUIRE(listener.ok());
  const std::string port = std::to_string(*local_port(listener->get()));

  const absl::StatusOr<Fd> client =
      connect_to({.host = "localhost", .port = port}, std::chrono::seconds(2));

  BOOST_TEST(client.ok());
  BOOST_TEST(accept_from(listener->get())->has_value());
  BOOST_TEST(!leaves_host(client->get()));
}

BOOST_AUTO_TEST_CASE(what_goes_to_loopback_stays_on_the_host_and_what_is_unknown_does_not) {
  for (const char* host : {"127.0.0.1", "127.8.9.1", "::1"}) {
    const absl::StatusOr<Fd> listener = listen_on({.host = host, .port = "0"});
    if (!listener.ok()) continue;  // no IPv6 here
    const std::string port = std::to_string(*local_port(listener->get()));
    const absl::StatusOr<Fd> client =
        connect_to({.host = host, .port = port}, std::chrono::seconds(2));
    BOOST_REQUIRE(client.ok());
    BOOST_TEST(!leaves_host(client->get()), host);
  }
  const Fd lonely(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  BOOST_TEST(leaves_host(lonely.get()));
  BOOST_TEST(leaves_host(-1));
  int ends[2];
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const Fd here(ends[0]);
  const Fd there(ends[1]);
  BOOST_TEST(!leaves_host(here.get()));
}

BOOST_AUTO_TEST_CASE(nobody_there_is_unavailable_and_names_the_address) {
  const Address address{.path = socket_path("nobody")};

  const absl::Status status = connect_to(address, std::chrono::seconds(1)).status();

  BOOST_TEST(absl::IsUnavailable(status));
  BOOST_TEST(std::string(status.message()).find(address.path) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(more_descriptors_than_a_message_may_have_do_not_leak) {
  sim::SocketPair pair;
  const Fd file(memfd_create("larder-test", MFD_CLOEXEC));
  std::byte byte{1};
  const iovec piece{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 10)] = {};
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(&piece);
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int) * 10);
  for (int n = 0; n < 10; ++n) {
    const int fd = file.get();
    std::memcpy(CMSG_DATA(head) + static_cast<std::size_t>(n) * sizeof fd, &fd, sizeof fd);
  }
  BOOST_REQUIRE(sendmsg(pair.here.get(), &message, 0) == 1);
  const Fd before(dup(0));

  Fds fds;
  const IoResult got = receive_message(pair.there.get(), {&piece, 1}, fds);

  BOOST_TEST((got.state == IoState::kDone));
  BOOST_TEST(fds.size() == static_cast<std::size_t>(kMessageFdsMax));
  fds.clear();
  const Fd after(dup(0));
  BOOST_TEST(after.get() <= before.get() + 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::socket_test
