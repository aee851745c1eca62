// Lookups of random keys in batches of 1,000, against as many prefetched random loads of 64 bytes
// over as much memory as the index has: one load a key is the least that a lookup can cost.
//
//   larder_index_lookup [BLOCKS...]     default 10^4 10^5 10^6 10^7; prints one JSON object

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>

#include "store/huge_memory.h"
#include "store/index.h"
#include "store/quiescence.h"
#include "tests/bench/drawn_hash.h"

namespace larder {
namespace {

constexpr std::size_t kBatch = 1000;
constexpr std::size_t kRounds = 7;
constexpr std::size_t kKeysARound = 400 * kBatch;
constexpr std::size_t kDrawn = 1 << 20;  // keys drawn before the clock runs
constexpr std::size_t kLine = 64;
constexpr std::size_t kAhead = 32;  // loads under way: more than a core has line buffers

Time now() {
  return std::chrono::steady_clock::now();
}

BlockKey key_of(std::uint64_t n) {
  return {NamespaceId(7), drawn_hash(n), GroupId(0), Rank(0)};
}

/// What the kernel does in the background for memory that asked for huge pages, done at once and
/// for the index and the loads alike. Answers the bytes that stand on huge pages then.
std::uint64_t collapse_huge_pages() {
  constexpr int kCollapse = 25;  // MADV_COLLAPSE, which older headers lack
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  std::uintptr_t from = 0;
  std::uintptr_t to = 0;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> asked;
  while (std::getline(maps, line)) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      from = begin;
      to = end;
    }
    if (line.starts_with("VmFlags:") && line.find(" hg") != std::string::npos) {
      asked.emplace_back(from, to);
    }
  }
  for (const auto& [begin, end] : asked)
    madvise(reinterpret_cast<void*>(begin), end - begin, kCollapse);
  std::ifstream sums("/proc/self/smaps_rollup");
  std::uint64_t kib = 0;
  while (std::getline(sums, line)) {
    if (std::sscanf(line.c_str(), "AnonHugePages: %lu kB", &kib) == 1) break;
  }
  return kib << 10;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
double spread_percent(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return 50 * (values.back() - values.front()) / values[values.size() / 2];
}

/// An index that grew to its size as a shard's does.
class Lookups {
 public:
  static std::optional<std::unique_ptr<Lookups>> make(std::uint64_t blocks, std::mt19937_64& rng) {
    auto made = std::make_unique<Lookups>();
    for (std::uint64_t n = 0; n < blocks; ++n) {
      if (!made->index_.insert(key_of(n), EntryState::kFilling).ok()) return std::nullopt;
      if (n % 64 == 0) made->index_.maintain();
    }
    for (std::uint64_t n = 0; n < blocks + 100'000; ++n)
      made->index_.maintain();  // the growth under way ends
    for (std::size_t n = 0; n < kDrawn; ++n)
      made->keys_.push_back(key_of(rng() % blocks));
    return made;
  }

  Lookups() : index_(domain_) {}
  Bytes footprint() const { return index_.memory(); }

  /// Nanoseconds a key; negative when a key was not found.
  double round() {
    std::vector<EntryId> found(kBatch);
    std::uint64_t missing = 0;
    const Time start = now();
    for (std::size_t done = 0; done < kKeysARound; done += kBatch) {
      if (at_ + kBatch > keys_.size()) at_ = 0;
      index_.find_many(std::span(keys_).subspan(at_, kBatch), found);
      for (const EntryId id : found)
        missing += id == kNoEntry;
      at_ += kBatch;
    }
    const std::chrono::duration<double, std::nano> spent = now() - start;
    return missing == 0 ? spent.count() / kKeysARound : -1;
  }

 private:
  QuiescenceDomain domain_;
  Index index_;
  std::vector<BlockKey> keys_;
  std::size_t at_ = 0;
};

/// The limit: independent loads of whole lines at places drawn beforehand, prefetched, from memory
/// that the kernel was asked to back with huge pages as the index's is.
class Loads {
 public:
  Loads(Bytes footprint, std::mt19937_64& rng) : memory_(footprint) {
    std::memset(memory_.data(), 1, footprint.count);
    memory_.full();
    const std::uint64_t lines = footprint.count / kLine;
    for (std::size_t n = 0; n < kDrawn + kAhead; ++n)
      places_.push_back(static_cast<std::uint32_t>(rng() % lines));
  }

  double round() {
    std::uint64_t sum = 0;
    const Time start = now();
    for (std::size_t done = 0; done < kKeysARound; ++done) {
      if (at_ == kDrawn) at_ = 0;
      __builtin_prefetch(line(places_[at_ + kAhead]));
      sum += *line(places_[at_]);
      at_ += 1;
    }
    const std::chrono::duration<double, std::nano> spent = now() - start;
    keep_ = keep_ + sum;
    return spent.count() / kKeysARound;
  }

 private:
  const std::uint64_t* line(std::uint32_t place) const {
    return reinterpret_cast<const std::uint64_t*>(memory_.data() + std::size_t{place} * kLine);
  }

  HugeMemory memory_;
  std::vector<std::uint32_t> places_;
  std::size_t at_ = 0;
  volatile std::uint64_t keep_ = 0;
};

bool measure(std::uint64_t blocks, bool first) {
  std::mt19937_64 rng(1);
  const auto lookups = Lookups::make(blocks, rng);
  if (!lookups) {
    fmt::print(stderr, "{} blocks do not fit one index\n", blocks);
    return false;
  }
  Loads loads((*lookups)->footprint(), rng);
  const std::uint64_t huge_bytes = collapse_huge_pages();
  std::vector<double> lookup_ns, load_ns, ratios;
  for (std::size_t n = 0; n <= kRounds; ++n) {
    const double load = loads.round();
    const double lookup = (*lookups)->round();
    if (lookup < 0) {
      fmt::print(stderr, "a key that is in the index was not found\n");
      return false;
    }
    if (n == 0) continue;  // warms up
    load_ns.push_back(load);
    lookup_ns.push_back(lookup);
    ratios.push_back(lookup / load);
  }
  fmt::print(
      "{}{{\"blocks\": {}, \"footprint_bytes\": {}, \"huge_bytes\": {}, \"lookup_ns\": {:.1f}, "
      "\"load_ns\": {:.1f}, "
      "\"ratio\": {:.2f}, \"lookup_spread_percent\": {:.0f}, \"load_spread_percent\": {:.0f}}}",
      first ? "" : ", ", blocks, (*lookups)->footprint().count, huge_bytes, median(lookup_ns),
      median(load_ns), median(ratios), spread_percent(lookup_ns), spread_percent(load_ns));
  return true;
}

int run(std::vector<std::uint64_t> sizes) {
  if (sizes.empty()) sizes = {10'000, 100'000, 1'000'000, 10'000'000};
  fmt::print("{{\"batch\": {}, \"rounds\": {}, \"rows\": [", kBatch, kRounds);
  bool first = true;
  for (const std::uint64_t blocks : sizes) {
    if (blocks == 0 || !measure(blocks, first)) return 1;
    first = false;
  }
  fmt::print("]}}\n");
  return 0;
}

}  // namespace
}  // namespace larder

int main(int argc, char** argv) {
  std::vector<std::uint64_t> sizes;
  for (int n = 1; n < argc; ++n)
    sizes.push_back(std::strtoull(argv[n], nullptr, 10));
  return larder::run(std::move(sizes));
}
