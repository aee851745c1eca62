#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include <unistd.h>

#include "client/client.h"
#include "client/handshake.h"
#include "client/link.h"
#include "client/operation.h"
#include "transport/socket.h"

namespace larder {

/// The leases of one view batch, renewed until they are given back.
struct HeldLease {
  Duration life{0};
  Time renew_at;
};

/// Runs a client's operations: one connection, one lock, and one thread at a time that waits for
/// the socket, the **driver**.
///
/// A thread in run() drives until its own operation is finished, completing others' on the way;
/// other threads sleep and take the role over. The background thread drives only while submitted
/// operations are under way and nobody else does; a thread in run() takes the role from it. It also
/// keeps the timers: heartbeats, deadlines, leases, reconnects. An operation that finds no
/// connection has one attempt made for it (attempts are kAttemptGap apart, and serve all who wait);
/// with nothing under way the attempts back off. Bytes of shared memory are copied
/// without the lock: by the thread in run() for its own operation, by the background for submitted
/// ones. Everything here is guarded by `mutex_`, but for what says otherwise.
class Engine {
 public:
  /// `tls` null: TCP is not encrypted.
  Engine(Client::Options options, Address address, std::shared_ptr<const TlsContext> tls);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// First connection and background thread.
  absl::Status start();
  /// Ends every operation (kCancelled), waits for the threads in run(), ends the background.
  void stop();
  bool forked() const { return getpid() != pid_; }

  /// Until the operation is finished.
  void run(const std::shared_ptr<Operation>& op);
  /// Returns its id at once; the completion is drained.
  std::uint64_t submit(const std::shared_ptr<Operation>& op);
  void cancel(std::uint64_t id);
  std::vector<Completion> drain();
  int event_fd() const { return event_fd_.get(); }
  /// A frame that nobody waits for; dropped when there is no connection.
  void tell(FrameType type, const google::protobuf::MessageLite& body);

  // -- what outlives a connection -----------------------------------------------------------------
  /// False when the connection is not `serial`'s any more: what was done on that one is undone.
  bool remember_namespace(const NamespaceSpec& spec, std::uint64_t serial);
  /// The same, after OK.
  absl::StatusOr<bool> add_region(Region& region, std::uint64_t serial);
  std::optional<Region> take_region(const std::byte* base);
  /// Runs `use` under the lock with the table.
  template <class Use>
  auto with_regions(Use use) {
    const Lock lock = enter();
    return use(shared_.regions);
  }

  // -- views --------------------------------------------------------------------------------------
  /// Renews the lease of a get until drop_lease(). Leases end with their connection.
  void hold_lease(std::uint64_t get, std::uint64_t serial);
  void drop_lease(std::uint64_t get);

  /// Terms of the connection there is now, or was last.
  LinkTerms terms();
  Counters counters();
  const Client::Options& options() const { return options_; }
  Shared& shared() { return shared_; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using OperationPtr = std::shared_ptr<Operation>;

  // engine.cc: operations
  bool admit(const OperationPtr& op);
  void take_submitted();
  void stop_pumping();
  Link* link_of(const Operation& op) const;
  void begin(const OperationPtr& op);
  void start_op(const OperationPtr& op);
  void after_event(const OperationPtr& op);
  void give_up(const OperationPtr& op, absl::StatusCode code, const std::string& message);
  void retire(const OperationPtr& op);
  void do_work(Lock& lock, const OperationPtr& op);
  void expire(Time now);
  void expire_op(const OperationPtr& op, Time now);
  void wait_for_turn(Lock& lock, const OperationPtr& op, Time until);
  void run_loop(Lock& lock, const OperationPtr& op);

  // engine_drive.cc: the socket
  struct Wait {
    Time until;
    bool polls;
  };
  Wait wait_for(const Operation& op, Time since, Time now) const;
  void drive(Lock& lock, const OperationPtr& op);
  void let_in(Lock& lock);
  void drive_background(Lock& lock, Time until);
  bool pump(Time now);
  bool flush(Time now);
  void feed(Link& link);
  bool read_some(Time now);
  void on_frame(FrameReader::Frame& frame, Time now);
  void on_reply_frame(FrameReader::Frame& frame, Time now);
  void resume_stalled();
  void poll_unlocked(Lock& lock, Time until);
  void wake_driver();
  void wake_background();
  void schedule_releases(Time now);
  void hand_over();
  void keep_driven();
  void send_the_rest();
  void lost(absl::StatusCode code, const std::string& why);

  // engine_background.cc: timers and connections
  void background();
  Time next_timer(Time now) const;
  void run_timers(Time now);
  void renew_leases(Time now);
  void send_ping();
  bool work_in_background(Lock& lock);
  void connect(Lock& lock, Duration limit);
  HandshakePlan make_plan() const;
  void install(std::unique_ptr<Link> link);
  Time next_connect() const;
  void fail_pending(const absl::Status& why);
  bool background_needed() const;

  const Client::Options options_;
  const Address address_;
  const std::shared_ptr<const TlsContext> tls_;
  const pid_t pid_ = getpid();
  std::uint64_t probe_value_;

  /// The lock, for whoever comes from outside: the driver makes room for them.
  Lock enter();

  std::mutex mutex_;
  std::atomic<int> entering_{0};
  Shared shared_;
  std::shared_ptr<Link> link_;  ///< null: not connected
  std::uint64_t link_serial_ = 0;
  std::mutex terms_mutex_;  ///< its own: whoever makes a call does not wait for the driver
  LinkTerms last_terms_;    ///< guarded by terms_mutex_
  std::vector<NamespaceSpec> namespaces_;
  absl::flat_hash_map<std::uint64_t, OperationPtr> ops_;
  std::size_t async_ops_ = 0;
  std::deque<OperationPtr> background_work_;
  absl::flat_hash_map<std::uint64_t, HeldLease> leases_;
  Time next_due_;  ///< no operation's deadline is before it

  const void* driver_ = nullptr;  ///< who waits for the socket: an operation's thread, or `this`
  bool driver_polls_ = false;
  bool background_polls_ = false;
  Time driver_until_;
  std::vector<Operation*> waiting_;  ///< threads in run() that do not drive
  std::size_t callers_ = 0;
  std::condition_variable callers_gone_;
  Fd wake_fd_;
  Fd background_wake_fd_;

  // Submitting and draining do not wait for the driver, which holds the lock while bytes flow:
  // submissions are left here for it while it pumps, and it looks again after it has stopped to.
  std::mutex submitted_mutex_;
  std::vector<OperationPtr> submitted_;  ///< guarded by submitted_mutex_
  std::atomic<bool> has_submitted_{false};
  std::atomic<bool> pumping_{false};
  std::mutex completions_mutex_;
  std::vector<Completion> completions_;  ///< guarded by completions_mutex_
  Fd event_fd_;

  bool connecting_ = false;
  bool connected_once_ = false;
  bool ping_under_way_ = false;
  absl::Status connect_failure_;
  Time attempt_began_;
  Time attempt_ended_;
  Time next_attempt_;  ///< the background's own, with nothing under way
  Duration backoff_{0};

  bool stopping_ = false;
  std::condition_variable background_wake_;
  Time background_until_;
  Time background_progress_;
  Time releases_due_ = Time::max();
  std::thread thread_;
};

}  // namespace larder
