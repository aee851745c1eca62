#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "actors/session.h"
#include "actors/session_lookup.h"
#include "transport/guarded_copy.h"

namespace larder {

/// One key of a put.
struct PutItem {
  wire::KeyRecord record;
  LocatedKey at;
  wire::KeyStatus status = wire::KeyStatus::kWanted;  ///< kWanted until decided
  wire::PutPath path = wire::PutPath::kNone;
  bool reserved = false;
  EntryId entry = kNoEntry;
  std::uint64_t entry_generation = 0;
  SlotRef slot;
  /// The slot's memory; of a lent slot before the shard has answered, too.
  std::byte* data = nullptr;
  /// Kept to the end: who fills the slot may be in the middle of it when the answer comes.
  std::shared_ptr<LentSlot> lent;
  std::uint64_t filled = 0;
  Checksum sum;
};

/// The reservations of one put: asks the shards, knows each key's slot, publishes or takes back.
/// Shared by puts and layer-by-layer puts.
///
///   asking --all shards answered--> filling --publish()--> over
///      |                               |----take_back()--> over
class PutBatch {
 public:
  /// `request` is the session's number of the request served, 0: none. The session outlives it.
  PutBatch(Session& session, NamespaceRef ns, std::uint64_t request, std::uint64_t op);
  ~PutBatch();

  /// Checks the records and sends what must be reserved to the shards. Up to `lent` bytes of slots
  /// (one at least, if any) that are free may be filled before they answer.
  void ask(std::vector<wire::KeyRecord> records, Time deadline, Bytes lent = {});
  void on_answer(ShardCall& call);
  bool asking() const { return calls_ > 0; }
  /// Every key that may be wanted has a slot to be filled.
  bool fillable() const;

  std::vector<PutItem>& items() { return items_; }
  const std::vector<PutItem>& items() const { return items_; }
  /// Makes what is reserved and filled (`status` kWanted) visible; its status becomes kOk.
  void publish();
  /// Takes back everything reserved and unpublished; undecided keys get `status`.
  void take_back(wire::KeyStatus status);
  /// Takes one key's reservation back.
  void drop(PutItem& item, wire::KeyStatus status);
  std::vector<wire::PutResult> results() const;
  /// Adds the outcomes to the node's metrics; once, at the end.
  void count_results() const;

 private:
  bool take_share(Bytes bytes);
  void lend(PutItem& item, ReserveItem& ask, Bytes& left);
  void decide(PutItem& item, const ReserveItem& answer);
  void publish_one(PutItem& item);
  void note_use(const PutItem& item);
  void add_abort(const PutItem& item);
  void send_aborts();

  Session& session_;
  NamespaceRef ns_;
  std::uint64_t request_;
  std::uint64_t op_;
  int calls_ = 0;
  std::shared_ptr<std::atomic<bool>> given_up_ = std::make_shared<std::atomic<bool>>(false);
  bool abandoned_ = false;  ///< answers that still come are taken back
  wire::KeyStatus abandoned_as_ = wire::KeyStatus::kCancelled;
  std::vector<PutItem> items_;
  Bytes held_;  ///< of what tenants share, until the put is over
  std::vector<std::shared_ptr<AbortNote>> aborts_;  ///< by shard
};

}  // namespace larder
