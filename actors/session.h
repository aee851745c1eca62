#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"

#include "actors/call_in_steps.h"
#include "actors/node_context.h"
#include "actors/session_leases.h"
#include "actors/session_op.h"
#include "actors/session_regions.h"
#include "actors/session_requests.h"
#include "actors/session_touches.h"
#include "actors/turn_queue.h"
#include "transport/attach.h"
#include "transport/control_page.h"
#include "transport/frame_head.h"
#include "transport/frame_reader.h"
#include "transport/frame_writer.h"
#include "transport/socket.h"
#include "transport/tls.h"
#include "transport/wire.pb.h"

namespace larder {

/// Blocks (all groups and ranks) that one match may look at.
inline constexpr std::uint64_t kMatchBlocksMax = 1 << 20;

/// Root or the daemon's own user behind a unix socket: without a token an administrator, and let in
/// when the node has as many sessions as it may.
bool is_trusted(const PeerCredentials& peer);

/// A match's reply before it is sent.
struct MatchAnswer {
  wire::MatchReply body;
  std::vector<std::byte> array;
};

/// What a get is to do, and what it has found.
struct GetFound {
  std::uint64_t id = 0;
  std::uint64_t request = 0;
  Duration lease{};
  Time ready;  ///< since when it is in the io thread
  bool verify = false;
  std::vector<wire::GetResult> results = {};  ///< a key each
  std::vector<HeldBlock> held = {};           ///< leased; whoever has it gives them back
  std::vector<std::uint32_t> held_key = {};   ///< whose result each is
  std::uint64_t bytes = 0;
};

/// One client's connection: parses frames, answers lookups at once from the indexes, runs what
/// takes longer as ops, and gives everything back when it ends.
///
/// One io thread owns it. The files session_*.cc each hold one kind of operation.
class Session {
 public:
  struct Options {
    SessionId id;
    Fd socket;
    bool is_unix = false;
    PeerCredentials peer;                   ///< unix only
    std::shared_ptr<const TlsContext> tls;  ///< null: the stream is not encrypted
    Inbox* inbox = nullptr;
  };

  Session(Options options, NodeContext& node, Time now);
  /// Gives back leases, pins, claims, uncommitted slots, regions.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // -- the io thread -----------------------------------------------------------------------------
  struct Turn {
    Time now;
    Time ready;  ///< since when it waits for this turn
    bool readable = false;
    std::size_t bytes = 0;
  };
  /// Reads, works and writes for at most about `turn.bytes` each. False: over, destroy it.
  bool pump(const Turn& turn);
  /// Leases, requests, ops and heartbeat. False: over.
  bool on_time(Time now);
  /// False: the op is gone; the caller takes back what the call reserved.
  bool on_answer(ShardCall& call, Time now);
  /// Has work that needs no event.
  bool runnable() const;
  /// After Hello.
  TenantUse& tenant_use() const { return *tenant_; }
  /// Whose time its turns take; empty before Hello.
  const std::string& tenant() const { return grant_.tenant; }
  /// Of the most urgent that it has to do, as in RequestContext. What is `unread`, and all when
  /// nothing is known, counts as the last call that may have a request.
  std::uint8_t priority(bool unread) const;
  bool wants_read() const;
  bool wants_write() const { return !writer_.empty() || stream_->unsent(); }
  bool waiting() const { return !ops_.empty(); }
  /// Has said Hello, and was let in.
  bool greeted() const { return greeted_; }
  Time opened() const { return opened_; }
  int fd() const { return options_.socket.get(); }
  SessionId id() const { return options_.id; }
  void announce_retired(SlabId slab);

  // -- ops and operations ------------------------------------------------------------------------
  NodeContext& node() { return node_; }
  Time now() const { return now_; }
  /// When what this turn reads may have come at the earliest: since then it is in the io thread.
  Time ready() const { return ready_; }
  bool shm() const { return control_page_ != nullptr; }
  RequestBook& requests() { return requests_; }
  LeaseBook& leases() { return leases_; }
  TouchBook& touches() { return touches_; }
  RegionBook& regions() { return regions_; }
  FrameWriter& writer() { return writer_; }
  Inbox* inbox() { return options_.inbox; }
  ControlPage* control_page() { return control_page_.get(); }
  NamespaceRef find_namespace(std::uint64_t id) const;
  void add_namespace(const NamespaceRef& ns) { namespaces_[ns->id.value()] = ns; }
  bool is_admin() const { return grant_.admin; }
  /// A call took so long; for the node's figures and its tenant's.
  void add_time(Operation operation, Duration took) {
    node_.metrics.times.add(operation, shm(), took);
    tenant_->times.add(operation, shm(), took);
  }
  /// Queues a frame that is no reply.
  void tell(FrameType type, std::uint64_t id, const google::protobuf::MessageLite& body);
  /// Queues a reply.
  void reply(FrameType type, std::uint64_t id, const google::protobuf::MessageLite& body,
             std::span<const std::byte> array = {});
  /// Queues a reply that has nothing but an error; the body of every reply begins with a status.
  void reply_error(FrameType type, std::uint64_t id, const absl::Status& why);
  void push(OutFrame frame);
  /// The payload under way, if it is of this op, goes to scratch memory from now on: before memory
  /// that it went to is given back.
  void discard_payload(std::uint64_t op);
  /// Tells the client of a slab before the first descriptor into it. False: no descriptors left.
  bool announce_slab(SlabId slab);
  /// Ends the session after telling why.
  void fail(const absl::Status& why);
  std::uint64_t claims() const;
  /// Its keys were looked up: counts and touches what is hit, and has it sent or leased.
  void finish_get(const std::vector<wire::KeyRecord>& records, GetFound found);
  /// Claims `absent` keys for a match, which is answered when the shards have; or refuses it.
  /// More claims than a session may have beside those that are open are refused whole. False: they
  /// were.
  bool claim(std::uint64_t id, MatchAnswer answer, std::deque<LocatedKey> absent,
             std::vector<std::uint32_t> chains, const wire::MatchRequest& asked);
  std::uint32_t& waits() { return waits_; }
  std::uint32_t& removals() { return removals_; }
  std::size_t& wait_keys() { return wait_keys_; }
  AttachedProcess* peer_process() { return peer_process_.get(); }

 private:
  struct Call {
    std::uint64_t id = 0;
    FrameType type = FrameType::kError;
    std::span<const std::byte> body;
    std::span<const std::byte> array;
    std::uint32_t payload = 0;
  };

  void read_frames();
  void handle(FrameReader::Frame& frame);
  void dispatch(const Call& call, Fds& fds);
  void finish_payload();
  void step_ops();
  void step_ops_of(std::uint8_t priority, std::size_t& budget);
  void reap_ops();
  bool flush();
  void note_progress();
  /// OK, or why the session must end now: silence, no hello, or answers that nobody reads.
  absl::Status overdue() const;
  template <class Body>
  bool parse(const Call& call, Body& body) {
    if (parse_body(call.body, body)) return true;
    refuse(call, absl::InvalidArgumentError("body: is not the protobuf message of its type"));
    return false;
  }
  void refuse(const Call& call, const absl::Status& why);
  /// What `make` makes has its first step now, others in later turns if `keys` are more than one
  /// takes; then `memory` is what it will have besides its frame, and it is refused when the node
  /// has not so much. `make` may refuse it, too, and make nothing.
  void run_in_steps(const Call& call, std::size_t keys, Bytes memory,
                    const std::function<std::unique_ptr<CallInSteps>()>& make);
  /// Keys that a call looks at, of what the session has in a turn.
  void spend(std::size_t keys);
  /// Steps before anything else is read; true while some are left.
  bool in_steps() const { return in_steps_ != nullptr || requests_.ending(); }
  void step_call();
  /// The namespace and key records of a call; answers the error itself.
  NamespaceRef open_or_refuse(const Call& call, std::uint64_t ns);
  bool records_or_refuse(const Call& call, std::span<const std::byte> array,
                         std::vector<wire::KeyRecord>& records);
  bool batch_size_ok(const Call& call, std::size_t keys);
  /// `request`: whose priority the op has, of calls that may have one; else it is most urgent.
  bool start(const Call& call, std::unique_ptr<SessionOp> op,
             std::optional<std::uint64_t> request = std::nullopt);
  /// Of an open request; of none, or one that is not open: most urgent. It is remembered.
  std::uint8_t note_priority(std::uint64_t request);

  // session_hello.cc
  void hello(const Call& call);
  // session_rights.cc
  absl::Status grant_access(const std::string& token);
  bool is_trusted_user() const { return options_.is_unix && is_trusted(options_.peer); }
  /// Counts it to its tenant, unless that has so many that too few are left for others.
  absl::Status join_tenant();
  /// Why this call is refused, if it is.
  absl::Status check_right(const Call& call) const;
  /// The tokens were loaded anew: rights follow; what was revoked ends the session.
  void check_grant();
  bool open_control_page();
  absl::Status try_attach(std::uint64_t address, std::uint64_t value);
  void open_namespace(const Call& call);
  void register_region(const Call& call, Fds& fds);
  void unregister_region(const Call& call);
  // session_request_calls.cc
  void begin_request(const Call& call);
  void end_request(const Call& call);
  void match(const Call& call);
  /// Begins the request of this number unless it is open; false after an error was answered. No
  /// request (number 0): true.
  bool request_or_refuse(const Call& call, std::uint64_t number, const NamespaceRef& ns);
  bool check_match(const Call& call, const wire::MatchRequest& body);
  bool check_blocks(const Call& call, const NamespaceInfo& ns, std::uint64_t* blocks);
  ShardId shard_of_name(const BlockHash& name) const;
  void touch(const Call& call);
  // session_get.cc
  void get(const Call& call);
  void note_hits(std::uint64_t number, const std::vector<HeldBlock>& held,
                 const std::vector<wire::KeyRecord>& records,
                 const std::vector<std::uint32_t>& held_key);
  void release_gets(const Call& call);
  void renew(const Call& call);
  // session_put.cc, session_layer_put.cc
  void put(const Call& call);
  void put_data(const Call& call);
  void put_start(const Call& call);
  void put_part(const Call& call);
  void put_end(const Call& call);
  // session_admin.cc
  void wait(const Call& call);
  void pin(const Call& call);
  void unpin(const Call& call);
  void remove(const Call& call);
  void remove_prefix(const Call& call);
  void list(const Call& call);
  void stats(const Call& call);
  void cancel(const Call& call);
  // session_namespaces.cc
  void namespaces(const Call& call);
  void set_mode(const Call& call);
  void purge(const Call& call);
  /// One line of who does what.
  void audit(FrameType what, const std::string& of_what);
  void audit_refused(FrameType what, const absl::Status& why);
  void audit_keys(FrameType what, const NamespaceInfo& ns,
                  const std::vector<wire::KeyRecord>& records);

  void forget_claims(Time now);
  bool charge_reader(std::uint64_t bytes);
  void count_reader();
  void read_what_is_here();
  void add_tenants(wire::StatsReply& body) const;

  Options options_;
  NodeContext& node_;
  Time now_;
  Time ready_;  ///< when what this turn reads may have come, at the earliest
  std::size_t turn_bytes_;
  const Time opened_;
  Time last_heard_;
  Time last_sent_progress_;
  std::size_t sent_since_progress_ = 0;
  bool greeted_ = false;
  bool failed_ = false;  ///< closes once the error frame is out
  bool closed_ = false;  ///< the client ended the stream
  bool more_to_read_ = false;
  std::size_t turn_keys_ = 0;    ///< keys that calls may still name in this turn
  TokenTable::Grant grant_;      ///< of the token, or of who needs none
  TenantUse* tenant_ = nullptr;  ///< after Hello
  std::optional<TokenTable::Digest> token_;
  std::uint64_t tokens_version_ = 0;
  std::string client_;  ///< as it named itself, fit for a log
  std::string from_;    ///< uid and pid, or address and port
  std::unique_ptr<ByteStream> stream_;
  FrameReader reader_;
  absl::Status no_room_;          ///< why the frame under way goes by
  TenantUse* charged_ = nullptr;  ///< for charged_bytes_ of the reader's memory
  std::uint64_t charged_bytes_ = 0;
  FrameWriter writer_;
  std::unique_ptr<ControlPage> control_page_;
  std::unique_ptr<AttachedProcess> peer_process_;
  RequestBook requests_;
  TouchBook touches_;
  LeaseBook leases_;
  RegionBook regions_;
  std::size_t wait_keys_ = 0;  ///< of all open waits
  std::uint32_t waits_ = 0;
  std::uint32_t removals_ = 0;
  std::uint64_t gets_ = 0;
  /// Claims made, with the time when they lapse.
  std::vector<std::pair<Time, std::uint64_t>> claims_;
  absl::flat_hash_map<std::uint64_t, NamespaceRef> namespaces_;
  std::map<std::uint64_t, std::unique_ptr<SessionOp>> ops_;
  std::array<std::uint64_t, TurnQueue::kPriorities> last_stepped_{};  ///< op, by priority
  std::uint32_t turns_ = 0;
  std::uint8_t last_priority_ = 0;
  absl::flat_hash_set<SlabId> announced_;
  std::unique_ptr<CallInSteps> in_steps_;
  std::uint64_t payload_op_ = 0;  ///< op whose memory the payload under way goes to
};

}  // namespace larder
