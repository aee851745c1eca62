#include "ops/doctor_daemon.h"

#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "client/server_address.h"
#include "transport/socket.h"

namespace larder {

namespace {

constexpr auto kConnectDeadline = std::chrono::seconds(2);

/// The address that a client with these options uses.
std::string address_of(const ConnectionOptions& options) {
  if (!options.server.empty()) return options.server;
  const char* named = std::getenv("LARDER_SERVER");  // NOLINT(concurrency-mt-unsafe)
  if (named != nullptr && *named != '\0') return named;
  return server_of(default_server(), kHostServer);
}

/// Of a daemon behind a unix socket.
absl::StatusOr<PeerCredentials> process_behind(const std::string& server) {
  const auto address = parse_address(server);
  if (!address.ok()) return address.status();
  if (!address->is_unix()) return absl::NotFoundError("not on a unix socket");
  const auto fd = connect_to(*address, kConnectDeadline);
  if (!fd.ok()) return fd.status();
  return peer_credentials(fd->get());
}

}  // namespace

Finding user_finding(uid_t daemon, uid_t own) {
  const char* const check = "daemon_user";
  const std::string remedy = "run larderd as a user of its own: the package's unit does";
  if (daemon == own) {
    return advice(check,
                  fmt::format("uid {}, as this command's: processes of one user can reopen "
                              "slabs for writing, so read-only mappings stop mistakes alone",
                              daemon),
                  remedy);
  }
  if (daemon == 0) {
    return advice(check, "root: its clients cannot write slabs, but it could do with less", remedy);
  }
  return fine(check, fmt::format("uid {}, not this command's ({}): {}", daemon, own,
                                 own == 0 ? "only root can write slabs besides it"
                                          : "mappings are read-only for good; puts from plain "
                                            "memory are staged"));
}

Finding capacity_finding(Bytes in_force, Bytes configured, const MemoryRoom& limit) {
  const char* const check = "capacity";
  const std::uint64_t wanted = configured.count >> 20;
  if (in_force >= configured) return fine(check, fmt::format("{} MiB, as configured", wanted));
  const std::string left = limit.limited()
                               ? fmt::format(": {} leaves {} MiB, reserve {} MiB", limit.file,
                                             limit.left().count >> 20, limit.reserve().count >> 20)
                               : std::string();
  return advice(check,
                fmt::format("{} MiB in force of {} MiB: memory was short{}", in_force.count >> 20,
                            wanted, left),
                "raise that limit, or run less beside larderd, or a smaller --host-bytes; it grows "
                "again by itself");
}

Finding version_finding(const std::string& command, const std::string& daemon) {
  if (command == daemon) return fine("version", fmt::format("{}, both", daemon));
  return advice("version", fmt::format("daemon {}, this command {}", daemon, command),
                "restart larderd after an upgrade (committed blocks stay), or upgrade this host");
}

DaemonSeen look_at_daemon(const ConnectionOptions& options) {
  DaemonSeen seen;
  const std::string server = address_of(options);
  const auto client = connect(options);
  if (!client.ok()) {
    seen.findings.push_back(problem("daemon", std::string(client.status().message()),
                                    "systemctl start larderd, or larderd &"));
    return seen;
  }
  const auto stats = (*client)->server_stats();
  if (!stats.ok()) {
    seen.findings.push_back(problem("daemon", std::string(stats.status().message()),
                                    "look at its log; restart it if it hangs"));
    return seen;
  }
  seen.findings.push_back(
      fine("daemon", fmt::format("answers at {} over {}", server, (*client)->stats().transport)));
  seen.findings.push_back(version_finding(LARDER_VERSION, stats->version));
  const auto capacity = capacity_of(**client);
  const auto configured = figure_of(**client, "capacity_configured_bytes");
  if (configured.ok()) seen.capacity = {static_cast<std::uint64_t>(*configured)};
  if (const auto peer = process_behind(server); peer.ok()) {
    seen.findings.push_back(user_finding(peer->uid, ::geteuid()));
    if (peer->pid > 0) seen.process = std::to_string(peer->pid);
  }
  if (capacity.ok() && configured.ok()) {
    // A daemon of another host is not of this machine's memory.
    const MemoryRoom room =
        seen.process == "self" ? MemoryRoom() : probe_memory_room("/", seen.process);
    seen.findings.push_back(capacity_finding({*capacity}, seen.capacity, room));
  }
  return seen;
}

}  // namespace larder
