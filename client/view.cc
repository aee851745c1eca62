#include "client/view.h"

#include "client/engine.h"

namespace larder {

ViewBatch::~ViewBatch() {
  if (!engine_->forked()) engine_->drop_lease(get_);
}

View::View() = default;
View::View(View&&) noexcept = default;
View& View::operator=(View&& other) noexcept {
  if (this != &other) {
    release();
    impl_ = std::move(other.impl_);
  }
  return *this;
}
View::~View() {
  release();
}

std::span<const std::byte> View::bytes() const {
  if (impl_ == nullptr || impl_->hit.data == nullptr) return {};
  return {impl_->hit.data, impl_->hit.result.length};
}

KeyStatus View::status() const {
  return impl_ == nullptr ? KeyStatus::kMiss : impl_->status;
}

bool View::release() {
  if (impl_ == nullptr || impl_->hit.slab == nullptr) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool valid =
      impl_->hit.slab->generation(impl_->hit.result.slot) == impl_->hit.result.generation;
  impl_->hit = {};
  impl_->batch.reset();
  return valid;
}

}  // namespace larder
