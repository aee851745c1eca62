#pragma once

#include <memory>

#include "client/client.h"
#include "client/get_shm.h"

namespace larder {

class Engine;

/// The lease that the views of one call share: given back with the last of them.
class ViewBatch {
 public:
  ViewBatch(std::shared_ptr<Engine> engine, std::uint64_t get)
      : engine_(std::move(engine)), get_(get) {}
  ~ViewBatch();
  ViewBatch(const ViewBatch&) = delete;
  ViewBatch& operator=(const ViewBatch&) = delete;

 private:
  std::shared_ptr<Engine> engine_;
  std::uint64_t get_ = 0;
};

struct View::Impl {
  KeyStatus status = KeyStatus::kMiss;
  ShmHit hit;
  std::shared_ptr<ViewBatch> batch;
};

}  // namespace larder
