#include "tests/faults/process_figures.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/resource.h>

namespace larder::sim {

namespace {

std::string proc(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

}  // namespace

Bytes own_memory(pid_t pid) {
  std::ifstream status(proc(pid, "status"));
  for (std::string line; std::getline(status, line);) {
    unsigned long kib = 0;
    if (std::sscanf(line.c_str(), "RssAnon: %lu kB", &kib) == 1) return Bytes{kib * 1024};
  }
  return {};
}

std::size_t mappings(pid_t pid) {
  std::ifstream maps(proc(pid, "maps"));
  std::size_t lines = 0;
  for (std::string line; std::getline(maps, line);)
    lines += 1;
  return lines;
}

std::size_t descriptors(pid_t pid) {
  const std::filesystem::directory_iterator all(proc(pid, "fd"));
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

double figure(Client& client, const std::string& name) {
  const auto stats = client.server_stats();
  if (!stats.ok()) return -1;
  const auto found = std::find_if(stats->values.begin(), stats->values.end(),
                                  [&](const auto& one) { return one.first == name; });
  return found == stats->values.end() ? -1 : found->second;
}

std::size_t count_of(const Completion& done, KeyStatus status) {
  return static_cast<std::size_t>(std::count(done.keys.begin(), done.keys.end(), status));
}

bool soon(Duration within, const std::function<bool()>& so) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (!so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace larder::sim
