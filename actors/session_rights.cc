// Who a session speaks for, and what it may do: by its token, or by where it comes from.

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <unistd.h>

#include "actors/session.h"
#include "actors/session_limits.h"
#include "transport/frame_name.h"
#include "transport/wire.pb.h"

namespace larder {

namespace {

constexpr const char* kDefaultTenant = "default";

enum class Right : std::uint8_t { kNone, kRead, kWrite, kAdmin };

Right right_for(FrameType type) {
  switch (type) {
    case FrameType::kMatch:
    case FrameType::kGet:
    case FrameType::kWait:
    case FrameType::kTouch:
    case FrameType::kList:
    case FrameType::kNamespaces:
      return Right::kRead;
    case FrameType::kPut:
    case FrameType::kPutStart:
    case FrameType::kPutPart:
    case FrameType::kPutEnd:
    case FrameType::kPin:
    case FrameType::kUnpin:
    case FrameType::kRemove:
    case FrameType::kRemovePrefix:
      return Right::kWrite;
    case FrameType::kSetMode:
    case FrameType::kPurge:
      return Right::kAdmin;
    case FrameType::kHello:
    case FrameType::kPing:
    case FrameType::kOpenNamespace:
    case FrameType::kRegisterRegion:
    case FrameType::kUnregisterRegion:
    case FrameType::kBeginRequest:
    case FrameType::kEndRequest:
    case FrameType::kRelease:
    case FrameType::kRenew:
    case FrameType::kCancel:
    case FrameType::kStats:
    case FrameType::kPutData:  // of a put that was allowed, or late: then it is drained
    case FrameType::kGetData:
    case FrameType::kSlabNotice:
    case FrameType::kSlabRetired:
    case FrameType::kError:
    case FrameType::kProgress:
      return Right::kNone;
  }
  return Right::kNone;
}

bool has(const TokenTable::Grant& grant, Right right) {
  switch (right) {
    case Right::kNone:
      return true;
    case Right::kRead:
      return grant.read;
    case Right::kWrite:
      return grant.write;
    case Right::kAdmin:
      return grant.admin;
  }
  return false;
}

const char* name_of(Right right) {
  constexpr std::array<const char*, 4> kNames = {"nothing", "read", "write", "admin"};
  return kNames.at(static_cast<std::size_t>(right));
}

}  // namespace

absl::Status Session::grant_access(const std::string& token) {
  tokens_version_ = node_.tokens.version();
  const TokenTable& tokens = node_.tokens.get();
  if (!token.empty()) {
    token_ = TokenTable::digest(token);
    const auto grant = tokens.find(*token_);
    if (!grant) return absl::UnauthenticatedError("token: not known to this daemon");
    grant_ = *grant;
  } else if (!tokens.empty() && !options_.is_unix) {
    return absl::UnauthenticatedError("token: needed on this address");
  } else {
    grant_.tenant = kDefaultTenant;
  }
  // Who shows a token may do what its line says, and no more.
  if (!token_) grant_.admin = is_trusted_user();
  return absl::OkStatus();
}

bool is_trusted(const PeerCredentials& peer) {
  return peer.uid == 0 || peer.uid == ::geteuid();
}

absl::Status Session::join_tenant() {
  TenantUse& tenant = node_.tenant_uses.of(grant_.tenant);
  const std::uint32_t most = node_.config().max_sessions;
  SharedPot::Bounds bounds;  // administrators come in beyond it
  bounds.all = bounds.own = std::numeric_limits<std::uint64_t>::max();
  if (node_.has_tenants() && !grant_.admin) {
    bounds = {.all = most, .own = most, .tenants = true, .times = kSessionsTimes};
  }
  if (!node_.members.take(tenant.sessions, 1, bounds)) {
    count(node_.metrics.sessions_refused);
    return absl::ResourceExhaustedError(fmt::format(
        "sessions: tenant {} has {} open, and {} of max_sessions={} are left for all; a tenant may "
        "have {} times as many as are left",
        grant_.tenant, tenant.sessions.load(),
        most - std::min<std::uint64_t>(most, node_.members.taken()), most, kSessionsTimes));
  }
  tenant_ = &tenant;
  requests_.belong_to(tenant);
  leases_.belong_to(tenant);
  regions_.belong_to(tenant);
  return absl::OkStatus();
}

void Session::check_grant() {
  if (!greeted_ || tokens_version_ == node_.tokens.version()) return;
  tokens_version_ = node_.tokens.version();
  const TokenTable& tokens = node_.tokens.get();
  if (!token_) {
    if (tokens.empty() || options_.is_unix) return;
    return fail(absl::UnauthenticatedError("token: needed on this address from now on"));
  }
  auto grant = tokens.find(*token_);
  if (!grant || grant->tenant != grant_.tenant) {
    return fail(absl::UnauthenticatedError("token: not known to this daemon any more"));
  }
  grant_ = *std::move(grant);
}

absl::Status Session::check_right(const Call& call) const {
  const Right right = right_for(call.type);
  if (has(grant_, right)) return absl::OkStatus();
  return absl::PermissionDeniedError(fmt::format("right: {} needs {}, which the {} has not",
                                                 name_of(call.type), name_of(right),
                                                 token_ ? "token" : "session"));
}

}  // namespace larder
