#include "tests/soak/footprint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "store/limits.h"
#include "tests/eventually.h"
#include "tests/sanitized.h"
#include "tests/soak/prompt.h"

namespace larder::soak {

namespace {

/// Sessions end within a second, pins and requests at their time.
constexpr Duration kRestWithin = std::chrono::seconds(15);
/// A slab more of each size that workers use.
constexpr std::uint64_t kSlabGrowthKib = 5 * 2'048;
/// An evicted block that is remembered takes an entry of the index and its place in the tables.
constexpr std::uint64_t kGhostBytes = 160;
/// 131,072 ghosts and the blocks, with room for a table that has just doubled.
constexpr std::uint64_t kIndexKibMax = 32 << 10;
/// What an allocator of several threads keeps or gives back by chance. An hour's leak of one small
/// object a call is more than ten times as much.
constexpr std::uint64_t kMemoryGrowthKib = 6 << 10;

std::uint64_t status_field(pid_t pid, const std::string& name) {
  std::ifstream in(fmt::format("/proc/{}/status", pid));
  std::string word;
  std::uint64_t value = 0;
  while (in >> word) {
    if (word == name + ":" && in >> value) return value;
  }
  return 0;
}

/// A descriptor of a slab's file is the slab's, and of one that was retired it stays half a minute.
void add_descriptors(pid_t pid, Footprint& out) {
  for (const auto& file : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(file, gone);
    if (target.find("/slab-") == std::string::npos) {
      out.descriptors += 1;
    } else if (target.ends_with(" (deleted)")) {
      out.retired_slabs += 1;
    } else {
      out.slab_descriptors += 1;
    }
  }
}

std::uint64_t slab_files_in(const std::string& dir) {
  std::uint64_t found = 0;
  for (const auto& file : std::filesystem::directory_iterator(dir))
    found += file.path().extension() == ".data" ? 1 : 0;
  return found;
}

std::uint64_t client_maps_of(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/maps", pid));
  std::uint64_t found = 0;
  for (std::string line; std::getline(in, line);)
    found += line.find("memfd:") != std::string::npos ? 1 : 0;
  return found;
}

void add_stats(Client& client, Footprint& out) {
  const auto stats = client.server_stats();
  BOOST_REQUIRE_MESSAGE(stats.ok(), stats.status().message());
  for (const auto& [name, value] : stats->values) {
    const auto n = static_cast<std::uint64_t>(value);
    if (name == "index_bytes") out.index_kib = n >> 10;
    if (name == "slab_bytes") out.slab_kib = n >> 10;
    if (name == "used_bytes") out.used_kib = n >> 10;
    if (name == "capacity_bytes") out.capacity_kib = n >> 10;
    if (name == "ghosts") out.ghosts = n;
    if (name == "blocks") out.blocks = n;
    if (name == "sessions") out.sessions = n;
    if (name == "pinned_bytes") out.pinned_bytes = n;
    if (name == "pins") out.pins = n;
  }
}

void add_list(Client& client, Footprint& out) {
  const auto ns = client.open_namespace(prompt_spec("soak"));
  BOOST_REQUIRE(ns.ok());
  std::uint64_t cursor = 0;
  for (bool end = false; !end;) {
    const auto page = client.list(*ns, cursor, limits::kListPageMax);
    BOOST_REQUIRE_MESSAGE(page.ok(), page.status().message());
    out.listed += page->blocks.size();
    for (const wire::ListRecord& block : page->blocks)
      out.leased += block.leases > 0 ? 1 : 0;
    cursor = page->cursor;
    end = page->end;
  }
}

Footprint look(const sim::Daemon& daemon, Client& client) {
  Footprint out;
  add_stats(client, out);
  add_list(client, out);
  out.anon_kib = status_field(daemon.pid(), "RssAnon");
  out.threads = status_field(daemon.pid(), "Threads");
  add_descriptors(daemon.pid(), out);
  out.slab_files = slab_files_in(daemon.runtime_dir());
  out.client_maps = client_maps_of(daemon.pid());
  return out;
}

}  // namespace

Footprint footprint(const sim::Daemon& daemon) {
  return look(daemon, *daemon.shm());
}

void await_rest(const sim::Daemon& daemon, const Footprint& fresh, const std::string& what) {
  const auto client = daemon.shm();
  Footprint last;
  const auto at_rest = [&] {
    last = look(daemon, *client);
    return last.sessions == 1 && last.pinned_bytes == 0 && last.pins == 0 && last.leased == 0 &&
           last.blocks == last.listed && last.descriptors == fresh.descriptors &&
           last.slab_descriptors == last.slab_files && last.client_maps == fresh.client_maps &&
           last.threads == fresh.threads;
  };
  const bool came = test::eventually(at_rest, kRestWithin);
  BOOST_TEST(came, what << ": " << last.json().dump() << "\n fresh: " << fresh.json().dump());
}

void check_flat(const Footprint& before, const Footprint& after) {
  BOOST_TEST_CONTEXT("before " << before.json().dump() << "\nafter  " << after.json().dump()) {
    BOOST_TEST(after.descriptors == before.descriptors);
    BOOST_TEST(after.threads == before.threads);
    BOOST_TEST(after.client_maps == before.client_maps);
    BOOST_TEST(after.sessions == before.sessions);
    BOOST_TEST(after.slab_kib <= before.slab_kib + kSlabGrowthKib);
    BOOST_TEST(after.index_kib <= kIndexKibMax);
    if (sim::kSanitized) return;  // their allocators keep what was freed
    const std::uint64_t remembered = after.ghosts - std::min(after.ghosts, before.ghosts);
    BOOST_TEST(after.anon_kib <=
               before.anon_kib + kMemoryGrowthKib + (remembered * kGhostBytes >> 10));
  }
}

nlohmann::json Footprint::json() const {
  return {{"anon_kib", anon_kib},
          {"index_kib", index_kib},
          {"ghosts", ghosts},
          {"descriptors", descriptors},
          {"slab_descriptors", slab_descriptors},
          {"retired_slabs", retired_slabs},
          {"slab_files", slab_files},
          {"threads", threads},
          {"client_maps", client_maps},
          {"slab_kib", slab_kib},
          {"used_kib", used_kib},
          {"capacity_kib", capacity_kib},
          {"blocks", blocks},
          {"listed", listed},
          {"leased", leased},
          {"sessions", sessions},
          {"pinned_bytes", pinned_bytes},
          {"pins", pins}};
}

}  // namespace larder::soak
