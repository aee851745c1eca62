#include "transport/frame_writer.h"

#include <algorithm>
#include <array>

#include "store/assert.h"
#include "store/limits.h"

namespace larder {
namespace {

constexpr std::size_t kPiecesMax = 64;
/// Stands in for a payload whose owner has left.
constexpr std::array<std::byte, limits::kFramePayloadMax.count> kZeros{};

std::size_t payload_size(const OutFrame& frame) {
  std::size_t total = 0;
  for (const iovec& piece : frame.payload)
    total += piece.iov_len;
  return total;
}

}  // namespace

bool FrameWriter::push(OutFrame frame) {
  if (head_bytes_ + frame.head.size() > kQueueMax) return false;
  const std::size_t payload = payload_size(frame);
  LARDER_ASSERT(payload <= limits::kFramePayloadMax.count);
  head_bytes_ += frame.head.size();
  payload_bytes_ += payload;
  Entry entry{.frame = std::move(frame)};
  entry.total = entry.frame.head.size() + payload;
  (payload > 0 ? bulk_ : control_).push_back(std::move(entry));
  return true;
}

/// The queue whose front goes next.
std::deque<FrameWriter::Entry>& FrameWriter::queue_to_send() {
  const bool bulk_begun = !bulk_.empty() && bulk_.front().done > 0;
  return bulk_begun || control_.empty() ? bulk_ : control_;
}

/// False when `pieces` or `room` are full.
bool FrameWriter::gather_entry(const Entry& entry, std::size_t& room,
                               absl::InlinedVector<iovec, 64>& pieces) {
  std::size_t skip = entry.done;
  const auto add = [&](const void* data, std::size_t length) {
    if (skip >= length) {
      skip -= length;
      return true;
    }
    if (room == 0 || pieces.size() == kPiecesMax) return false;
    const std::size_t n = std::min(room, length - skip);
    pieces.push_back({const_cast<std::byte*>(static_cast<const std::byte*>(data)) + skip, n});
    room -= n;
    const bool whole = n == length - skip;
    skip = 0;
    return whole;
  };
  if (!add(entry.frame.head.data(), entry.frame.head.size())) return false;
  return std::all_of(entry.frame.payload.begin(), entry.frame.payload.end(),
                     [&](const iovec& piece) { return add(piece.iov_base, piece.iov_len); });
}

/// Pieces of as many frames as one sendmsg takes; descriptors only with the first byte.
std::size_t FrameWriter::gather(std::size_t budget, absl::InlinedVector<iovec, 64>& pieces,
                                std::span<const int>& fds) {
  std::size_t room = budget;
  const auto first = [&](const Entry& entry) {
    if (entry.done == 0) fds = {entry.frame.fds.data(), entry.frame.fds.size()};
    return gather_entry(entry, room, pieces);
  };
  const auto rest = [&](const std::deque<Entry>& queue, std::size_t from) {
    for (std::size_t n = from; n < queue.size(); ++n) {
      if (!queue[n].frame.fds.empty() || !gather_entry(queue[n], room, pieces)) return false;
    }
    return true;
  };
  const std::deque<Entry>& queue = queue_to_send();
  if (!first(queue.front())) return budget - room;
  if (&queue == &bulk_) {
    if (rest(control_, 0)) rest(bulk_, 1);
  } else if (rest(control_, 1)) {
    rest(bulk_, 0);
  }
  return budget - room;
}

/// Accounts for `bytes` sent, in the order in which gather() took them.
void FrameWriter::advance(std::size_t bytes) {
  while (bytes > 0) {
    std::deque<Entry>& queue = queue_to_send();
    Entry& entry = queue.front();
    const std::size_t n = std::min(bytes, entry.total - entry.done);
    entry.done += n;
    bytes -= n;
    if (entry.done < entry.total) return;
    head_bytes_ -= entry.frame.head.size();
    payload_bytes_ -= entry.total - entry.frame.head.size();
    if (entry.frame.tag != 0) sent_.push_back(entry.frame.tag);
    queue.pop_front();
  }
}

IoResult FrameWriter::flush(ByteStream& stream, std::size_t& budget) {
  while (!empty() && budget > 0) {
    absl::InlinedVector<iovec, 64> pieces;
    std::span<const int> fds;
    gather(budget, pieces, fds);
    const IoResult sent = stream.send({pieces.data(), pieces.size()}, fds);
    if (sent.state != IoState::kDone) return sent;
    advance(sent.bytes);
    budget -= std::min(budget, sent.bytes);
  }
  return empty() ? stream.flush() : IoResult{.state = IoState::kDone};
}

void FrameWriter::drop(std::uint64_t tag) {
  for (std::deque<Entry>* queue : {&control_, &bulk_}) {
    for (std::size_t n = 0; n < queue->size();) {
      Entry& entry = (*queue)[n];
      if (entry.frame.tag != tag || tag == 0) {
        ++n;
        continue;
      }
      const std::size_t payload = entry.total - entry.frame.head.size();
      if (entry.done > 0) {
        entry.frame.payload.clear();
        if (payload > 0) {
          entry.frame.payload.push_back({const_cast<std::byte*>(kZeros.data()), payload});
        }
        entry.frame.tag = 0;
        entry.frame.keep.reset();
        ++n;
        continue;
      }
      head_bytes_ -= entry.frame.head.size();
      payload_bytes_ -= payload;
      queue->erase(queue->begin() + static_cast<std::ptrdiff_t>(n));
    }
  }
}

}  // namespace larder
