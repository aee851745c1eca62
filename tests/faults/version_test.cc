// Clients and daemons of other protocol versions: they work together, or say why not.

#include <thread>

#include <boost/test/unit_test.hpp>
#include <poll.h>

#include "tests/client/conformance.h"
#include "tests/e2e/daemon.h"
#include "tests/e2e/raw.h"

namespace larder::version_test {

using std::chrono::seconds;

namespace {

/// A daemon of another version: one connection, one answer to its Hello.
class OtherDaemon {
 public:
  OtherDaemon(const std::string& path, FrameType type, bool reply,
              const google::protobuf::MessageLite& body)
      : listener_(*listen_on({.path = path})), thread_([this, type, reply, &body] {
          Fd client;
          for (pollfd entry{listener_.get(), POLLIN, 0}; !client.valid();) {
            if (::poll(&entry, 1, 5000) != 1) return;
            auto accepted = accept_from(listener_.get());
            if (accepted.ok() && accepted->has_value()) client = std::move(**accepted);
          }
          FrameReader reader;
          for (pollfd entry{client.get(), POLLIN, 0};;) {
            std::size_t budget = 1 << 20;
            if (reader.read(client.get(), budget).event == ReadEvent::kFrame) break;
            if (::poll(&entry, 1, 5000) != 1) return;
          }
          const auto head = make_head(
              {.type = type, .id = reader.frame().header.id, .reply = reply, .body = &body});
          const iovec piece{const_cast<std::byte*>(head.data()), head.size()};
          send_message(client.get(), {&piece, 1});
          pollfd entry{client.get(), POLLIN, 0};
          ::poll(&entry, 1, 5000);  // until the client has read it and is gone
        }) {}

 private:
  Fd listener_;
  std::jthread thread_;
};

absl::Status connect_status(const std::string& path) {
  Client::Options options;
  options.server = path;
  return Client::connect(options).status();
}

bool names(const absl::Status& status, const std::string& what) {
  return std::string(status.message()).find(what) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(protocol_version)

BOOST_AUTO_TEST_CASE(a_client_that_speaks_this_version_too_is_served_in_it) {
  const sim::Daemon daemon;
  for (const auto& [lowest, highest] : {std::pair{0U, 1U}, {1U, 2U}, {0U, 4'000'000'000U}}) {
    sim::Raw raw(daemon.tcp(), {.version_min = lowest, .version_max = highest});
    const auto hello = raw.body<wire::HelloReply>();
    BOOST_TEST(hello.status().code() == 0);
    BOOST_TEST(hello.version() == 1U);
    BOOST_TEST(raw.open(sim::chain_spec("versions")) != 0U);
  }
}

BOOST_AUTO_TEST_CASE(one_that_does_not_is_told_both_versions) {
  const sim::Daemon daemon;
  for (const auto& [lowest, highest] : {std::pair{0U, 0U}, {2U, 3U}, {3U, 2U}}) {
    sim::Raw raw(daemon.tcp(), /*greet=*/false);
    raw.say_hello({.version_min = lowest, .version_max = highest});
    const std::string why = raw.error_notice();
    BOOST_TEST(why.find("this daemon 1") != std::string::npos, why);
    BOOST_TEST(!raw.receive());
  }
  BOOST_TEST(daemon.stat("sessions") == 1);
}

BOOST_AUTO_TEST_CASE(a_client_of_this_version_says_why_it_cannot_use_another_daemon) {
  const test::TempDir dir;
  wire::ErrorNotice notice;
  notice.mutable_status()->set_code(static_cast<int>(absl::StatusCode::kFailedPrecondition));
  notice.mutable_status()->set_message("version: the client speaks 1 to 1, this daemon 2");
  {
    const OtherDaemon newer(dir.path() + "/newer", FrameType::kError, false, notice);
    const absl::Status status = connect_status(dir.path() + "/newer");
    BOOST_TEST((status.code() == absl::StatusCode::kFailedPrecondition));
    BOOST_TEST(names(status, "this daemon 2"), status.message());
  }
  wire::HelloReply reply;
  reply.set_version(2);
  const OtherDaemon hasty(dir.path() + "/hasty", FrameType::kHello, true, reply);
  const absl::Status status = connect_status(dir.path() + "/hasty");
  BOOST_TEST((status.code() == absl::StatusCode::kFailedPrecondition));
  BOOST_TEST(names(status, "speaks protocol version 2, this client version 1"), status.message());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::version_test
