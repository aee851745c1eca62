#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace larder {

/// A value that one thread replaces as a whole while others read it: configuration, tokens.
///
/// Owns every value that it ever had, so that a reference from get() holds until the end: values
/// are small, and replaced by hand. get() and version() from any thread, set() from one.
template <class T>
class Live {
 public:
  explicit Live(T first) { set(std::move(first)); }
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  const T& get() const { return *current_.load(std::memory_order_acquire); }
  /// Grows with each set(), never before get() gives the new value.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  void set(T next) {
    all_.push_back(std::make_unique<const T>(std::move(next)));
    current_.store(all_.back().get(), std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
  }

 private:
  std::vector<std::unique_ptr<const T>> all_;
  std::atomic<const T*> current_{nullptr};
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace larder
