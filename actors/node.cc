#include "actors/node.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/actor_core.h"
#include "actors/audit_log.h"
#include "actors/clock.h"
#include "actors/config_keys.h"
#include "actors/descriptor_limit.h"
#include "actors/http_server.h"
#include "actors/io_thread.h"
#include "actors/prometheus_text.h"
#include "actors/runtime_dir.h"
#include "actors/scrubber.h"
#include "client/client.h"
#include "policies/make_policy.h"
#include "store/status_macros.h"
#include "transport/own_directory.h"

namespace larder {

struct Node::Impl {
  explicit Impl(const Config& from, RuntimeDir directory)
      : live_config(from),
        config(live_config.get()),
        dir(std::move(directory)),
        store({.runtime_dir = dir.path(), .capacity = config.host_bytes, .shards = config.shards}) {
    for (std::uint32_t i = 0; i < config.shards; ++i) {
      counters.push_back(std::make_unique<ShardCounters>());
    }
  }

  void warn_of_tokens();
  absl::Status open_namespaces();
  absl::StatusOr<NamespaceTable> load_namespaces(const std::string& file);
  void set_quota(TenantId tenant, const std::string& name);
  void set_quotas();
  absl::Status open_store();
  absl::Status start_actors(std::vector<std::vector<AdoptItem>> blocks);
  absl::Status listen(std::vector<Fd>& listeners);
  absl::Status start_io();
  absl::Status start_scrubber();
  absl::Status start_http();
  void announce_retired(SlabId slab);
  std::function<CapacityKeeper::Wanted()> wanted_capacity();
  void change_policy(PolicyFactory make_policy);
  bool healthy() const;

  absl::Status reload(const Config& next);

  Live<Config> live_config;
  const Config& config;  ///< as started
  RuntimeDir dir;
  NodeStore store;
  NodeMetrics metrics;
  Live<TokenTable> tokens{TokenTable()};
  Live<TenantLimits> tenant_limits{TenantLimits()};
  Mutex quotas_mutex;
  Live<std::shared_ptr<const TlsContext>> tls{nullptr};
  Log log;
  std::unique_ptr<AuditLog> audit;
  std::vector<std::unique_ptr<ShardCounters>> counters;
  std::shared_ptr<NamespaceTable> namespaces;
  std::unique_ptr<ActorCore> core;
  MemoryProbe probe;
  std::unique_ptr<NodeContext> context;
  std::vector<std::unique_ptr<IoThread>> io_threads;
  std::unique_ptr<Scrubber> scrubber;
  std::unique_ptr<HttpServer> http;
  std::vector<std::vector<AdoptItem>> adopted;
  std::string socket_path;
  std::uint16_t tcp_port = 0;
};

namespace {

/// Makes the socket's directory. The default one stands where others can make files, at a name that
/// they can guess: it is used only when it is ours.
absl::Status prepare_socket_directory(const std::string& socket) {
  const std::filesystem::path parent = std::filesystem::path(socket).parent_path();
  if (parent.empty()) return absl::OkStatus();
  std::error_code error;
  if (std::filesystem::create_directories(parent, error)) {
    using std::filesystem::perms;
    std::filesystem::permissions(parent, perms::group_write | perms::others_write,
                                 std::filesystem::perm_options::remove, error);
  }
  if (socket != default_server()) return absl::OkStatus();
  return check_own_directory(
      parent.string(), {.name = fmt::format("directory {} of the default socket", parent.string()),
                        .remedy = "have it removed, or name another socket with --socket"});
}

/// Removes a socket that nobody listens on any more; the runtime directory's lock says that no
/// other daemon of ours is there, but the path may be shared.
absl::Status clear_stale_socket(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(fmt::format("socket {}: exists and is no socket", path));
  }
  Address address;
  address.path = path;
  if (connect_to(address, std::chrono::milliseconds(200)).ok()) {
    return absl::UnavailableError(
        fmt::format("socket {}: in use by a running daemon; choose another with --socket", path));
  }
  ::unlink(path.c_str());
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const TlsContext>> load_tls(const Config& config) {
  if (config.tls_cert.empty()) return nullptr;
  return TlsContext::server(config.tls_cert, config.tls_key);
}

/// A token_file that was emptied by accident must not open the network.
absl::Status check_tokens(const Config& config, const TokenTable& tokens) {
  if (is_off(config.listen) || !tokens.empty()) return absl::OkStatus();
  LARDER_ASSIGN_OR_RETURN(const HostPort address, parse_host_port(config.listen));
  if (address.loopback()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("token_file {} has no tokens, and listen = {} is not a loopback address",
                  config.token_file, config.listen));
}

/// A line that went missing from the file must not put what travels in the clear.
absl::Status check_stays_encrypted(const Config& now, const Config& next) {
  if (now.tls_cert.empty() || !next.tls_cert.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "tls_cert and tls_key are not set any more ({} and {} are in force): TCP would go "
      "on in plain, which takes a restart",
      now.tls_cert, now.tls_key));
}

}  // namespace

/// With no token in force whoever reaches an address is tenant `default`: warned of on this host
/// (check_tokens).
void Node::Impl::warn_of_tokens() {
  const std::string& file = live_config.get().token_file;
  if (file.empty() || !tokens.get().empty()) return;
  log(fmt::format("tokens_not_there token_file={} effect=\"nobody is asked for a token\"", file));
}

absl::StatusOr<NamespaceTable> Node::Impl::load_namespaces(const std::string& file) {
  auto hooks = NamespaceTable::hooks_of(store);
  hooks.tenant_added = [this](TenantId tenant, const std::string& name) {
    set_quota(tenant, name);
  };
  return NamespaceTable::load(file, std::move(hooks));
}

/// The tenant actor calls it while a reload may do the same: under the mutex whoever comes last
/// finds both the tenant and the limits in force.
void Node::Impl::set_quota(TenantId tenant, const std::string& name) {
  MutexLock lock(&quotas_mutex);
  store.tenants.set_quota(tenant, tenant_limits.get().of(name).host);
}

void Node::Impl::set_quotas() {
  MutexLock lock(&quotas_mutex);
  std::uint32_t number = 0;
  for (const std::string& name : namespaces->directory()->tenants()) {
    store.tenants.set_quota(TenantId(number++), tenant_limits.get().of(name).host);
  }
}

/// A damaged file costs no more than its removal would: blocks stay, their units are formed anew,
/// clients send group tables again. Modes are lost: the log says so.
absl::Status Node::Impl::open_namespaces() {
  const std::string file = dir.path() + "/namespaces";
  auto table = load_namespaces(file);
  if (absl::IsDataLoss(table.status()) && std::rename(file.c_str(), (file + ".bad").c_str()) == 0) {
    log(fmt::format("namespaces_set_aside modes=lost error=\"{}\"",
                    std::string(table.status().message())));
    table = load_namespaces(file);
  }
  LARDER_RETURN_IF_ERROR(table.status());
  namespaces = std::make_shared<NamespaceTable>(*std::move(table));
  return absl::OkStatus();
}

absl::Status Node::Impl::open_store() {
  LARDER_RETURN_IF_ERROR(check_descriptor_limit(0));
  LARDER_RETURN_IF_ERROR(check_address_space(config.host_bytes));
  LARDER_ASSIGN_OR_RETURN(TokenTable loaded, TokenTable::load(config.token_file));
  LARDER_RETURN_IF_ERROR(check_tokens(config, loaded));
  tokens.set(std::move(loaded));
  warn_of_tokens();
  LARDER_ASSIGN_OR_RETURN(TenantLimits limits, TenantLimits::load(config.tenant_file));
  tenant_limits.set(std::move(limits));
  LARDER_ASSIGN_OR_RETURN(auto certificate, load_tls(config));
  tls.set(std::move(certificate));
  const bool known = std::filesystem::exists(dir.path() + "/namespaces");
  // Shapes first: re-adopted blocks form units by them.
  LARDER_RETURN_IF_ERROR(open_namespaces());
  LARDER_ASSIGN_OR_RETURN(auto report, store.open([this](const std::string& tenant) {
    return namespaces->tenant_id(tenant);
  }));
  LARDER_RETURN_IF_ERROR(check_descriptor_limit(report.slabs.slabs));
  std::size_t blocks = 0;
  for (const auto& shard : report.adopted)
    blocks += shard.size();
  for (const std::string& message : report.slabs.messages) {
    log(fmt::format("slab_set_aside {}", message));
  }
  count(metrics.slabs_set_aside, report.slabs.slabs_set_aside);
  count(metrics.slots_damaged, report.slots_quarantined);
  if (report.slabs.slabs > 0 && !known) log("namespaces_not_there modes=lost");
  if (report.slabs.slabs > 0) {
    log(fmt::format("store_adopted slabs={} blocks={} quarantined={}", report.slabs.slabs, blocks,
                    report.slots_quarantined));
  }
  adopted = std::move(report.adopted);
  return absl::OkStatus();
}

absl::Status Node::Impl::start_actors(std::vector<std::vector<AdoptItem>> blocks) {
  LARDER_ASSIGN_OR_RETURN(auto make_policy, policy_factory(config.policy));
  ActorCore::Options options;
  options.store = &store;
  options.namespaces = namespaces;
  options.make_policy = std::move(make_policy);
  options.counters = &counters;
  options.adopted = std::move(blocks);
  options.announce_retired = [this](SlabId slab) { announce_retired(slab); };
  options.log = log;
  options.on_restart = [this] { count(metrics.shard_restarts); };
  options.metrics = &metrics;
  options.wanted_capacity = wanted_capacity();
  options.probe = probe;
  core = std::make_unique<ActorCore>(std::move(options));
  return absl::OkStatus();
}

/// Slabs that are no memory are not given back when memory is short.
std::function<CapacityKeeper::Wanted()> Node::Impl::wanted_capacity() {
  const bool memory = is_memory(dir.path());
  if (!memory) log(fmt::format("memory_pressure_off runtime_dir={} reason=no_tmpfs", dir.path()));
  return [this, memory] {
    const Config& wanted = live_config.get();
    return CapacityKeeper::Wanted{wanted.host_bytes, wanted.memory_pressure && memory};
  };
}

void Node::Impl::announce_retired(SlabId slab) {
  for (auto& thread : io_threads) {
    thread->inbox().post(Inbox::Task([slab](IoThread& self) { self.announce_retired(slab); }));
  }
}

/// Every shard and io thread was seen at work lately.
bool Node::Impl::healthy() const {
  constexpr Duration kSilenceMax = std::chrono::seconds(5);
  const Time oldest = now() - kSilenceMax;
  for (const auto& shard : counters) {
    if (shard->seen() < oldest) return false;
  }
  return std::all_of(io_threads.begin(), io_threads.end(),
                     [oldest](const auto& thread) { return thread->seen() >= oldest; });
}

absl::Status Node::Impl::listen(std::vector<Fd>& listeners) {
  if (!is_off(config.socket)) {
    Address address;
    address.path = config.socket;
    LARDER_RETURN_IF_ERROR(prepare_socket_directory(config.socket));
    LARDER_RETURN_IF_ERROR(clear_stale_socket(config.socket));
    LARDER_ASSIGN_OR_RETURN(Fd fd, listen_on(address));
    socket_path = config.socket;
    listeners.push_back(std::move(fd));
  }
  if (!is_off(config.listen)) {
    LARDER_ASSIGN_OR_RETURN(const HostPort at, parse_host_port(config.listen));
    Address address;
    address.host = at.host;
    address.port = std::to_string(at.port);
    LARDER_ASSIGN_OR_RETURN(Fd fd, listen_on(address));
    LARDER_ASSIGN_OR_RETURN(tcp_port, local_port(fd.get()));
    listeners.push_back(std::move(fd));
  }
  return absl::OkStatus();
}

absl::Status Node::Impl::start_io() {
  std::vector<Fd> listeners;
  LARDER_RETURN_IF_ERROR(listen(listeners));
  context.reset(new NodeContext{.live_config = live_config,
                                .store = store,
                                .shards = core->shards(),
                                .tenants = core->tenants(),
                                .tokens = tokens,
                                .tenant_limits = tenant_limits,
                                .tls = tls,
                                .metrics = metrics,
                                .counters_of_shards = counters,
                                .node_id = dir.node_id(),
                                .incarnation = dir.incarnation(),
                                .namespaces = namespaces->directory(),
                                .log = log,
                                .audit = [this](const std::string& line) { audit->add(line); },
                                .io_threads = {},
                                .tenant_uses = {},
                                .held = {},
                                .pins = {},
                                .suspects = {}});
  // Session ids name writers in slot headers: they must not repeat over restarts.
  context->next_session = dir.incarnation() << 32 | 1;
  for (std::uint32_t i = 0; i < config.io_threads; ++i) {
    LARDER_ASSIGN_OR_RETURN(auto reader, store.domain.register_reader());
    auto own = i == 0 ? std::move(listeners) : std::vector<Fd>();
    io_threads.push_back(std::make_unique<IoThread>(*context, std::move(reader), std::move(own)));
    context->io_threads.push_back(io_threads.back().get());
  }
  for (auto& thread : io_threads)
    thread->start();
  return absl::OkStatus();
}

absl::Status Node::Impl::start_scrubber() {
  scrubber = std::make_unique<Scrubber>(*context);
  return scrubber->start();
}

absl::Status Node::Impl::start_http() {
  if (is_off(config.http)) return absl::OkStatus();
  LARDER_ASSIGN_OR_RETURN(const HostPort at, parse_host_port(config.http));
  HttpServer::Handlers handlers;
  handlers.metrics = [this] { return prometheus_text(*context); };
  handlers.healthy = [this] { return healthy(); };
  LARDER_ASSIGN_OR_RETURN(http, HttpServer::start(at.host, at.port, std::move(handlers)));
  return absl::OkStatus();
}

void Node::Impl::change_policy(PolicyFactory make_policy) {
  // All shards begin at the same point of the node's order, behind what was used before.
  const std::uint64_t first = store.sequence.fetch_add(PolicyChange::kAgesKept);
  core->change_policy({.make_policy = std::move(make_policy),
                       .sequence = first + PolicyChange::kAgesKept - 1,
                       .now = larder::now()});
}

absl::Status Node::Impl::reload(const Config& next) {
  LARDER_ASSIGN_OR_RETURN(TokenTable loaded, TokenTable::load(next.token_file));
  LARDER_ASSIGN_OR_RETURN(TenantLimits limits, TenantLimits::load(next.tenant_file));
  const Config& now = live_config.get();
  if (next.host_bytes > now.host_bytes) {
    LARDER_RETURN_IF_ERROR(check_runtime_space(next, probe_runtime_space(config.runtime_dir)));
  }
  Config merged = now;
  std::vector<std::string> changes;
  for (const ConfigKey* key : changed_keys(now, next)) {
    if (!key->live) {
      log(fmt::format("reload_needs_restart key={} value={} wanted={}", key->name,
                      toml_value(now, *key), toml_value(next, *key)));
      continue;
    }
    copy_key(merged, next, *key);
    changes.push_back(fmt::format("reload_changed key={} from={} to={}", key->name,
                                  toml_value(now, *key), toml_value(merged, *key)));
  }
  LARDER_RETURN_IF_ERROR(merged.validate());
  LARDER_RETURN_IF_ERROR(check_stays_encrypted(now, merged));
  LARDER_RETURN_IF_ERROR(check_tokens(merged, loaded));
  LARDER_ASSIGN_OR_RETURN(auto certificate, load_tls(merged));
  LARDER_ASSIGN_OR_RETURN(auto make_policy, policy_factory(merged.policy));
  // From here on nothing fails.
  tokens.set(std::move(loaded));
  tenant_limits.set(std::move(limits));
  set_quotas();
  tls.set(std::move(certificate));
  const bool other_policy = merged.policy != now.policy;
  live_config.set(std::move(merged));  // its capacity is in force at the slab actor's next turn
  if (other_policy) change_policy(std::move(make_policy));
  for (const std::string& change : changes)
    log(change);
  warn_of_tokens();
  audit->add("audit action=reload");
  return absl::OkStatus();
}

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Node::~Node() {
  stop();
}

absl::StatusOr<std::unique_ptr<Node>> Node::start(const Config& config, Log log,
                                                  MemoryProbe probe) {
  LARDER_ASSIGN_OR_RETURN(RuntimeDir dir, RuntimeDir::lock(config.runtime_dir));
  std::unique_ptr<Node> node(new Node(std::make_unique<Impl>(config, std::move(dir))));
  Impl& impl = *node->impl_;
  impl.log = std::move(log);
  impl.probe = probe ? std::move(probe) : [] { return probe_memory_room(); };
  LARDER_ASSIGN_OR_RETURN(impl.audit, AuditLog::open(config.audit_file, impl.log, [raw = &impl] {
                            count(raw->metrics.audit_lost);
                          }));
  LARDER_RETURN_IF_ERROR(impl.open_store());
  LARDER_RETURN_IF_ERROR(impl.start_actors(std::move(impl.adopted)));
  LARDER_RETURN_IF_ERROR(impl.start_io());
  LARDER_RETURN_IF_ERROR(impl.start_scrubber());
  LARDER_RETURN_IF_ERROR(impl.start_http());
  return node;
}

void Node::stop() {
  if (!impl_) return;
  impl_->http.reset();
  impl_->scrubber.reset();
  for (auto& thread : impl_->io_threads)
    thread->stop();
  impl_->core.reset();  // answers still reach the inboxes of the threads, which outlive it
  impl_->io_threads.clear();
  if (!impl_->socket_path.empty()) ::unlink(impl_->socket_path.c_str());
  impl_.reset();
}

void Node::reopen_files() {
  if (absl::Status again = impl_->audit->reopen(); !again.ok()) {
    impl_->log(fmt::format("audit_not_reopened error=\"{}\"", std::string(again.message())));
  }
}
absl::Status Node::reload(const Config& next) {
  return impl_->reload(next);
}
std::uint16_t Node::tcp_port() const {
  return impl_->tcp_port;
}
std::uint16_t Node::http_port() const {
  return impl_->http ? impl_->http->port() : 0;
}
void Node::kill_shard(std::uint32_t shard) {
  impl_->core->kill_shard(ShardId(shard));
}

}  // namespace larder
