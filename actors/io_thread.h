#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "actors/inbox.h"
#include "actors/node_context.h"
#include "actors/session.h"
#include "actors/turn_queue.h"
#include "transport/socket.h"

namespace larder {

/// One thread that serves sessions: parses frames, answers lookups from the indexes, copies and
/// sends bytes in slices, one session after the other. Registered as a reader of every index.
///
/// Spins for Config::spin_us after the last activity, then sleeps; offline for reclamation while it
/// sleeps.
class IoThread {
 public:
  /// `listeners` (may be empty) are accepted from by this thread; sessions go round to all.
  IoThread(NodeContext& node, QuiescenceDomain::Reader reader, std::vector<Fd> listeners);
  ~IoThread();

  void start();
  /// Ends every session and joins. Any thread but its own.
  void stop();

  Inbox& inbox() { return inbox_; }
  /// When it last looked at its timers; a few times a second, asleep or busy. Any thread.
  Time seen() const { return seen_.load(std::memory_order_relaxed); }
  /// Own thread (by a task of the inbox).
  void add_session(Fd socket, bool is_unix, PeerCredentials peer);
  void announce_retired(SlabId slab);
  void request_stop() { stopping_ = true; }

 private:
  struct Listener {
    Fd fd;
    bool is_unix = false;
    bool paused = false;  ///< could not even refuse (out of memory); tried again by the timer
  };
  struct Peer {
    std::unique_ptr<Session> session;
    std::uint32_t events = 0;  ///< registered with epoll
    bool queued = false;       ///< stands in turns_
    bool readable = false;     ///< seen by epoll since its last turn
    Time ready;                ///< since when it is queued
  };

  enum class Told : std::uint8_t { kYes, kNo, kNobodyWaits };
  using Accepted = absl::StatusOr<std::optional<Fd>>;

  void run();
  bool turn();
  bool look();
  bool drain_inbox();
  bool work();
  void accept_all(std::size_t number);
  void watch_listener(std::size_t number, std::uint32_t events);
  void refuse(const Fd& socket, const std::string& why);
  bool keep_spare();
  Told tell_of_descriptors(const Listener& listener, Accepted accepted);
  void make_room_for_unknown();
  bool drop_oldest_unknown(std::size_t kept, Duration age);
  void pump(std::uint64_t id);
  void queue(std::uint64_t id, Peer& peer);
  void on_ready(std::uint64_t id, Peer& peer);
  void update_events(std::uint64_t id, Peer& peer);
  void watch_events(std::uint64_t id, Peer& peer, std::uint32_t wanted);
  std::uint32_t share_of(const std::string& tenant) const;
  void close(std::uint64_t id);
  void on_time();

  NodeContext& node_;
  QuiescenceDomain::Reader reader_;
  Inbox inbox_;
  Fd epoll_;
  Fd spare_;  ///< given up for a moment to tell a client that there are no others
  std::vector<Listener> listeners_;
  absl::flat_hash_map<std::uint64_t, Peer> peers_;
  std::deque<std::uint64_t> unknown_;  ///< no Hello yet when last looked at; the oldest first
  TurnQueue turns_;
  std::atomic<Time> seen_{Time{}};
  std::vector<std::shared_ptr<const AbortNote>> lost_aborts_;
  Time now_;
  Time next_timer_;
  Time last_activity_;
  std::size_t next_thread_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace larder
