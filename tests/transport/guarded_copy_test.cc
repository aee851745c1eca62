#include "transport/guarded_copy.h"

#include <thread>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/transport/stream.h"
#include "transport/mapping.h"
#include "transport/socket.h"

namespace larder::guarded_copy_test {
namespace {

constexpr std::size_t kFile = 2 << 20;

/// A mapped memfd of which another could take the memory away.
struct Shrinkable {
  Shrinkable() : fd(memfd_create("larder-test", MFD_CLOEXEC)) {
    guard_sigbus();  // Boost.Test puts a handler of its own over ours in each case
    BOOST_REQUIRE(ftruncate(fd.get(), kFile) == 0);
    memory = Mapping(fd.get(), kFile, PROT_READ | PROT_WRITE);
    BOOST_REQUIRE(memory.valid());
    std::memset(memory.data(), 0x5a, kFile);
  }
  void shrink(std::size_t bytes) {
    BOOST_REQUIRE(ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
  }
  Fd fd;
  Mapping memory;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(guarded_copy)

BOOST_DATA_TEST_CASE(copies_of_any_size_and_alignment_are_exact, boost::unit_test::data::xrange(60),
                     seed) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  const std::size_t length = seed % 3 == 0 ? rng() % 300 : rng() % (1 << 20);
  const std::size_t from = rng() % 100;
  const std::size_t to = rng() % 100;
  const std::vector<std::byte> source = sim::random_bytes(rng, length + 100);
  std::vector<std::byte> plain(length + 200, std::byte{0x11});
  std::vector<std::byte> summed = plain;
  std::vector<std::byte> streamed = plain;
  std::vector<std::byte> twice = plain;
  std::vector<std::byte> kept(length);
  Checksum sum;

  BOOST_TEST(copy_guarded(plain.data() + to, source.data() + from, length));
  BOOST_TEST(copy_checksum_guarded(summed.data() + to, source.data() + from, length, sum));
  copy_streaming(streamed.data() + to, source.data() + from, length);
  copy_streaming_twice(twice.data() + to, kept.data(), source.data() + from, length);

  std::vector<std::byte> expected(length + 200, std::byte{0x11});
  std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), length,
              expected.begin() + static_cast<std::ptrdiff_t>(to));
  BOOST_TEST((plain == expected));
  BOOST_TEST((summed == expected));
  BOOST_TEST((streamed == expected));
  BOOST_TEST((twice == expected));
  BOOST_TEST(
      std::equal(kept.begin(), kept.end(), source.begin() + static_cast<std::ptrdiff_t>(from)));
  BOOST_TEST(sum.value() == checksum_of(source.data() + from, length));
}

BOOST_AUTO_TEST_CASE(a_source_cut_short_is_a_refusal_and_the_process_lives) {
  Shrinkable file;
  file.shrink(kFile / 2);
  std::vector<std::byte> place(kFile);
  Checksum sum;
  const std::uint64_t before = sigbus_faults();

  BOOST_TEST(!copy_guarded(place.data(), file.memory.data(), kFile));
  BOOST_TEST(!copy_checksum_guarded(place.data(), file.memory.data(), kFile, sum));
  BOOST_TEST(!checksum_guarded(file.memory.data(), kFile, sum));
  BOOST_TEST(!copy_guarded(place.data(), file.memory.data() + kFile - 100, 100));
  BOOST_TEST(copy_guarded(place.data(), file.memory.data(), kFile / 2));
  BOOST_TEST(sigbus_faults() - before == 4U);
}

BOOST_AUTO_TEST_CASE(a_destination_cut_short_is_a_refusal_too) {
  Shrinkable file;
  file.shrink(4096);
  const std::vector<std::byte> source(kFile, std::byte{1});

  BOOST_TEST(!copy_guarded(file.memory.data(), source.data(), kFile));
}

BOOST_AUTO_TEST_CASE(a_word_in_memory_that_went_away_is_nothing) {
  Shrinkable file;
  auto* word = reinterpret_cast<std::atomic<std::uint64_t>*>(file.memory.data() + kFile - 8);

  BOOST_TEST((load_guarded(word) == 0x5a5a5a5a5a5a5a5aULL));
  file.shrink(4096);
  BOOST_TEST((load_guarded(word) == std::nullopt));
}

#ifndef LARDER_SANITIZE_THREAD  // the race is what is tested: the bytes are another process's
BOOST_AUTO_TEST_CASE(the_checksum_is_of_what_was_stored_although_the_source_changes) {
  constexpr std::size_t kLength = 256 << 10;
  std::vector<std::byte> source(kLength);
  std::vector<std::byte> place(kLength);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (unsigned turn = 0; !stop.load(); ++turn) {
      for (std::size_t at = turn % 7; at < kLength; at += 61)
        std::atomic_ref(source[at]).store(static_cast<std::byte>(turn), std::memory_order_relaxed);
    }
  });
  int changed = 0;
  int wrong = 0;
  for (int n = 0; n < 2'000; ++n) {
    Checksum sum;
    if (!copy_checksum_guarded(place.data(), source.data(), kLength, sum)) break;
    if (sum.value() != checksum_of(place.data(), kLength)) wrong += 1;
    if (sum.value() != checksum_of(source.data(), kLength)) changed += 1;
  }
  stop = true;
  writer.join();
  BOOST_TEST(wrong == 0);
  BOOST_TEST(changed > 0);  // else nothing was tried
}
#endif

BOOST_AUTO_TEST_CASE(a_file_that_shrinks_under_copies_of_many_threads_harms_none) {
  Shrinkable file;
  std::atomic<bool> stop{false};
  std::atomic<int> refusals{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n) {
    threads.emplace_back([&] {
      std::vector<std::byte> place(kFile);
      while (!stop.load()) {
        if (!copy_guarded(place.data(), file.memory.data(), kFile)) refusals.fetch_add(1);
      }
    });
  }

  for (int n = 0; n < 200 || (refusals.load() == 0 && n < 100'000); ++n) {
    file.shrink(n % 2 == 0 ? 4096 : kFile);
    std::this_thread::yield();
  }
  file.shrink(kFile);
  stop = true;
  for (std::thread& thread : threads)
    thread.join();

  BOOST_TEST(refusals.load() > 0);
}

BOOST_AUTO_TEST_CASE(any_other_bus_error_still_ends_the_process) {
  Shrinkable file;
  std::byte place[8];
  BOOST_REQUIRE(copy_guarded(place, file.memory.data(), sizeof place));
  file.shrink(4096);

  const pid_t child = fork();
  if (child == 0) {
    signal(SIGBUS, SIG_DFL);
    guard_sigbus();
    const volatile std::byte* beyond = file.memory.data() + kFile - 1;
    _exit(static_cast<int>(*beyond) & 0);
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);

  BOOST_TEST(WIFSIGNALED(status));
  BOOST_TEST(WTERMSIG(status) == SIGBUS);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::guarded_copy_test
