#pragma once

#include <cstdint>
#include <deque>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "actors/node_context.h"
#include "actors/request_end.h"
#include "actors/session_limits.h"
#include "actors/session_lookup.h"

namespace larder {

/// The requests of one session: begins, pins, ends and expires them. One io thread.
class RequestBook {
 public:
  explicit RequestBook(NodeContext& node) : node_(node) {}
  /// Whose they are, before the first begins; it outlives the book's last note.
  void belong_to(TenantUse& tenant) { tenant_ = &tenant; }

  /// RESOURCE_EXHAUSTED past limits::kSessionRequestsMax; an open number is begun anew.
  absl::Status begin(std::uint64_t number, const NamespaceRef& ns, RequestContext context,
                     Time deadline);
  SessionRequest* find(std::uint64_t number);
  /// Tells all shards of the request, once, when its context is known.
  void announce(SessionRequest& request);
  /// Keeps the lease until the request ends, within the pin quota; else gives it back.
  void pin(SessionRequest& request, const HeldBlock& held);
  /// Adds blocks that a match named to the chain, up to limits::kSessionChainMax a session, and
  /// to what the node has for all.
  void append(SessionRequest& request, const LocatedKey& at, std::uint32_t last_unit);
  /// Adds blocks that the request put, or got without a match, to its chain (those not in it yet).
  void extend(SessionRequest& request, const LocatedKey& at, std::uint32_t last_unit);
  /// Touches the chain suffix-first, unpins, forgets: kEndStep blocks at once, what is left by
  /// work(). False when unknown.
  bool end(std::uint64_t number, std::uint32_t output_tokens);
  void expire(Time now);
  /// The session is over: all of them, to their ends.
  void end_all();
  /// Requests that are known to nobody any more, yet have blocks to touch.
  bool ending() const { return !ending_.empty(); }
  /// Goes on with those for about so many blocks.
  void work(std::size_t blocks = kEndStep);
  std::size_t size() const { return requests_.size(); }

 private:
  void begin_end(SessionRequest request, std::uint32_t output_tokens);
  bool take_chained();
  void give_chained(std::size_t blocks, std::size_t kept);

  NodeContext& node_;
  TenantUse* tenant_ = nullptr;
  absl::flat_hash_map<std::uint64_t, SessionRequest> requests_;
  std::deque<RequestEnd> ending_;  ///< in the order in which they end
  std::size_t chained_ = 0;        ///< blocks of all their chains
  std::size_t spare_ = 0;  ///< taken of the node's for further blocks: a few hundred at once
};

}  // namespace larder
