#pragma once

#include <mutex>

#include "absl/base/thread_annotations.h"

namespace larder {

/// std::mutex with Abseil's thread annotations. Not absl::Mutex: the packaged Abseil is built
/// without ThreadSanitizer, which then takes whatever that guards for a race.
class ABSL_LOCKABLE Mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  bool try_lock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for its scope.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* mutex_;
};

/// Lets go, at the end of its scope, of a Mutex that is locked already.
class ABSL_SCOPED_LOCKABLE MutexAdopter {
 public:
  explicit MutexAdopter(Mutex* mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) : mutex_(mutex) {}
  ~MutexAdopter() ABSL_UNLOCK_FUNCTION() { mutex_->unlock(); }
  MutexAdopter(const MutexAdopter&) = delete;
  MutexAdopter& operator=(const MutexAdopter&) = delete;

 private:
  Mutex* mutex_;
};

}  // namespace larder
