#pragma once

#include <vector>

#include "client/buffers.h"
#include "client/operation.h"

namespace larder {

/// A put over shared memory (whole blocks, or parts of a layer-by-layer put). The daemon reads the
/// bytes: from a registered region, else from the caller's memory by attach, else from staging
/// memory into which work() copies them, batch after batch.
///
///   plan --> [stage (stalled: memory, or its region's answer) --> work] --> sent --reply--> next
///   batch, or finished
///
/// Each batch is one frame with one control word; giving up swaps the word, and when that comes
/// too late the put has happened and is reported so.
class ShmPut final : public Operation {
 public:
  struct Request {
    NamespaceId ns;
    std::uint64_t request = 0;
    std::vector<Key> keys;  ///< `length` set; parts: empty
    BufferTable buffers;    ///< one entry a key; parts: one a part
    // Parts of a layer-by-layer put only, sorted by key, then offset:
    std::uint64_t part_of = 0;  ///< frame id of the PutStart; 0: whole blocks
    std::vector<std::uint32_t> part_keys;
    std::vector<std::uint64_t> part_offsets;
  };

  ShmPut(Request request, Duration deadline)
      : Operation(request.buffers.keys(), deadline), request_(std::move(request)) {
    mode = Mode::kShm;
  }

  absl::Status start(Link& link) override;
  void on_reply(Link& link, FrameReader::Frame& frame) override;
  void resume(Link& link) override;
  void give_up(Link* link, absl::StatusCode code, std::string message) override;
  bool wants_work() const override { return step_ == Step::kStaging; }
  void work() override;
  void worked(Link* link) override;

 private:
  enum class Step : std::uint8_t { kPlanned, kStalled, kStaging, kSent };
  struct Source {
    bool staged = false;
    std::uint32_t region = 0;
    std::uint64_t address = 0;
  };
  struct Batch {
    std::size_t begin = 0, end = 0;  ///< keys
    std::uint64_t staged = 0;        ///< bytes to stage
  };

  void plan(Link& link);
  std::uint64_t staged_bytes(std::size_t key) const;
  void next_batch(Link& link);
  absl::Status find_staging(Link& link);
  absl::Status stall(Link& link);
  void stage_key(std::size_t key, std::uint64_t& at);
  absl::Status send_batch(Link& link);
  absl::Status send_frame(Link& link, std::uint32_t word);
  std::vector<wire::PutSource> sources_of_batch();
  std::vector<std::byte> make_frame(std::uint32_t word,
                                    const std::vector<wire::PutSource>& sources) const;
  std::uint64_t sent_bytes() const;
  bool read_reply(const FrameReader::Frame& frame);
  void drop_staging(Link* link);
  void end();
  std::size_t piece_index(std::size_t key) const { return first_piece_[key]; }

  Request request_;
  std::vector<Source> sources_;  ///< one a piece
  std::vector<std::size_t> first_piece_;
  std::vector<Batch> batches_;
  std::size_t batch_ = 0;
  std::vector<std::uint32_t> sent_keys_;  ///< of the batch under way
  Step step_ = Step::kPlanned;

  Shared* shared_ = nullptr;
  Link::Held held_;
  Region own_region_;  ///< for a block larger than the staging memory
  std::byte* staging_base_ = nullptr;
  std::uint32_t staging_region_ = 0;
  std::uint64_t frame_ = 0;
  bool committed_ = false;
};

}  // namespace larder
