#include "policies/make_policy.h"

#include <array>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"

#include "policies/fifo_policy.h"
#include "policies/haz_policy.h"
#include "policies/lfu_policy.h"
#include "policies/lru_policy.h"
#include "policies/s3fifo_policy.h"
#include "policies/sieve_policy.h"
#include "policies/watermark_policy.h"
#include "store/mutex.h"

namespace larder {

namespace {

using Make = std::unique_ptr<EvictionPolicy> (*)();

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

template <class Policy>
std::unique_ptr<EvictionPolicy> make() {
  return std::make_unique<Policy>();
}

struct Named {
  std::string_view name;
  Make make;
};
constexpr std::array<Named, 7> kPolicies = {{{"haz", make<HazPolicy>},
                                             {"lru", make<LruPolicy>},
                                             {"s3fifo", make<S3FifoPolicy>},
                                             {"sieve", make<SievePolicy>},
                                             {"lfu", make<LfuPolicy>},
                                             {"fifo", make<FifoPolicy>},
                                             {"watermark", make<WatermarkPolicy>}}};

}  // namespace

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Named& policy : kPolicies)
    names.emplace_back(policy.name);
  return names;
}

absl::StatusOr<std::unique_ptr<EvictionPolicy>> make_policy(std::string_view name) {
  for (const Named& policy : kPolicies) {
    if (policy.name == name) return policy.make();
  }
  return absl::InvalidArgumentError("policy is " + std::string(name) + ", must be one of " +
                                    absl::StrJoin(policy_names(), ", "));
}

absl::StatusOr<PolicyFactory> policy_factory(std::string_view name) {
  if (name == "haz") {
    return PolicyFactory([boards = std::make_shared<ReuseBoards>()](TenantId tenant) {
      return std::make_unique<HazPolicy>(boards->of(tenant));
    });
  }
  if (const auto tried = make_policy(name); !tried.ok()) return tried.status();
  return PolicyFactory([name = std::string(name)](TenantId) { return *make_policy(name); });
}

}  // namespace larder
