#include "transport/frame_writer.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/transport/stream.h"

namespace larder::frame_writer_test {
namespace {

OutFrame out_frame(const sim::SampleFrame& sample, std::uint64_t tag = 0) {
  OutFrame out{.tag = tag};
  out.head = sample.bytes();
  out.head.resize(out.head.size() - sample.payload.size());
  const std::size_t half = sample.payload.size() / 2;
  auto* data = const_cast<std::byte*>(sample.payload.data());
  if (half > 0) out.payload.push_back({data, half});
  if (sample.payload.size() > half)
    out.payload.push_back({data + half, sample.payload.size() - half});
  return out;
}

sim::SampleFrame payload_frame(std::mt19937& rng, std::size_t bytes) {
  sim::SampleFrame out = sim::random_frame(rng, 10);
  out.payload = sim::random_bytes(rng, bytes);
  out.header.payload = static_cast<std::uint32_t>(bytes);
  return out;
}

void drain(FrameWriter& writer, const sim::SocketPair& pair, sim::Collector& collector,
           std::size_t slice = 1 << 20) {
  while (!writer.empty()) {
    std::size_t budget = slice;
    const IoResult sent = writer.flush(pair.here.get(), budget);
    BOOST_REQUIRE((sent.state == IoState::kDone || sent.state == IoState::kBlocked));
    BOOST_REQUIRE(collector.collect(pair.there.get()) == ReadEvent::kBlocked);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frame_writer)

BOOST_DATA_TEST_CASE(all_frames_arrive_whole_through_a_narrow_socket,
                     boost::unit_test::data::xrange(20), seed) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  sim::SocketPair pair;
  FrameWriter writer;
  sim::Collector collector;
  std::vector<sim::SampleFrame> control, bulk;
  for (int n = 0; n < 50; ++n) {
    const sim::SampleFrame frame = sim::random_frame(rng, n % 4 == 0 ? 200'000 : 300);
    (frame.payload.empty() ? control : bulk).push_back(frame);
  }
  for (const sim::SampleFrame& frame : bulk)
    BOOST_REQUIRE(writer.push(out_frame(frame)));
  for (const sim::SampleFrame& frame : control)
    BOOST_REQUIRE(writer.push(out_frame(frame)));

  drain(writer, pair, collector, 1 + rng() % 50'000);

  std::vector<sim::SampleFrame> expected = control;
  expected.insert(expected.end(), bulk.begin(), bulk.end());
  BOOST_TEST((collector.frames == expected));
  BOOST_TEST(writer.queued_bytes() == 0U);
}

BOOST_AUTO_TEST_CASE(an_answer_overtakes_blocks_that_wait_but_not_the_one_begun) {
  std::mt19937 rng(1);
  sim::SocketPair pair;
  FrameWriter writer;
  sim::Collector collector;
  const sim::SampleFrame first = payload_frame(rng, 250'000);
  const sim::SampleFrame second = payload_frame(rng, 250'000);
  const sim::SampleFrame answer{.header = {.type = FrameType::kPing, .id = 9}};
  BOOST_REQUIRE(writer.push(out_frame(first)) && writer.push(out_frame(second)));
  std::size_t budget = 1000;
  BOOST_REQUIRE(writer.flush(pair.here.get(), budget).state == IoState::kDone);

  BOOST_REQUIRE(writer.push(out_frame(answer)));
  drain(writer, pair, collector);

  BOOST_TEST((collector.frames == std::vector{first, answer, second}));
}

BOOST_AUTO_TEST_CASE(a_tag_is_reported_when_its_last_byte_is_in_the_kernel) {
  std::mt19937 rng(2);
  sim::SocketPair pair;
  FrameWriter writer;
  const sim::SampleFrame frame = payload_frame(rng, 1000);
  BOOST_REQUIRE(writer.push(out_frame(frame, 5)));
  std::size_t budget = 500;
  BOOST_REQUIRE(writer.flush(pair.here.get(), budget).state == IoState::kDone);
  BOOST_TEST(writer.take_sent().empty());

  budget = 1 << 20;
  BOOST_REQUIRE(writer.flush(pair.here.get(), budget).state == IoState::kDone);

  BOOST_TEST((writer.take_sent() == std::vector<std::uint64_t>{5}));
  BOOST_TEST(writer.take_sent().empty());
}

BOOST_AUTO_TEST_CASE(a_dropped_frame_is_finished_with_zeros_and_the_memory_not_read_again) {
  std::mt19937 rng(3);
  sim::SocketPair pair;
  FrameWriter writer;
  sim::Collector collector;
  sim::SampleFrame begun = payload_frame(rng, 100'000);
  sim::SampleFrame waiting = payload_frame(rng, 100'000);
  const sim::SampleFrame other = payload_frame(rng, 1000);
  BOOST_REQUIRE(writer.push(out_frame(begun, 5)) && writer.push(out_frame(waiting, 5)) &&
                writer.push(out_frame(other, 6)));
  std::size_t budget = 50'000;
  BOOST_REQUIRE(writer.flush(pair.here.get(), budget).state == IoState::kDone);

  writer.drop(5);
  const std::vector<std::byte> sent = begun.payload;
  std::fill(begun.payload.begin(), begun.payload.end(), std::byte{0xff});
  std::fill(waiting.payload.begin(), waiting.payload.end(), std::byte{0xff});
  drain(writer, pair, collector);

  BOOST_REQUIRE(collector.frames.size() == 2);
  const std::vector<std::byte>& got = collector.frames[0].payload;
  BOOST_TEST(std::equal(got.begin(), got.begin() + 49'000, sent.begin()));
  BOOST_TEST((got.back() == std::byte{0}));
  BOOST_TEST(std::count(got.begin() + 50'000, got.end(), std::byte{0xff}) == 0);
  BOOST_TEST((collector.frames[1] == other));
  BOOST_TEST((writer.take_sent() == std::vector<std::uint64_t>{6}));
}

BOOST_AUTO_TEST_CASE(descriptors_arrive_with_their_frame_and_close_on_exec) {
  std::mt19937 rng(4);
  sim::SocketPair pair;
  FrameWriter writer;
  sim::Collector collector;
  const Fd file(memfd_create("larder-test", MFD_CLOEXEC));
  for (std::uint8_t n = 0; n < 4; ++n) {
    OutFrame frame;
    frame.head = make_head({.type = FrameType::kSlabNotice, .id = n, .fds = n});
    frame.fds.assign(n, file.get());
    BOOST_REQUIRE(writer.push(std::move(frame)));
  }

  drain(writer, pair, collector);

  BOOST_REQUIRE(collector.fds.size() == 4);
  for (std::size_t n = 0; n < 4; ++n) {
    BOOST_TEST(collector.fds[n].size() == n);
    for (const Fd& fd : collector.fds[n]) {
      BOOST_TEST((fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_full_queue_takes_no_more) {
  FrameWriter writer;
  OutFrame large;
  large.head.resize(FrameWriter::kQueueMax);
  BOOST_TEST(writer.push(std::move(large)));

  OutFrame one;
  one.head.resize(1);

  BOOST_TEST(!writer.push(std::move(one)));
  BOOST_TEST(writer.frames() == 1U);
}

BOOST_AUTO_TEST_CASE(a_closed_peer_is_an_answer_and_no_signal) {
  sim::SocketPair pair;
  pair.there.reset();
  FrameWriter writer;
  BOOST_REQUIRE(writer.push({.head = make_head({.type = FrameType::kPing, .id = 1})}));

  std::size_t budget = 1000;

  BOOST_TEST((writer.flush(pair.here.get(), budget).state == IoState::kClosed));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::frame_writer_test
