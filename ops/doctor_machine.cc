#include "ops/doctor_machine.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include <fmt/format.h>

namespace larder {

namespace {

/// Cross-memory attach: larderd reads a put from the client's memory instead of having it staged.
Finding yama(const HostFiles& files) {
  const char* const check = "ptrace_scope";
  const auto scope = files.word("/proc/sys/kernel/yama/ptrace_scope");
  if (!scope) return fine(check, "no yama: attach works between processes of one uid");
  if (*scope == "0") return fine(check, "0: attach works between processes of one uid");
  const std::string who = *scope == "1"   ? "only a parent, or who has CAP_SYS_PTRACE, may attach"
                          : *scope == "2" ? "only who has CAP_SYS_PTRACE may attach"
                                          : "nobody may attach";
  return advice(
      check, fmt::format("{}: {}; puts from plain memory are staged, one copy more", *scope, who),
      "put from registered memory (Client::allocate_region), or sysctl "
      "kernel.yama.ptrace_scope=0");
}

Finding numa(const HostFiles& files) {
  std::size_t nodes = 0;
  for (const std::string& name : files.names("/sys/devices/system/node")) {
    const bool digits = name.size() > 4 && std::all_of(name.begin() + 4, name.end(), [](char c) {
                          return absl::ascii_isdigit(static_cast<unsigned char>(c));
                        });
    if (absl::StartsWith(name, "node") && digits) nodes += 1;
  }
  if (nodes <= 1) return fine("numa", "one memory node");
  return advice("numa",
                fmt::format("{} memory nodes: slabs stand where larderd first wrote them", nodes),
                "one larderd a node, bound to it and its workers: numactl --cpunodebind=N "
                "--membind=N larderd …");
}

Finding governor(const HostFiles& files) {
  const char* const check = "cpu_governor";
  const std::string cpus = "/sys/devices/system/cpu";
  std::vector<std::string> found;
  for (const std::string& cpu : files.names(cpus)) {
    const auto name = files.word(fmt::format("{}/{}/cpufreq/scaling_governor", cpus, cpu));
    if (name && std::find(found.begin(), found.end(), *name) == found.end()) {
      found.push_back(*name);
    }
  }
  if (found.empty()) return fine(check, "not shown by this machine");
  const std::string all = absl::StrJoin(found, ", ");
  if (std::find(found.begin(), found.end(), "powersave") == found.end()) return fine(check, all);
  return advice(check, all + ": clocks rise late, copies and wake-ups are slower",
                "cpupower frequency-set -g performance");
}

Finding cuda(const HostFiles& files) {
  const auto driver = files.lines("/proc/driver/nvidia/version");
  if (!driver.empty()) return fine("cuda", driver.front());
  return fine("cuda", "no NVIDIA driver: host memory only");
}

Finding rdma(const HostFiles& files) {
  const auto devices = files.names("/sys/class/infiniband");
  if (devices.empty()) return fine("rdma", "no device: TCP only");
  return fine("rdma", absl::StrJoin(devices, ", "));
}

}  // namespace

Findings look_at_machine(const HostFiles& files) {
  return {yama(files), numa(files), governor(files), cuda(files), rdma(files)};
}

}  // namespace larder
