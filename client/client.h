#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "store/namespace_mode.h"
#include "store/namespace_spec.h"
#include "store/types.h"
#include "transport/records.h"

namespace larder {

using wire::KeyStatus;
using wire::MatchState;

/// Names one block in a call. For chains use `chain_keys()`; for flat names `flat_key()`.
using Key = wire::KeyRecord;

/// Where a block's bytes come from or go to in the caller's memory; owned by the caller, untouched
/// by anyone else until the call has completed. Several buffers of a key are joined in order.
struct MutableBuffer {
  void* data = nullptr;
  std::size_t length = 0;
};
struct ConstBuffer {
  const void* data = nullptr;
  std::size_t length = 0;
};

/// One operation's end. Every submitted operation has exactly one, whatever dies.
struct Completion {
  std::uint64_t id = 0;
  absl::StatusCode code = absl::StatusCode::kOk;  ///< of the call as a whole
  std::string message;                            ///< empty when OK
  std::vector<KeyStatus> keys;     ///< per key, in order; empty for calls without keys
  std::uint64_t bytes = 0;         ///< moved by this call
  std::uint64_t residence_ns = 0;  ///< inside the daemon, waiting for a turn included
};

struct ChainMatch {
  std::uint32_t usable_tokens = 0;  ///< longest prefix usable under every group's rule on all ranks
  std::uint32_t usable_units = 0;
  std::uint32_t pending_tokens = 0;  ///< usable once what is being computed is committed
  std::uint32_t known_blocks = 0;
  std::uint32_t claimed = 0;
  std::uint64_t residence_ns = 0;  ///< inside the daemon, by the whole call and its waiting
  /// By group, then block along the chain; only when details were asked for.
  std::vector<std::vector<wire::MatchRecord>> groups;
};

struct RequestOptions {
  std::uint64_t session = 0;         ///< the engine's own session, 0: not known
  std::uint32_t hint_positions = 0;  ///< leading positions expected to be reused
  bool has_hint = false;
  std::uint32_t priority = 0;  ///< 0 decode, 1 prefill, 2 backfill: who goes first in the daemon
  std::uint32_t deadline_ms = 60'000;  ///< after which the daemon ends the request by itself
  std::uint64_t now_ns = 0;            ///< replay's own time (needs larderd's test flag)
};

struct MatchOptions {
  std::uint64_t request = 0;  ///< 0: none
  bool claim = false;         ///< mark what is absent as being computed by this session
  std::uint32_t claim_ms = 10'000;
  bool details = false;
};

/// A leased block seen in place, read-only, without a copy (same host only). Move-only. The bytes
/// are the block's for as long as `release()` answers true.
class View {
 public:
  View();
  View(View&&) noexcept;
  View& operator=(View&&) noexcept;
  ~View();  ///< releases
  std::span<const std::byte> bytes() const;
  KeyStatus status() const;
  /// Gives the lease back. False: the block was gone before (frozen past the lease, daemon
  /// restarted); the caller discards what it derived from the bytes.
  bool release();

  struct Impl;

 private:
  friend class Client;
  std::unique_ptr<Impl> impl_;
};

/// One session with one larderd: batches of gets, puts and lookups.
///
/// Thread-safe; nothing throws. Operations come in two forms: `submit_…` returns an id at once and
/// ends in one Completion; the form without `submit` waits for it. A deadline is time without
/// progress. When the daemon dies, calls in flight end with UNAVAILABLE and the client connects
/// again by itself (namespaces and regions are opened again). A call made without a connection has
/// an attempt to connect made for it, at most 20 ms after the last one's end, and is UNAVAILABLE
/// when that fails; all calls that wait share it. Buffers belong to the caller and must
/// stay untouched until the completion; after it, the library never touches them.
class Client {
 public:
  enum class Transport : std::uint8_t { kAuto, kShm, kTcp };

  struct Options {
    /// Path of a unix socket, or host:port. Empty: $LARDER_SERVER, else default_server().
    std::string server = {};
    Transport transport = Transport::kAuto;  ///< kShm over a unix socket, else kTcp
    std::string token = {};
    /// The token may leave this host without TLS. $LARDER_PLAIN_TOKEN=1 says so, too.
    bool plain_token = false;
    /// PEM file of who vouches for larderd's certificate (or that certificate itself), "system" for
    /// what this machine trusts: TCP speaks TLS 1.3. Empty: $LARDER_TLS_CA, else no TLS.
    std::string tls_ca = {};
    std::string tls_name = {};  ///< that the certificate must be for; empty: the server's host
    std::string name = "larder-client";
    Duration deadline = std::chrono::seconds(1);  ///< without progress
    Duration connect_deadline = std::chrono::seconds(2);
    /// Time that a waiting call polls before it sleeps: a little more than it takes to wake a
    /// daemon that slept, so that not both wake-ups are paid. A put over shared memory polls again
    /// around the time at which its answer is due. 0 never polls.
    Duration spin = std::chrono::microseconds(150);
    bool verify = false;       ///< check the checksum of every shm get (tcp always checks)
    bool allow_attach = true;  ///< puts from unregistered memory may be read by the daemon in place
  };

  /// Connects within `connect_deadline`. UNAVAILABLE (nobody there), UNAUTHENTICATED,
  /// INVALID_ARGUMENT (kShm over tcp, too), FAILED_PRECONDITION (a token would leave this host in
  /// plain).
  /// With TLS UNAUTHENTICATED also when larderd cannot prove its name.
  static absl::StatusOr<std::unique_ptr<Client>> connect(Options options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Idempotent: equal fields give equal ids.
  absl::StatusOr<NamespaceId> open_namespace(const NamespaceSpec& spec);

  /// Shared memory of `bytes` from a sealed memfd, registered: puts from inside it cost one copy.
  /// Owned by the client and unmapped with it. Zeroed. Takes its memory at once, in huge pages, as
  /// far as the kernel has them; the rest when it is touched.
  absl::StatusOr<std::span<std::byte>> allocate_region(std::size_t bytes);
  /// Registers the caller's own memfd (sealed against shrinking, mapped at `memory`).
  absl::Status register_region(int memfd, std::span<std::byte> memory);
  absl::Status unregister_region(std::span<std::byte> memory);

  // -- requests ----------------------------------------------------------------------------------
  /// Begins a request; its number goes into match, get, put and end_request. Fire and forget.
  std::uint64_t begin_request(NamespaceId ns, const RequestOptions& options = {});
  /// Touches the request's chain suffix-first and unpins it.
  absl::Status end_request(std::uint64_t request, std::uint32_t output_tokens);

  // -- lookups -----------------------------------------------------------------------------------
  /// One answer a chain, in order. A chain is the hashes of its units from the root.
  absl::StatusOr<std::vector<ChainMatch>> match(NamespaceId ns,
                                                std::span<const std::span<const BlockHash>> chains,
                                                const MatchOptions& options = {});
  /// Flat namespaces: one state a name, in order.
  absl::StatusOr<std::vector<MatchState>> match_flat(NamespaceId ns,
                                                     std::span<const BlockHash> names,
                                                     const MatchOptions& options = {});
  /// Until every key is committed, or was pending and is no more (its writer gave up or died:
  /// kMiss), or DEADLINE_EXCEEDED; per key kOk or kPending or kMiss. A key that nobody puts yet is
  /// waited for. With a deadline of 0 it is answered at once.
  Completion wait(NamespaceId ns, std::span<const Key> keys, Duration deadline);

  // -- bytes -------------------------------------------------------------------------------------
  struct CallOptions {
    std::uint64_t request = 0;
    Duration deadline{0};  ///< 0: the client's
    bool verify = false;
  };
  /// `buffers[i]` are the pieces of key i; a block of another length than their sum is
  /// kSizeMismatch. Keys that are not kOk leave unspecified bytes in their buffers. A block whose
  /// bytes differ from its checksum is kMiss, counted in Stats::checksum_errors; the daemon is told
  /// to check its own copy, and takes it out of service when that is bad.
  Completion get(NamespaceId ns, std::span<const Key> keys,
                 std::span<const std::vector<MutableBuffer>> buffers, const CallOptions& options);
  Completion get(NamespaceId ns, std::span<const Key> keys, std::span<const MutableBuffer> buffers,
                 const CallOptions& options);
  Completion put(NamespaceId ns, std::span<const Key> keys,
                 std::span<const std::vector<ConstBuffer>> buffers, const CallOptions& options);
  Completion put(NamespaceId ns, std::span<const Key> keys, std::span<const ConstBuffer> buffers,
                 const CallOptions& options);
  /// Leases without copying (kShm only); one View a key, in order.
  absl::StatusOr<std::vector<View>> view(NamespaceId ns, std::span<const Key> keys,
                                         const CallOptions& options);

  /// The asynchronous forms; `buffers` and `keys` are copied, the memory they name is not.
  std::uint64_t submit_get(NamespaceId ns, std::span<const Key> keys,
                           std::span<const std::vector<MutableBuffer>> buffers,
                           const CallOptions& options);
  std::uint64_t submit_put(NamespaceId ns, std::span<const Key> keys,
                           std::span<const std::vector<ConstBuffer>> buffers,
                           const CallOptions& options);
  /// Gives up: the completion (kCancelled, or what it had become) still comes, soon.
  void cancel(std::uint64_t id);
  /// Readable while completions wait to be drained. Owned by the client.
  int event_fd() const;
  /// Takes all completions of submitted operations and resets the descriptor.
  std::vector<Completion> drain_completions();

  // -- layer by layer
  // ------------------------------------------------------------------------------
  struct Part {
    std::uint32_t key = 0;     ///< index into the keys of put_start
    std::uint64_t offset = 0;  ///< in the block
    ConstBuffer buffer;
  };
  struct LayerPut {
    std::uint64_t id = 0;
    std::vector<KeyStatus> keys;  ///< kWanted where parts are expected
  };
  absl::StatusOr<LayerPut> put_start(NamespaceId ns, std::span<const Key> keys,
                                     const CallOptions& options);
  absl::Status put_part(std::uint64_t put, std::span<const Part> parts);
  Completion put_end(std::uint64_t put);
  void put_abort(std::uint64_t put);

  // -- upkeep
  // --------------------------------------------------------------------------------------
  Completion touch(NamespaceId ns, std::span<const Key> keys, std::uint64_t request = 0);
  /// For `ttl`, at most 49.7 days (INVALID_ARGUMENT); 0: until unpin().
  Completion pin(NamespaceId ns, std::span<const Key> keys, Duration ttl);
  Completion unpin(NamespaceId ns, std::span<const Key> keys);
  Completion remove(NamespaceId ns, std::span<const Key> keys);
  /// Removes every block whose prompt begins with `prefix`; returns how many. Blocks behind a gap
  /// of their chain go too: what they descend from is not known, and no match reaches them.
  absl::StatusOr<std::uint64_t> remove_prefix(NamespaceId ns, std::span<const BlockHash> prefix);
  struct ListPage {
    std::vector<wire::ListRecord> blocks;
    std::vector<std::uint64_t> writers;  ///< session that put each block
    std::uint64_t cursor = 0;
    bool end = false;
  };
  absl::StatusOr<ListPage> list(NamespaceId ns, std::uint64_t cursor, std::uint32_t limit);

  // -- administration ----------------------------------------------------------------------------
  struct NamespaceRow {
    NamespaceId id;
    std::string tenant;
    Fingerprint fingerprint;
    NamespaceMode mode = NamespaceMode::kDefault;  ///< its own
    NamespaceMode served = NamespaceMode::kOn;     ///< in force
  };
  /// Every namespace that the node knows of the caller's tenant, in order of ids; with
  /// `all_tenants` of all of them, for administrators (PERMISSION_DENIED for others).
  absl::StatusOr<std::vector<NamespaceRow>> namespaces(bool all_tenants);
  /// How a namespace is served from now on, over restarts too. Administrators only; NOT_FOUND.
  absl::Status set_mode(NamespaceId ns, NamespaceMode mode);
  /// What purge() removes: exactly one of them is set.
  struct PurgeOptions {
    std::optional<NamespaceId> ns = {};
    std::optional<std::string> tenant = {};
    std::optional<std::uint64_t> writer = {};  ///< session that put the blocks
  };
  /// Removes every committed block of a namespace, a tenant or a writer; returns how many. What is
  /// put meanwhile is found too. Administrators only. Like remove_prefix() it ends at the client's
  /// deadline; what was removed until then stays removed: ask again. ABORTED when blocks are put as
  /// fast as they are removed, RESOURCE_EXHAUSTED beside too many other removals.
  absl::StatusOr<std::uint64_t> purge(const PurgeOptions& which);

  struct ServerStats {
    std::vector<std::pair<std::string, double>> values;
    std::string version, policy, node;
    /// Where there are tokens: for an administrator all tenants, else the session's own.
    struct TenantRow {
      std::string tenant;
      std::uint64_t used_bytes = 0, quota_bytes = 0;  ///< of slots; quota 0: no limit
      std::uint64_t sessions = 0, pinned_bytes = 0, held_bytes = 0;
    };
    std::vector<TenantRow> tenants;
  };
  absl::StatusOr<ServerStats> server_stats();

  struct Stats {
    std::string transport;  ///< "shm" or "tcp"
    std::string put_path;   ///< "region", "attach", "staged" or "stream": of unregistered memory
    std::string put_path_reason;
    std::uint64_t reconnects = 0, gets = 0, puts = 0, hits = 0, misses = 0;
    std::uint64_t bytes_in = 0, bytes_out = 0;
    std::uint64_t stale_generations = 0;  ///< misses: the block left while it was copied
    std::uint64_t checksum_errors = 0;    ///< misses: the bytes that came were corrupt
    std::uint64_t sigbus_faults = 0;
  };
  Stats stats() const;

  struct Impl;

 private:
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Keys of the blocks [first, first + count) of one group and rank along a chain, with parent,
/// anchor, position and (for declared sizes) length filled in.
std::vector<Key> chain_keys(const NamespaceSpec& spec, std::span<const BlockHash> chain,
                            GroupId group, Rank rank, std::uint32_t first, std::uint32_t count);
Key flat_key(std::string_view name, std::uint32_t length);

/// Where a larderd without arguments listens: $XDG_RUNTIME_DIR/larder/larderd.sock when that is
/// set, else /run/larder/larderd.sock for root and /tmp/larder-<uid>/larderd.sock for others. Both
/// sides use it only in a directory that belongs to their user (for clients: or to root) and that
/// nobody else may write in.
std::string default_server();

}  // namespace larder
