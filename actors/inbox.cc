#include "actors/inbox.h"

#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "store/assert.h"

namespace larder {

namespace {

/// An abort that is not taken would come again.
void forget(const Inbox::Item& item) {
  if (const auto* note = std::get_if<std::shared_ptr<const AbortNote>>(&item)) {
    (*note)->done = true;
  }
}

}  // namespace

Inbox::Inbox() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  LARDER_ASSERT(event_.get() >= 0);
}

Inbox::~Inbox() {
  std::vector<Item> left;  // goes last: what it posts is dropped
  MutexLock lock(&mutex_);
  closed_ = true;
  left.swap(items_);
}

void Inbox::post(Item item) {
  {
    MutexLock lock(&mutex_);
    if (closed_) return forget(item);
    items_.push_back(std::move(item));
  }
  pending_.store(true, std::memory_order_seq_cst);
  if (!sleeping_.exchange(false, std::memory_order_seq_cst)) return;
  const std::uint64_t one = 1;
  // Cannot fail but by overflow, and then the descriptor is readable anyway.
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

std::vector<Inbox::Item> Inbox::take() {
  std::vector<Item> taken;
  if (empty()) return taken;
  MutexLock lock(&mutex_);
  pending_.store(false, std::memory_order_relaxed);
  taken.swap(items_);
  return taken;
}

bool Inbox::prepare_sleep() {
  sleeping_.store(true, std::memory_order_seq_cst);
  if (!pending_.load(std::memory_order_seq_cst)) return true;
  sleeping_.store(false, std::memory_order_relaxed);
  return false;
}

void Inbox::awake() {
  sleeping_.store(false, std::memory_order_relaxed);
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
}

}  // namespace larder
