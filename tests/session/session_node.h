// A node without CAF: real io threads, sessions, store and sockets over DeskShards.

#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/io_thread.h"
#include "actors/node_context.h"
#include "tests/session/desk_shards.h"
#include "tests/temp_dir.h"

namespace larder::sim {

/// In a directory of its own, removed with it. Not thread-safe.
class SessionNode {
 public:
  struct Options {
    Bytes capacity{8 << 20};
    std::uint32_t shards = 2;
    std::uint32_t io_threads = 2;
    std::uint32_t lease_ms = 10'000;
    std::uint32_t heartbeat_ms = 60'000;
    std::uint32_t scrub_mib_s = 10'000;
    DeskShards::Clock now;  ///< null: the monotonic clock
  };

  explicit SessionNode(const Options& options);
  ~SessionNode();
  SessionNode(const SessionNode&) = delete;
  SessionNode& operator=(const SessionNode&) = delete;

  /// Listens and runs every thread. Without it, the caller makes sessions and steps the shards.
  void start();
  /// Ends every session and thread.
  void stop();

  std::string socket() const { return dir_.path() + "/s"; }
  std::string tcp() const { return "127.0.0.1:" + std::to_string(tcp_port_); }
  NodeContext& context() { return *context_; }
  NodeStore& store() { return store_; }
  Live<TokenTable>& tokens() { return tokens_; }
  Live<TenantLimits>& tenant_limits() { return tenant_limits_; }
  NodeMetrics& metrics() { return metrics_; }
  void set_config(const Config& config) { config_.set(config); }
  std::vector<std::string> log();
  DeskShards& shards() { return *shards_; }
  /// Of the caller's thread, stopped: every block that nobody holds leaves. Capacity is zero then.
  void evict_all(Time now);
  /// Of a session without an io thread: outlives the shards, which may answer late.
  Inbox& make_inbox();

 private:
  void announce_retired(SlabId slab);
  void log_line(const std::string& line);

  test::TempDir dir_{test::kShm};
  Live<Config> config_{Config()};
  NodeStore store_;
  NodeMetrics metrics_;
  Live<TokenTable> tokens_{TokenTable()};
  Live<TenantLimits> tenant_limits_{TenantLimits()};
  Live<std::shared_ptr<const TlsContext>> tls_{nullptr};
  std::vector<std::unique_ptr<ShardCounters>> counters_;
  std::shared_ptr<NamespaceTable> namespaces_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
  std::unique_ptr<DeskShards> shards_;
  std::unique_ptr<NodeContext> context_;
  std::vector<std::unique_ptr<IoThread>> io_threads_;
  std::uint32_t io_thread_count_;
  std::uint16_t tcp_port_ = 0;
  std::mutex log_mutex_;
  std::vector<std::string> log_;
};

}  // namespace larder::sim
