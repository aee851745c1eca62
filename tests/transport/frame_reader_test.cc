#include "transport/frame_reader.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "store/limits.h"
#include "tests/transport/stream.h"

namespace larder::frame_reader_test {
namespace {

void write_all(int fd, std::span<const std::byte> bytes) {
  BOOST_REQUIRE(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
}

/// Thirty frames, now and then a large one (several times what is received at once), in pieces.
struct Stream {
  explicit Stream(int seed) : rng(static_cast<unsigned>(seed)) {
    for (int n = 0; n < 30; ++n) {
      sent.push_back(sim::random_frame(rng, n % 4 == 0 ? 200'000 : 500));
      const std::vector<std::byte> frame = sent.back().bytes();
      bytes.insert(bytes.end(), frame.begin(), frame.end());
    }
  }
  /// `between` is called whenever the reader may have stopped inside a frame.
  template <class Between>
  void feed(sim::Collector& collector, const Between& between) {
    sim::SocketPair pair;
    std::span<const std::byte> rest(bytes);
    while (!rest.empty()) {
      const std::size_t n = std::min<std::size_t>(rest.size(), 1 + rng() % 30'000);
      write_all(pair.here.get(), rest.first(n));
      rest = rest.subspan(n);
      while (collector.collect(pair.there.get(), 1 + rng() % 5000) == ReadEvent::kBudget)
        between();
      between();
    }
  }

  std::mt19937 rng;
  std::vector<sim::SampleFrame> sent;
  std::vector<std::byte> bytes;
};

/// Half of the heads that are not here whole are discarded.
std::vector<sim::SampleFrame> collect_some(Stream& stream) {
  sim::Collector collector;
  stream.feed(collector, [&] {
    if (collector.reader.in_head() && stream.rng() % 2 == 0) collector.reader.discard_head();
  });
  return collector.frames;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frame_reader)

BOOST_AUTO_TEST_CASE(a_stream_fed_byte_by_byte_yields_the_same_frames) {
  std::mt19937 rng(7);
  sim::SocketPair pair;
  sim::Collector collector;
  std::vector<sim::SampleFrame> sent;

  for (int n = 0; n < 20; ++n) {
    sent.push_back(sim::random_frame(rng, 100));
    for (const std::byte byte : sent.back().bytes()) {
      write_all(pair.here.get(), {&byte, 1});
      BOOST_REQUIRE(collector.collect(pair.there.get()) == ReadEvent::kBlocked);
    }
  }

  BOOST_TEST((collector.frames == sent));
}

BOOST_DATA_TEST_CASE(any_split_of_a_stream_yields_the_same_frames,
                     boost::unit_test::data::xrange(30), seed) {
  Stream stream(seed);
  sim::Collector collector(1 + stream.rng() % 90'000, seed % 2 == 0);
  stream.feed(collector, [] {});
  BOOST_TEST((collector.frames == stream.sent));
}

BOOST_DATA_TEST_CASE(a_head_that_is_discarded_costs_no_memory_and_the_stream_goes_on,
                     boost::unit_test::data::xrange(30), seed) {
  Stream stream(seed);
  const std::vector<sim::SampleFrame>& sent = stream.sent;
  const std::vector<sim::SampleFrame> frames = collect_some(stream);

  std::size_t discarded = 0;
  BOOST_REQUIRE(frames.size() == sent.size());
  for (std::size_t n = 0; n < sent.size(); ++n) {
    const sim::SampleFrame& got = frames[n];
    BOOST_TEST((got.header == sent[n].header));
    BOOST_TEST((got.payload == sent[n].payload));
    if (got.body == sent[n].body && got.array == sent[n].array) continue;
    BOOST_TEST((got.body.empty() && got.array.empty()));
    discarded += 1;
  }
  BOOST_TEST(discarded > 0U);
}

BOOST_AUTO_TEST_CASE(a_payload_nobody_wants_goes_to_scratch_and_the_next_frame_comes) {
  std::mt19937 rng(1);
  sim::SocketPair pair;
  sim::SampleFrame first = sim::random_frame(rng, 10);
  first.payload = sim::random_bytes(rng, 200'000);
  first.header.payload = 200'000;
  const sim::SampleFrame second = sim::random_frame(rng, 100);
  FrameReader reader;
  std::size_t budget = 1 << 30;
  std::vector<std::byte> stream = first.bytes();
  write_all(pair.here.get(), std::span(stream).first(100'000));
  BOOST_REQUIRE(reader.read(pair.there.get(), budget).event == ReadEvent::kFrame);
  std::vector<std::byte> place(150'000, std::byte{0x55});
  const iovec piece{place.data(), place.size()};
  reader.receive_payload({&piece, 1});
  BOOST_REQUIRE(reader.read(pair.there.get(), budget).event == ReadEvent::kBlocked);
  const std::size_t arrived = first.header.payload - reader.payload_left();

  reader.discard_payload();
  const std::vector<std::byte> seen = place;
  write_all(pair.here.get(), std::span(stream).subspan(100'000));
  const std::vector<std::byte> after = second.bytes();
  write_all(pair.here.get(), after);

  BOOST_TEST((reader.read(pair.there.get(), budget).event == ReadEvent::kPayloadDone));
  BOOST_TEST((place == seen));
  BOOST_TEST((place[arrived] == std::byte{0x55}));
  BOOST_REQUIRE(reader.read(pair.there.get(), budget).event == ReadEvent::kFrame);
  BOOST_TEST((reader.frame().header == second.header));
}

BOOST_AUTO_TEST_CASE(a_header_that_promises_much_costs_no_memory_until_bytes_come) {
  sim::SocketPair pair;
  FrameHeader header{.type = FrameType::kMatch, .id = 1};
  header.array = limits::kFrameArrayMax.count;
  std::vector<std::byte> bytes(kFrameHeaderBytes + 1000);
  encode(header, std::span<std::byte, kFrameHeaderBytes>(bytes.data(), kFrameHeaderBytes));
  write_all(pair.here.get(), bytes);
  sim::Collector collector;

  BOOST_TEST((collector.collect(pair.there.get()) == ReadEvent::kBlocked));
  BOOST_TEST(collector.reader.memory() <= 64U << 10);
}

BOOST_AUTO_TEST_CASE(a_large_frame_is_read_and_its_buffer_given_back) {
  std::mt19937 rng(3);
  sim::SocketPair pair;
  sim::SampleFrame large = sim::random_frame(rng, 10);
  large.payload.clear();
  large.header.payload = 0;
  large.array = sim::random_bytes(rng, 3 << 20);
  large.header.array = 3 << 20;
  const std::vector<std::byte> bytes = large.bytes();
  sim::Collector collector;

  std::span<const std::byte> rest(bytes);
  while (!rest.empty()) {
    const ssize_t n = ::write(pair.here.get(), rest.data(), rest.size());
    if (n > 0) rest = rest.subspan(static_cast<std::size_t>(n));
    BOOST_REQUIRE(collector.collect(pair.there.get()) == ReadEvent::kBlocked);
  }

  BOOST_REQUIRE(collector.frames.size() == 1);
  BOOST_TEST((collector.frames[0] == large));
  BOOST_TEST(collector.reader.memory() <= 64U << 10);
}

BOOST_AUTO_TEST_CASE(the_budget_bounds_what_one_call_reads) {
  std::mt19937 rng(4);
  sim::SocketPair pair;
  sim::SampleFrame frame = sim::random_frame(rng, 10);
  frame.payload = sim::random_bytes(rng, 150'000);
  frame.header.payload = 150'000;
  write_all(pair.here.get(), frame.bytes());
  sim::Collector collector;

  BOOST_TEST((collector.collect(pair.there.get(), 1) == ReadEvent::kBudget));
  BOOST_TEST(collector.frames.empty());
  BOOST_TEST((collector.collect(pair.there.get()) == ReadEvent::kBlocked));
  BOOST_TEST(collector.frames.size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_end_between_frames_is_an_end_and_inside_one_a_failure) {
  std::mt19937 rng(5);
  sim::SampleFrame frame = sim::random_frame(rng, 100);
  frame.body = sim::random_bytes(rng, 50);
  frame.header.body = 50;
  const std::vector<std::byte> bytes = frame.bytes();
  sim::SocketPair whole;
  write_all(whole.here.get(), bytes);
  whole.here.reset();
  sim::SocketPair torn;
  write_all(torn.here.get(), std::span(bytes).first(40));
  torn.here.reset();
  sim::Collector first;
  sim::Collector second;

  BOOST_TEST((first.collect(whole.there.get()) == ReadEvent::kClosed));
  BOOST_TEST(first.frames.size() == 1U);
  BOOST_TEST((second.collect(torn.there.get()) == ReadEvent::kFailed));
  BOOST_TEST(absl::IsUnavailable(second.status));
}

BOOST_AUTO_TEST_CASE(a_malformed_header_fails_the_stream_for_good) {
  sim::SocketPair pair;
  const std::vector<std::byte> bytes(64, std::byte{0xee});
  write_all(pair.here.get(), bytes);
  sim::Collector collector;

  BOOST_TEST((collector.collect(pair.there.get()) == ReadEvent::kFailed));
  BOOST_TEST(absl::IsInvalidArgument(collector.status));
  BOOST_TEST((collector.collect(pair.there.get()) == ReadEvent::kFailed));
}

BOOST_AUTO_TEST_CASE(announced_descriptors_that_did_not_come_fail_the_stream) {
  sim::SocketPair pair;
  const std::vector<std::byte> head =
      make_head({.type = FrameType::kRegisterRegion, .id = 1, .fds = 1});
  write_all(pair.here.get(), head);
  sim::Collector collector;

  BOOST_TEST((collector.collect(pair.there.get()) == ReadEvent::kFailed));
  BOOST_TEST(std::string(collector.status.message()).find("1 descriptors announced") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::frame_reader_test
