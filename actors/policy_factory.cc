#include "actors/policy_factory.h"

#include <utility>

#include "absl/container/flat_hash_map.h"

#include "policies/haz_policy.h"
#include "policies/make_policy.h"
#include "store/mutex.h"

namespace larder {

namespace {

/// One a tenant: what its blocks are like is nothing that others' blocks tell.
class ReuseBoards {
 public:
  std::shared_ptr<ReuseBoard> of(TenantId tenant) {
    MutexLock lock(&mutex_);
    std::shared_ptr<ReuseBoard>& board = boards_[tenant];
    if (board == nullptr) board = std::make_shared<ReuseBoard>();
    return board;
  }

 private:
  Mutex mutex_;
  absl::flat_hash_map<TenantId, std::shared_ptr<ReuseBoard>> boards_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<PolicyFactory> policy_factory(const std::string& name) {
  if (name == "haz") {
    return PolicyFactory([boards = std::make_shared<ReuseBoards>()](TenantId tenant) {
      return std::make_unique<HazPolicy>(boards->of(tenant));
    });
  }
  if (const auto tried = make_policy(name); !tried.ok()) return tried.status();
  return PolicyFactory([name](TenantId) { return *make_policy(name); });
}

}  // namespace larder
