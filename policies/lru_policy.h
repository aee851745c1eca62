#pragma once

#include <memory>
#include <vector>

#include "store/eviction_policy.h"

namespace larder {

/// Least recently used, in order of stamps.
///
/// A doubly linked list of ids kept sorted by stamp, so that the order is that of the stamps
/// however the touches arrive: a touch walks from the most recent end to its place. Touched
/// suffix-first, this is leaf-first LRU: a parent is always more recent than its children.
///
/// Owns 16 bytes an id, in chunks made when first used (growing never moves what is there): a
/// tenant of few blocks takes little, however high their ids. Not thread-safe: one shard owns it.
/// on_insert and on_hit walk from where the last one went in, or from the nearer end: O(1) for
/// touches in order, for inserts in order or in reverse (a restart, a prompt root-first), and for
/// what is to leave first; else O(touches out of order). on_erase is O(1). victim() goes on behind
/// the blocks that it skipped before; it looks at the first kRecheck of them again in each call,
/// and at all in a round, over as many calls as that takes, after a request has ended or
/// kRescanCalls calls: however many are pinned, what is behind them is found meanwhile. A victim's
/// value is its stamp (exact up to 2^33 requests). Cannot fail.
class LruPolicy final : public EvictionPolicy {
 public:
  static constexpr std::uint32_t kRescanCalls = 256;
  static constexpr std::uint32_t kRecheck = 32;

  LruPolicy();
  void on_request(const RequestContext& context) override;
  void on_request_end(const RequestContext& context, std::uint32_t output_tokens) override;
  bool admit(const PolicyInsert& candidate, const RequestContext* context,
             double cheapest) override;
  void on_insert(const PolicyInsert& insert, const RequestContext* context) override;
  /// Ignores a stamp that is not later than the one that `id` has.
  void on_hit(PolicyId id, Stamp stamp, const RequestContext* context) override;
  void on_erase(PolicyId id, EraseCause cause) override;
  std::optional<Victim> victim(Time now, absl::FunctionRef<bool(PolicyId)> skip) override;
  bool has_more() const override { return cursor_ != kEnds || round_ != kEnds; }

 private:
  struct Node {
    std::uint32_t prev = 0;
    std::uint32_t next = kUntracked;
    std::uint64_t stamp = 0;
  };
  static_assert(sizeof(Node) == 16);
  static constexpr std::uint32_t kUntracked = 0xffffffff;
  static constexpr std::uint32_t kEnds = 0;  ///< next: least recent; prev: most recent
  static constexpr std::uint32_t kChunkNodes = 512;

  Victim victim_at(std::uint32_t n);
  std::optional<Victim> look_again(std::uint32_t& seen, absl::FunctionRef<bool(PolicyId)> skip);
  Node& node(std::uint32_t n) { return chunks_[n / kChunkNodes][n % kChunkNodes]; }
  bool tracked(std::uint32_t n);
  void make_room_for(std::uint32_t n);
  std::uint32_t place_of(std::uint64_t stamp);
  void link(std::uint32_t n, std::uint64_t stamp);
  void unlink(std::uint32_t n);

  std::vector<std::unique_ptr<Node[]>>
      chunks_;  // null: none of it was ever used; node 0 joins the ends; id i is node i + 1
  std::uint32_t finger_ = kEnds;  // the last one linked; kEnds: it has left
  std::uint32_t cursor_ = kEnds;  // victim() goes on here; kEnds: it has looked at all
  std::uint32_t round_ = kEnds;   // skipped blocks up to here were looked at again; kEnds: no round
  std::uint32_t calls_ = 0;       // since the last round began
  bool request_ended_ = false;    // pins may have ended behind the cursor
};

}  // namespace larder
