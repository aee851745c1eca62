#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/btree_set.h"

#include "store/types.h"

namespace larder {

/// Which session of an io thread works next.
///
/// Tenants share the thread by time, each as much as its share says. Rest saves up nothing, and who
/// asks for little is next however much another asks for. Within a tenant what decodes goes first,
/// then prefill, then backfill; but one turn in kReliefTurns begins with another, so nothing
/// starves.
///
/// Start-time fair queuing (Goyal, Vin, Cheng, SIGCOMM 1996), with the time that a turn took as the
/// length of its packet. One thread. A session stands in it at most once: who pushes sees to that.
class TurnQueue {
 public:
  static constexpr std::size_t kPriorities = 3;
  static constexpr std::uint32_t kReliefTurns = 8;
  /// How long after a turn of one session another's is to be short.
  static constexpr Duration kContended = std::chrono::milliseconds(10);

  using Order = std::array<std::uint8_t, kPriorities>;
  /// Which priority is asked first, second and third in the turn of this number.
  static Order order_of(std::uint32_t turn);

  /// `share` ≥ 1; `priority` as in RequestContext, what is above counts as backfill.
  void push(std::uint64_t session, std::string_view tenant, std::uint32_t share,
            std::uint8_t priority);
  /// The session whose turn it is; nothing when none waits. Each is followed by end_turn().
  std::optional<std::uint64_t> begin_turn(Time now);
  void end_turn(Duration took);
  /// Work for a tenant outside of turns.
  void charge(std::string_view tenant, std::uint32_t share, Duration took);

  bool empty() const { return waiting_.empty(); }
  /// More than one session has had turns lately.
  bool contended(Time now) const { return now < contended_until_; }
  std::size_t tenants() const { return flows_.size(); }

 private:
  struct Flow {
    double tag = 0;  ///< nanoseconds of work by share; the smallest is next
    std::uint64_t order = 0;
    std::uint32_t share = 1;
    std::uint32_t turns = 0;
    std::array<std::deque<std::uint64_t>, kPriorities> sessions;

    bool idle() const;
    std::uint64_t take();
  };
  struct Next {
    double tag;
    std::uint64_t order;
    Flow* flow;
    bool operator<(const Next& other) const {
      return tag != other.tag ? tag < other.tag : order < other.order;
    }
  };

  Flow& flow_of(std::string_view tenant);
  void forget_idle();
  void start_over();

  std::map<std::string, Flow, std::less<>> flows_;
  absl::btree_set<Next> waiting_;  ///< flows that are not idle, but for current_
  Flow* current_ = nullptr;        ///< between begin_turn() and end_turn()
  std::uint64_t last_ = 0;         ///< session that had a turn
  double tag_ = 0;                 ///< of the last turn
  std::uint64_t orders_ = 0;
  Time contended_until_;
};

}  // namespace larder
