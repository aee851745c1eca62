#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sys/uio.h>

namespace larder {

/// The caller's pieces of a batch, key by key, flattened. Owns the list, not the memory it names.
class BufferTable {
 public:
  BufferTable() : first_{0}, total_{} {}

  /// Adds the next key's pieces (of either buffer type).
  template <class Buffer>
  void add(std::span<const Buffer> buffers) {
    std::uint64_t sum = 0;
    for (const Buffer& buffer : buffers) {
      if (buffer.length == 0) continue;
      pieces_.push_back({const_cast<void*>(static_cast<const void*>(buffer.data)), buffer.length});
      sum += buffer.length;
    }
    first_.push_back(pieces_.size());
    total_.push_back(sum);
    bytes_ += sum;
  }

  std::size_t keys() const { return total_.size(); }
  std::span<const iovec> pieces(std::size_t key) const {
    return std::span(pieces_).subspan(first_[key], first_[key + 1] - first_[key]);
  }
  std::uint64_t length(std::size_t key) const { return total_[key]; }
  std::uint64_t bytes() const { return bytes_; }
  std::size_t piece_count() const { return pieces_.size(); }

  /// Appends the memory of [offset, offset + length) of a key to `out`.
  template <class Out>
  void slice(std::size_t key, std::uint64_t offset, std::uint64_t length, Out& out) const {
    for (const iovec& piece : pieces(key)) {
      if (length == 0) return;
      if (offset >= piece.iov_len) {
        offset -= piece.iov_len;
        continue;
      }
      const std::uint64_t room = piece.iov_len - offset;
      const std::uint64_t n = room < length ? room : length;
      out.push_back({static_cast<char*>(piece.iov_base) + offset, n});
      offset = 0;
      length -= n;
    }
  }

 private:
  std::vector<iovec> pieces_;
  std::vector<std::size_t> first_;
  std::vector<std::uint64_t> total_;
  std::uint64_t bytes_ = 0;
};

}  // namespace larder
