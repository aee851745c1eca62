// Memory of one shard's index and LRU policy a block, as the process really grows.
//
//   larder_index_memory [BLOCKS]        default 1,000,000; prints one JSON object

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#include <fmt/format.h>
#include <unistd.h>

#include "policies/lru_policy.h"
#include "store/index.h"
#include "store/quiescence.h"

namespace larder {
namespace {

std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  in >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

int run(std::uint64_t blocks) {
  const std::uint64_t before = resident_bytes();
  QuiescenceDomain domain;
  Index index(domain);
  LruPolicy policy;
  std::mt19937_64 rng(1);
  for (std::uint64_t n = 0; n < blocks; ++n) {
    const BlockKey key{NamespaceId(7), {rng(), rng()}, GroupId(0), Rank(0)};
    const auto id = index.insert(key, EntryState::kFilling);
    if (!id.ok()) return 1;
    PolicyInsert insert;
    insert.id = PolicyId(id->value());
    insert.size = Bytes{65'536};
    insert.stamp = Stamp(n);
    policy.on_insert(insert, nullptr);
    if (n % 64 == 0) index.maintain();
  }
  while (index.memory().count != 0) {  // let the growth under way end
    const std::uint64_t held = index.memory().count;
    for (int i = 0; i < 10'000; ++i)
      index.maintain();
    if (index.memory().count == held) break;
  }
  const auto each = [blocks](std::uint64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(blocks);
  };
  fmt::print(
      "{{\"blocks\": {}, \"index_bytes_a_block\": {:.1f}, \"policy_bytes_a_block\": 16.0, "
      "\"resident_bytes_a_block\": {:.1f}, \"goal\": 96}}\n",
      blocks, each(index.memory().count), each(resident_bytes() - before));
  return 0;
}

}  // namespace
}  // namespace larder

int main(int argc, char** argv) {
  return larder::run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000);
}
