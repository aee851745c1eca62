// A connection on which the test writes what it likes.

#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <poll.h>

#include "store/namespace_spec.h"
#include "transport/frame_head.h"
#include "transport/frame_reader.h"
#include "transport/namespace_wire.h"
#include "transport/socket.h"
#include "transport/wire.pb.h"

namespace larder::sim {

/// One session, written frame by frame. Not thread-safe.
class Raw {
 public:
  struct Options {
    bool greet = true;
    bool shm = false;
    std::string token = {};
    std::uint32_t version_min = 1;
    std::uint32_t version_max = 1;
  };

  explicit Raw(const std::string& address) : Raw(address, Options{}) {}
  Raw(const std::string& address, const Options& options) {
    auto fd = connect_to(*parse_address(address), std::chrono::seconds(2));
    BOOST_REQUIRE_MESSAGE(fd.ok(), fd.status().message());
    fd_ = *std::move(fd);
    if (!options.greet) return;
    say_hello(options);
    BOOST_REQUIRE(receive());
  }
  Raw(const std::string& address, bool greet) : Raw(address, Options{.greet = greet}) {}

  void say_hello(const Options& options) {
    wire::HelloRequest hello;
    hello.set_version_min(options.version_min);
    hello.set_version_max(options.version_max);
    hello.set_want_shm(options.shm);
    hello.set_token(options.token);
    // One that is refused may be closed before it has said a word; why can still be read.
    (void)try_send(FrameType::kHello, hello, {}, {});
  }
  void bytes(const std::vector<std::byte>& data) { BOOST_REQUIRE(write(data, {})); }
  void send(FrameType type, const google::protobuf::MessageLite& body,
            std::span<const std::byte> array = {}, std::span<const int> fds = {}) {
    BOOST_REQUIRE(try_send(type, body, array, fds));
  }
  /// The next frame within two seconds; false when the stream ended.
  bool receive() {
    for (;;) {
      std::size_t budget = 1 << 20;
      const ReadResult got = reader_.read(fd_.get(), budget);
      if (got.event == ReadEvent::kFrame) return true;
      if (got.event == ReadEvent::kClosed || got.event == ReadEvent::kFailed) return false;
      if (got.event != ReadEvent::kBlocked) continue;
      pollfd entry{fd_.get(), POLLIN, 0};
      if (::poll(&entry, 1, 2000) != 1) {
        BOOST_ERROR("no answer");
        return false;
      }
    }
  }
  const FrameReader::Frame& frame() { return reader_.frame(); }
  template <class Body>
  Body body() {
    Body out;
    BOOST_TEST(parse_body(reader_.frame().body, out));
    return out;
  }
  /// Status of the reply that comes next.
  std::string refusal() {
    return receive() ? body<wire::SimpleReply>().status().message() : "closed";
  }
  std::string error_notice() {
    if (!receive()) return "closed";
    BOOST_TEST((reader_.frame().header.type == FrameType::kError));
    return body<wire::ErrorNotice>().status().message();
  }
  std::uint64_t open(const NamespaceSpec& spec) {
    send(FrameType::kOpenNamespace, to_wire(spec));
    BOOST_REQUIRE(receive());
    return body<wire::OpenNamespaceReply>().id();
  }
  int fd() const { return fd_.get(); }
  std::uint64_t last_id() const { return id_; }

 private:
  bool try_send(FrameType type, const google::protobuf::MessageLite& body,
                std::span<const std::byte> array, std::span<const int> fds) {
    return write(make_head({.type = type,
                            .id = ++id_,
                            .fds = static_cast<std::uint8_t>(fds.size()),
                            .body = &body,
                            .array = array}),
                 fds);
  }
  bool write(std::span<const std::byte> data, std::span<const int> fds) {
    while (!data.empty()) {
      const iovec piece{const_cast<std::byte*>(data.data()), data.size()};
      const IoResult sent = send_message(fd_.get(), {&piece, 1}, fds);
      if (sent.state == IoState::kDone) {
        data = data.subspan(sent.bytes);
        fds = {};
        continue;
      }
      pollfd entry{fd_.get(), POLLOUT, 0};
      if (sent.state != IoState::kBlocked || ::poll(&entry, 1, 2000) != 1) return false;
    }
    return true;
  }

  Fd fd_;
  FrameReader reader_;
  std::uint64_t id_ = 0;
};

}  // namespace larder::sim
