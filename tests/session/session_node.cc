#include "tests/session/session_node.h"

#include <filesystem>

#include <stdlib.h>

#include "actors/clock.h"
#include "store/assert.h"
#include "transport/socket.h"

namespace larder::sim {

SessionNode::SessionNode(const Options& options)
    : store_({.runtime_dir = dir_.path(), .capacity = options.capacity, .shards = options.shards}),
      io_thread_count_(options.io_threads) {
  Config config;
  config.lease_ms = options.lease_ms;
  config.heartbeat_ms = options.heartbeat_ms;
  config.host_bytes = options.capacity;
  config.scrub_mib_s = options.scrub_mib_s;
  config_.set(std::move(config));
  auto table = NamespaceTable::load(dir_.path() + "/namespaces", NamespaceTable::hooks_of(store_));
  LARDER_ASSERT(table.ok());
  namespaces_ = std::make_shared<NamespaceTable>(*std::move(table));
  LARDER_ASSERT(store_.open([](const std::string&) { return TenantId(0); }).ok());
  for (std::uint32_t i = 0; i < options.shards; ++i)
    counters_.push_back(std::make_unique<ShardCounters>());
  shards_ = std::make_unique<DeskShards>(store_, namespaces_,
                                         options.now ? options.now : DeskShards::Clock(larder::now),
                                         [this](SlabId slab) { announce_retired(slab); });
  context_.reset(new NodeContext{.live_config = config_,
                                 .store = store_,
                                 .shards = *shards_,
                                 .tenants = *shards_,
                                 .tokens = tokens_,
                                 .tenant_limits = tenant_limits_,
                                 .tls = tls_,
                                 .metrics = metrics_,
                                 .counters_of_shards = counters_,
                                 .node_id = "test",
                                 .incarnation = 1,
                                 .namespaces = namespaces_->directory(),
                                 .log = [this](const std::string& line) { log_line(line); },
                                 .audit = [](const std::string&) {},
                                 .io_threads = {},
                                 .tenant_uses = {},
                                 .held = {},
                                 .pins = {},
                                 .suspects = {}});
}

SessionNode::~SessionNode() {
  stop();
  shards_ = nullptr;  // answers still reach the inboxes of the threads
}

Inbox& SessionNode::make_inbox() {
  inboxes_.push_back(std::make_unique<Inbox>());
  return *inboxes_.back();
}

void SessionNode::evict_all(Time now) {
  store_.set_capacity(Bytes{0});
  for (int round = 0; round < 4; ++round) {
    shards_->tick_all();
    for (std::uint32_t i = 0; i < store_.shards(); ++i)
      shards_->ask(ShardId(i), [now](ShardDesk& desk) { desk.evict_over(now); });
    shards_->run_all();
  }
}

void SessionNode::announce_retired(SlabId slab) {
  for (auto& thread : io_threads_) {
    thread->inbox().post(Inbox::Task([slab](IoThread& self) { self.announce_retired(slab); }));
  }
}

void SessionNode::start() {
  std::vector<Fd> listeners;
  auto unix_socket = listen_on({.path = socket()});
  LARDER_ASSERT(unix_socket.ok());
  listeners.push_back(*std::move(unix_socket));
  auto tcp_socket = listen_on({.host = "127.0.0.1", .port = "0"});
  LARDER_ASSERT(tcp_socket.ok());
  tcp_port_ = *local_port(tcp_socket->get());
  listeners.push_back(*std::move(tcp_socket));
  for (std::uint32_t i = 0; i < io_thread_count_; ++i) {
    auto reader = store_.domain.register_reader();
    LARDER_ASSERT(reader.ok());
    auto own = i == 0 ? std::move(listeners) : std::vector<Fd>();
    io_threads_.push_back(
        std::make_unique<IoThread>(*context_, *std::move(reader), std::move(own)));
    context_->io_threads.push_back(io_threads_.back().get());
  }
  shards_->start();
  for (auto& thread : io_threads_)
    thread->start();
}

void SessionNode::stop() {
  for (auto& thread : io_threads_)
    thread->stop();
  shards_->stop();
  shards_->run_all();
}

void SessionNode::log_line(const std::string& line) {
  const std::lock_guard lock(log_mutex_);
  log_.push_back(line);
}

std::vector<std::string> SessionNode::log() {
  const std::lock_guard lock(log_mutex_);
  return log_;
}

}  // namespace larder::sim
