#include "actors/shard_gate.h"

namespace larder {

void ShardGate::open(ShardDesk* desk) {
  MutexLock lock(&mutex_);
  desk_ = desk;
}

void ShardGate::close() {
  open(nullptr);
}

bool ShardGate::try_here(absl::FunctionRef<void(ShardDesk&)> work) {
  // Acquire: of a message that is not counted any more, all that the actor did is seen.
  if (waiting_.load(std::memory_order_acquire) != 0 || !mutex_.try_lock()) return false;
  const MutexAdopter lock(&mutex_);
  if (desk_ == nullptr) return false;
  work(*desk_);
  return true;
}

void ShardGate::at_desk(absl::FunctionRef<void()> work) {
  MutexLock lock(&mutex_);
  work();
}

}  // namespace larder
