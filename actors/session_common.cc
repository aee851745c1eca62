// What a session has of what all sessions share in number.

#include <fmt/format.h>

#include "actors/session.h"
#include "actors/session_limits.h"

namespace larder {

/// A frame that is not here whole has memory of the node's. One that has no room for it goes by,
/// and is refused once it has.
void Session::count_reader() {
  if (in_steps_) return;  // its frame stays, and is counted
  reader_.trim();
  if (charge_reader(reader_.memory())) return;
  absl::Status why = absl::ResourceExhaustedError(
      fmt::format("frame: {} bytes of it are here: {}", reader_.memory(),
                  node_.why_not(*charged_, Common::kFrameBytes)));
  if (!reader_.in_head()) return fail(why);
  no_room_ = std::move(why);
  reader_.discard_head();
  charge_reader(reader_.memory());
}

/// False: so much is not left, and nothing has changed. Less is always there.
bool Session::charge_reader(std::uint64_t bytes) {
  if (bytes <= kFrameBytesFree) bytes = 0;
  TenantUse& owner = tenant_ != nullptr ? *tenant_ : node_.nobody;
  if (charged_ != &owner || bytes < charged_bytes_) {
    const std::uint64_t left = charged_ == &owner ? bytes : 0;
    if (charged_bytes_ > 0) {
      node_.commons.give(*charged_, Common::kFrameBytes, charged_bytes_ - left);
    }
    charged_ = &owner;
    charged_bytes_ = left;
  }
  if (bytes == charged_bytes_) return true;
  if (!node_.take(owner, Common::kFrameBytes, bytes - charged_bytes_)) return false;
  charged_bytes_ = bytes;
  return true;
}

/// Those that have lapsed by `now`.
void Session::forget_claims(Time now) {
  std::erase_if(claims_, [this, now](const auto& batch) {
    if (batch.first > now) return false;
    node_.commons.give(*tenant_, Common::kClaims, batch.second);
    return true;
  });
}

std::uint64_t Session::claims() const {
  std::uint64_t open = 0;
  for (const auto& [deadline, count] : claims_)
    open += count;
  return open;
}

}  // namespace larder
