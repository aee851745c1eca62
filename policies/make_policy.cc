#include "policies/make_policy.h"

#include <array>

#include "absl/strings/str_join.h"

#include "policies/fifo_policy.h"
#include "policies/haz_policy.h"
#include "policies/lfu_policy.h"
#include "policies/lru_policy.h"
#include "policies/s3fifo_policy.h"
#include "policies/sieve_policy.h"
#include "policies/watermark_policy.h"

namespace larder {

namespace {

using Make = std::unique_ptr<EvictionPolicy> (*)();

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

}  // namespace larder
