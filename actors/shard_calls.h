// What io threads and node actors ask of shards. Plain structs, process-local, free of CAF: they
// carry descriptors, never a block's bytes.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "actors/tenant_use.h"
#include "store/namespace_spec.h"
#include "store/shard.h"
#include "store/types.h"

namespace larder {

class Inbox;

/// A question that an io thread waits for. Exactly one answer reaches the inbox, even when the
/// shard dies with the call in its mailbox: then `lost` is true and nothing else was filled in.
struct ShardCall : std::enable_shared_from_this<ShardCall> {
  ShardCall() = default;
  ShardCall(const ShardCall&) = delete;
  ShardCall& operator=(const ShardCall&) = delete;
  virtual ~ShardCall();

  /// Hands the call back to its io thread. At most once.
  void answer();

  Inbox* reply_to = nullptr;
  SessionId session;
  std::uint64_t op = 0;
  bool lost = false;
  bool answered = false;
};

struct ReserveCall : ShardCall {
  ShardId shard;
  std::vector<ReserveItem> items;
  std::vector<std::uint32_t> positions;  ///< index of each item in its batch; the caller's
  std::optional<RequestId> request;
  Time deadline;  ///< items without a slot are given up then
  /// Set by who asked when it wants no slot any more (cancelled, its session gone); may be null.
  std::shared_ptr<std::atomic<bool>> given_up;
  std::uint32_t refusals = 0;  ///< times that no slot could be freed; the shard's
  bool is_given_up() const { return given_up && given_up->load(std::memory_order_relaxed); }
};

struct ClaimCall : ShardCall {
  ShardId shard;
  std::vector<BlockKey> keys;
  std::vector<std::uint32_t> positions;
  Time deadline;
  std::vector<ClaimOutcome> outcomes;
};

struct EraseCall : ShardCall {
  ShardId shard;
  std::vector<BlockKey> keys;
  std::vector<std::uint32_t> positions;
  EraseCause cause = EraseCause::kRemoved;
  std::vector<std::uint8_t> erased;
};

/// A slice of a shard's blocks, of one namespace or of all.
struct ScanCall : ShardCall {
  struct Row {
    BlockKey key;
    BlockHash parent;
    std::uint32_t length = 0;
    std::uint32_t position = 0;
    std::uint32_t leases = 0;
    std::uint64_t checksum = 0;
    WriterId writer;
    TenantId tenant;
  };
  ShardId shard;
  std::optional<NamespaceId> ns;
  std::uint32_t cursor = 0;
  std::uint32_t limit = 0;
  std::vector<Row> rows;
  bool end = false;
};

// Notes: nobody waits for them.
struct RequestNote {
  RequestContext context;
};
/// Leases of one shard's entries, given back with the note that carries them: touched first, for
/// until then their old stamps would make them the next victims. Also when the shard dies.
class NoteHolds {
 public:
  /// `store`, `pot` and `own`, to which the holds' lengths go back when they end, outlive the note.
  NoteHolds(NodeStore& store, ShardId shard, SharedPot& pot, std::atomic<std::uint64_t>& own)
      : store_(store), shard_(shard), pot_(pot), own_(own) {}
  NoteHolds(const NoteHolds&) = delete;
  NoteHolds& operator=(const NoteHolds&) = delete;
  ~NoteHolds();

  /// Takes the lease over.
  void add(const Hold& hold) { holds_.push_back(hold); }
  std::size_t size() const { return holds_.size(); }

 private:
  NodeStore& store_;
  const ShardId shard_;
  SharedPot& pot_;
  std::atomic<std::uint64_t>& own_;
  std::vector<Hold> holds_;
};

struct RequestEndNote {
  RequestId request;
  std::uint32_t output_tokens = 0;
  std::vector<TouchItem> touches;    ///< suffix-first
  std::unique_ptr<NoteHolds> holds;  ///< null: none
};
struct TouchNote {
  std::optional<RequestId> request;
  std::vector<TouchItem> touches;
  std::unique_ptr<NoteHolds> holds;  ///< null: none
};
/// Takes reservations back. Must arrive: nobody else would ever free these slots. One that dies in
/// the mailbox of a dead shard comes back to the io thread, which sends it again.
struct AbortNote {
  struct Item {
    EntryId entry;
    std::uint64_t generation = 0;
  };
  AbortNote(ShardId to, Inbox* sender) : shard(to), lost_to(sender) {}
  AbortNote(const AbortNote&) = delete;
  AbortNote& operator=(const AbortNote&) = delete;
  ~AbortNote();

  ShardId shard;
  Inbox* lost_to = nullptr;
  std::vector<Item> items;
  mutable bool done = false;  ///< set by the shard
};
struct DropClaimsNote {
  SessionId session;
};
struct QuarantineNote {
  BlockKey key;
};

/// The way from an io thread to the shards. Thread-safe, never blocks. What one thread sends to one
/// shard arrives in order.
class ShardPort {
 public:
  virtual ~ShardPort() = default;
  virtual void send(ShardId to, std::shared_ptr<ReserveCall> call) = 0;
  virtual void send(ShardId to, std::shared_ptr<ClaimCall> call) = 0;
  virtual void send(ShardId to, std::shared_ptr<EraseCall> call) = 0;
  virtual void send(ShardId to, std::shared_ptr<ScanCall> call) = 0;
  virtual void send(ShardId to, std::shared_ptr<const RequestNote> note) = 0;
  virtual void send(ShardId to, std::shared_ptr<const RequestEndNote> note) = 0;
  virtual void send(ShardId to, std::shared_ptr<const TouchNote> note) = 0;
  virtual void send(ShardId to, std::shared_ptr<const AbortNote> note) = 0;
  virtual void send(ShardId to, std::shared_ptr<const DropClaimsNote> note) = 0;
  virtual void send(ShardId to, std::shared_ptr<const QuarantineNote> note) = 0;
};

}  // namespace larder
