// Namespaces as administrators see them: lists, modes, removal of all that somebody stored; and the
// audit lines of whatever changes what is stored.

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include <fmt/format.h>

#include "actors/session.h"
#include "actors/session_calls.h"
#include "actors/session_removal_op.h"
#include "store/hash_text.h"
#include "store/limits.h"
#include "transport/frame_name.h"
#include "transport/namespace_wire.h"

namespace larder {

namespace {

/// Waits for the tenant registry.
class SetModeOp : public SessionOp {
 public:
  SetModeOp(Session& session, std::uint64_t id) : session_(session), id_(id) {}
  void on_answer(ShardCall& call) override {
    done_ = true;
    const absl::Status status = call.lost ? absl::UnavailableError("the tenant registry is gone")
                                          : static_cast<SetModeCall&>(call).result;
    if (!status.ok()) return session_.reply_error(FrameType::kSetMode, id_, status);
    session_.reply(FrameType::kSetMode, id_, wire::SimpleReply());
  }
  void step(Time, std::size_t&) override {}
  bool runnable() const override { return false; }
  void on_time(Time) override {}
  void cancel() override {}  // it is as good as done
  bool done() const override { return done_; }

 private:
  Session& session_;
  std::uint64_t id_;
  bool done_ = false;  ///< only once answered: the id is not free before
};

void fill(const NamespaceInfo& ns, NamespaceMode served, wire::NamespaceRow* row) {
  row->set_id(ns.id.value());
  row->set_tenant(ns.tenant_name);
  *row->mutable_spec() = to_wire(ns.spec);
  row->set_mode(static_cast<std::uint32_t>(ns.mode->load(std::memory_order_relaxed)));
  row->set_served(static_cast<std::uint32_t>(served));
}

/// Blocks in a tenant's slabs, whether its namespaces are known or not.
std::unique_ptr<RemovalSet> set_of_tenant(const NamespaceDirectory& directory,
                                          const std::string& name) {
  return std::make_unique<FilterSet>(
      [tenant = directory.tenant_id(name)](const ScanCall::Row& row) {
        return row.tenant == tenant;
      });
}

}  // namespace

std::string for_log(const std::string& text) {
  return absl::CHexEscape(text);
}

void Session::namespaces(const Call& call) {
  wire::NamespacesRequest body;
  if (!parse(call, body)) return;
  if (body.all_tenants() && !is_admin()) {
    const absl::Status why = absl::PermissionDeniedError("all_tenants: needs admin");
    audit_refused(call.type, why);
    return refuse(call, why);
  }
  const std::uint32_t limit = body.limit() == 0
                                  ? limits::kNamespacesPageMax
                                  : std::min(body.limit(), limits::kNamespacesPageMax);
  wire::NamespacesReply answer;
  const std::string tenant = body.all_tenants() ? "" : grant_.tenant;
  for (const NamespaceRef& ns : node_.namespaces->from(NamespaceId(body.first()), tenant, limit)) {
    fill(*ns, node_.mode_of(*ns), answer.add_rows());
  }
  reply(call.type, call.id, answer);
}

void Session::set_mode(const Call& call) {
  wire::SetModeRequest body;
  if (!parse(call, body)) return;
  const auto highest = static_cast<std::uint32_t>(NamespaceMode::kOff);
  if (body.mode() > highest) {
    return refuse(call, absl::InvalidArgumentError(
                            fmt::format("mode: {}, the highest is {}", body.mode(), highest)));
  }
  auto ask = std::make_shared<SetModeCall>();
  ask->reply_to = inbox();
  ask->session = id();
  ask->op = call.id;
  ask->ns = NamespaceId(body.ns());
  ask->mode = static_cast<NamespaceMode>(body.mode());
  if (!start(call, std::make_unique<SetModeOp>(*this, call.id))) return;
  audit(call.type, fmt::format("ns={:016x} mode={}", body.ns(), name_of(ask->mode)));
  node_.tenants.send(std::move(ask));
}

void Session::purge(const Call& call) {
  wire::PurgeRequest body;
  if (!parse(call, body)) return;
  RemovalOp::Options options{.id = call.id, .type = call.type, .ns = {}};
  std::unique_ptr<RemovalSet> set;
  std::string what;
  switch (body.which_case()) {
    case wire::PurgeRequest::kNs:
      options.ns = NamespaceId(body.ns());
      set = std::make_unique<FilterSet>([](const ScanCall::Row&) { return true; });
      what = fmt::format("ns={:016x}", body.ns());
      break;
    case wire::PurgeRequest::kTenant:
      if (body.tenant().empty()) {
        return refuse(call, absl::InvalidArgumentError("tenant: is empty"));
      }
      set = set_of_tenant(*node_.namespaces, body.tenant());
      what = fmt::format("of_tenant=\"{}\"", for_log(body.tenant()));
      break;
    case wire::PurgeRequest::kWriter:
      set =
          std::make_unique<FilterSet>([writer = WriterId(body.writer())](const ScanCall::Row& row) {
            return row.writer == writer;
          });
      what = fmt::format("of_writer={:x}", body.writer());
      break;
    case wire::PurgeRequest::WHICH_NOT_SET:
      return refuse(call, absl::InvalidArgumentError("which: ns, tenant or writer must be set"));
  }
  if (absl::Status room = RemovalOp::take_place(*this); !room.ok()) return refuse(call, room);
  auto op = std::make_unique<RemovalOp>(*this, options, std::move(set));
  RemovalOp& started = *op;
  if (!start(call, std::move(op))) return;
  audit(call.type, what);
  started.start();
}

void Session::audit(FrameType what, const std::string& of_what) {
  node_.audit(fmt::format("audit action={} session={:x} tenant=\"{}\" from=\"{}\" client=\"{}\" {}",
                          name_of(what), id().value(), for_log(grant_.tenant), from_, client_,
                          of_what));
}

void Session::audit_refused(FrameType what, const absl::Status& why) {
  node_.refusals.add(
      now_, fmt::format("audit_refused action={} session={:x} tenant=\"{}\" from=\"{}\" "
                        "client=\"{}\" error=\"{}\"",
                        name_of(what), id().value(), for_log(grant_.tenant), from_, client_,
                        std::string(why.message())));
}

void Session::audit_keys(FrameType what, const NamespaceInfo& ns,
                         const std::vector<wire::KeyRecord>& records) {
  const std::string first = records.empty() ? "none" : hash_text(records.front().hash);
  audit(what, fmt::format("ns={:016x} keys={} first={}", ns.id.value(), records.size(), first));
}

}  // namespace larder
