#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/call_in_steps.h"
#include "actors/session.h"
#include "actors/session_match.h"
#include "transport/wire.pb.h"

namespace larder {

/// The hashes of a match, out of its frame a part at a time.
class HashLoader {
 public:
  /// `frame` stays where it is until all are loaded.
  explicit HashLoader(std::span<const std::byte> frame) : rest_(frame) {
    hashes_.reserve(frame.size() / sizeof(BlockHash));
  }
  /// True when all are here.
  bool step();
  std::span<const BlockHash> hashes() const { return hashes_; }

 private:
  std::span<const std::byte> rest_;
  std::vector<BlockHash> hashes_;
};

/// What a match of either kind begins with.
class HashCall : public CallInSteps {
 public:
  /// `array` stays until it is done; `session` outlives it.
  HashCall(Session& session, std::uint64_t id, NamespaceRef ns, std::span<const std::byte> array)
      : session_(session),
        id_(id),
        ns_(std::move(ns)),
        ready_(session.ready()),
        served_(serves(session.node().mode_of(*ns_))),
        loader_(array) {}

 protected:
  /// When it came and now; else nothing is a hit.
  bool served() const { return served_ && serves(session_.node().mode_of(*ns_)); }

  Session& session_;
  const std::uint64_t id_;
  const NamespaceRef ns_;
  const Time ready_;   ///< since when it is in the io thread
  const bool served_;  ///< when it came
  HashLoader loader_;
};

/// A match of chains.
class MatchCall : public HashCall {
 public:
  /// `begins`: its request is its own, and ends with it if its claims are refused.
  MatchCall(Session& session, std::uint64_t id, NamespaceRef ns, wire::MatchRequest body,
            std::span<const std::byte> array, bool begins)
      : HashCall(session, id, std::move(ns), array), body_(std::move(body)), begins_(begins) {}
  bool step() override;
  /// At most what a match of so many units, and blocks of all groups and ranks, has besides its
  /// frame.
  static Bytes memory(std::uint64_t units, std::uint64_t blocks, const wire::MatchRequest& asked);

 private:
  bool all_chains() const { return answer_.body.chains_size() == body_.chain_units_size(); }
  void look_up(std::size_t& keys);
  void note_absent(const std::vector<LocatedKey>& absent);
  void finish_chain();
  void answer();

  const wire::MatchRequest body_;
  const bool begins_;
  std::size_t unit_ = 0;  ///< first of the chain that is looked up
  std::optional<ChainLookup> lookup_;
  MatchAnswer answer_;
  std::deque<LocatedKey> absent_;  ///< grows without being moved; at most one more than can be had
  std::vector<std::uint32_t> absent_chains_;
};

/// A match of keys that have no chain.
class FlatMatchCall : public HashCall {
 public:
  FlatMatchCall(Session& session, std::uint64_t id, NamespaceRef ns, std::uint64_t request,
                std::span<const std::byte> array)
      : HashCall(session, id, std::move(ns), array), request_(request) {}
  bool step() override;

 private:
  wire::MatchState look_at(const LocatedKey& at, EntryId entry, SessionRequest* request);

  const std::uint64_t request_;
  std::string states_;
};

}  // namespace larder
