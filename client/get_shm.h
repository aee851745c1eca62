#pragma once

#include <memory>
#include <vector>

#include "client/get.h"
#include "transport/guarded_copy.h"

namespace larder {

/// What a batch got over shared memory gives its keys: where each hit stands.
struct ShmHit {
  std::shared_ptr<const SlabMap> slab;
  const std::byte* data = nullptr;
  wire::GetResult result;
};

/// A get over shared memory: the reply leases the blocks; work() copies them from the slabs into
/// the caller's buffers, re-reads each generation after its copy, and the lease is released.
class ShmGet final : public Get {
 public:
  ShmGet(Request request, Duration deadline) : Get(std::move(request), deadline, Mode::kShm) {}

  void on_reply(Link& link, FrameReader::Frame& frame) override;
  void give_up(Link* link, absl::StatusCode code, std::string message) override;
  bool wants_work() const override { return copy_pending_; }
  void work() override;
  void worked(Link* link) override;

  /// After an OK end of a view: one a key.
  std::vector<ShmHit>& hits() { return hits_; }
  /// Id of the lease.
  std::uint64_t lease() const { return frame_; }
  bool leased() const { return leased_; }

 private:
  KeyStatus locate(const Link& link, std::size_t key, const wire::GetResult& result);
  KeyStatus copy_key(std::size_t key);
  bool copy_pieces(std::size_t key, Checksum* sum);

  std::vector<ShmHit> hits_;
  bool leased_ = false;
  bool copy_pending_ = false;
  std::uint64_t stale_ = 0;
};

}  // namespace larder
