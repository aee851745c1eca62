#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "client/copy_pace.h"
#include "client/regions.h"
#include "store/types.h"
#include "transport/control_page.h"
#include "transport/frame_head.h"
#include "transport/frame_reader.h"
#include "transport/frame_writer.h"
#include "transport/records.h"
#include "transport/slab_map.h"

namespace larder {

class Operation;

/// What the client counts; Client::Stats shows it.
struct Counters {
  std::uint64_t reconnects = 0, gets = 0, puts = 0, hits = 0, misses = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0, stale_generations = 0, checksum_errors = 0;
};

/// What outlives a connection and every connection uses. Owned by the engine.
struct Shared {
  RegionTable regions;
  Staging staging;
  CopyPace pace;
  Counters counters;
  std::atomic<std::uint64_t> last_frame_id{0};  ///< of any thread
  bool allow_attach = true;
};

/// What the daemon said in its Hello.
struct LinkTerms {
  std::uint64_t session = 0;
  std::string tenant;
  std::string node;
  std::uint64_t incarnation = 0;
  std::uint32_t batch_keys = 0;
  std::uint32_t match_units = 0;
  std::uint64_t inline_put_bytes = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t stream_credits = 0;
  Duration heartbeat{0};
  Duration lease{0};
  std::uint32_t batches = 0;
  bool shm = false;
  bool attach = false;
  std::string attach_reason;
};

/// One live connection: stream, terms, the calls under way on it, its slabs and control words.
///
/// Dies with the connection; a reconnect makes a new one. Not thread-safe: the engine's lock holds
/// it (polling the descriptor apart).
class Link {
 public:
  /// Without a stream of its own the socket is used as it is.
  Link(Fd fd, std::unique_ptr<ByteStream> stream, Shared& shared)
      : fd_(std::move(fd)), stream_(std::move(stream)), shared_(&shared) {
    if (!stream_) stream_ = std::make_unique<SocketStream>(fd_.get());
  }

  int fd() const { return fd_.get(); }
  ReadResult read(std::size_t& budget) { return reader_.read(*stream_, budget); }
  IoResult flush(std::size_t& budget) { return writer_.flush(*stream_, budget); }
  bool wants_write() const { return !writer_.empty() || stream_->unsent(); }
  FrameReader& reader() { return reader_; }
  FrameWriter& writer() { return writer_; }
  Shared& shared() { return *shared_; }
  LinkTerms terms;

  // -- sending ------------------------------------------------------------------------------------
  std::uint64_t new_id() { return ++shared_->last_frame_id; }
  /// Queues a frame; RESOURCE_EXHAUSTED when the queue is full.
  absl::Status send(OutFrame frame);
  /// A frame whose answer, if any, nobody awaits.
  void tell(FrameType type, const google::protobuf::MessageLite& body);
  void tell_cancel(std::uint64_t id);
  /// The lease of a get's batch ends; sent with the next frame or by the background.
  void release(std::uint64_t get_id) { releases_.push_back(get_id); }
  bool has_releases() const { return !releases_.empty(); }
  void queue_releases();
  /// Of blocks that came with other bytes than their checksum: the daemon looks at its own, and
  /// quarantines what is bad. Nobody waits for what it answers.
  void ask_to_verify(NamespaceId ns, std::span<const wire::KeyRecord> keys);

  // -- calls under way ----------------------------------------------------------------------------
  /// Replies and data of `id` go to `op` until forget(id).
  void expect(std::uint64_t id, std::shared_ptr<Operation> op) { calls_[id] = std::move(op); }
  void forget(std::uint64_t id) { calls_.erase(id); }
  std::shared_ptr<Operation> call(std::uint64_t id) const;

  // -- control words ------------------------------------------------------------------------------
  void set_page(ControlPage page);
  ControlPage& page() { return *page_; }
  std::optional<std::uint32_t> take_word();

  /// What a put holds until its reply: its control word and staged bytes.
  struct Held {
    std::uint32_t word = 0;
    bool has_word = false;
    std::uint64_t staged_offset = 0;
    std::uint64_t staged_bytes = 0;
    std::uint32_t own_region = 0;  ///< a region made for this put alone
  };
  void give_back(const Held& held);
  /// A put that was given up keeps what it holds until its reply comes.
  void bury(std::uint64_t id, const Held& held) { buried_[id] = held; }
  /// A reply that no operation waits for: of a put that was given up, or of a region.
  void on_own_reply(const FrameReader::Frame& frame);
  /// The connection is over: everything staged is free again.
  void give_back_buried();

  // -- regions and slabs --------------------------------------------------------------------------
  /// True when the daemon has mapped the region; asks it to, once, and answers false until it has
  /// said something: stalled operations are resumed then. An error when it refused.
  absl::StatusOr<bool> map_region(const Region& region);
  /// What was refused is asked for again when it is needed next.
  void forget_refusals();
  bool take_region_answered() { return std::exchange(region_answered_, false); }
  void on_slab_notice(FrameReader::Frame& frame);
  void on_slab_retired(const FrameReader::Frame& frame);
  std::shared_ptr<const SlabMap> slab(SlabId id) const;

  /// Whose memory the payload under way goes to.
  std::shared_ptr<Operation> payload_owner;
  /// Have payload to send, in the order in which it is sent: the first that has credits is first.
  std::vector<std::shared_ptr<Operation>> senders;
  /// Wait for staging memory, or for a region to be mapped.
  std::vector<std::shared_ptr<Operation>> stalled;
  Time sent_at;
  Time received_at;
  /// The stream is lost: nothing sent will arrive. Control words still decide.
  bool dead = false;

 private:
  Fd fd_;
  std::unique_ptr<ByteStream> stream_;
  Shared* shared_;
  FrameReader reader_;
  FrameWriter writer_;
  absl::flat_hash_map<std::uint64_t, std::shared_ptr<Operation>> calls_;
  absl::flat_hash_map<std::uint64_t, Held> buried_;
  absl::flat_hash_map<std::uint32_t, std::shared_ptr<const SlabMap>> slabs_;
  std::optional<ControlPage> page_;
  std::vector<std::uint32_t> free_words_;
  std::vector<std::uint64_t> releases_;
  struct AskedRegion {
    std::uint64_t frame = 0;
    std::optional<absl::Status> answer;
  };
  absl::flat_hash_map<std::uint32_t, AskedRegion> asked_regions_;
  bool region_answered_ = false;
};

}  // namespace larder
