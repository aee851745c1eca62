// What surrounds the sessions of the session fuzzer: who may do what, how the node is configured,
// and what other tenants have taken before.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>
#include <sys/stat.h>

#include "actors/session_limits.h"
#include "store/assert.h"
#include "tests/session/session_node.h"
#include "tests/temp_dir.h"

namespace larder::fuzz {

/// Chosen by the input, mostly as a node is by default. The node must outlive it.
class SessionWorld {
 public:
  SessionWorld(FuzzedDataProvider& in, sim::SessionNode& node) : in_(in), node_(node) {
    if (in_.ConsumeIntegralInRange(0, 3) != 3) return;
    configure();
    if (in_.ConsumeBool()) reload();
    if (in_.ConsumeBool()) take_most();
  }
  ~SessionWorld() {
    NodeContext& context = node_.context();
    for (const auto& [what, count] : taken_)
      context.commons.give(others_, what, count);
  }
  SessionWorld(const SessionWorld&) = delete;
  SessionWorld& operator=(const SessionWorld&) = delete;

  /// For a Hello.
  std::string token() {
    if (node_.tokens().get().empty()) return "";
    static constexpr const char* kTokens[] = {
        "the-token-of-a-reader", "the-token-of-a-writer", "the-token-of-an-administrator",
        "the-token-of-another",  "the-token-of-nobody",   ""};
    return in_.PickValueInArray(kTokens);
  }

  /// As SIGHUP does: some tokens are revoked, or have other rights.
  void reload() {
    static const std::array<TokenTable, 3> kTables = {
        table("the-token-of-a-reader default read\n"
              "the-token-of-a-writer default write\n"
              "the-token-of-an-administrator default admin\n"
              "the-token-of-another other read write\n"),
        table("the-token-of-a-reader default write\n"
              "the-token-of-an-administrator other admin\n"),
        TokenTable()};
    node_.tokens().set(kTables[in_.ConsumeIntegralInRange<std::size_t>(0, kTables.size() - 1)]);
  }

 private:
  static TokenTable table(const std::string& text) {
    const test::TempDir dir(test::kShm);
    const std::string path = dir.file("tokens", text);
    ::chmod(path.c_str(), 0600);
    auto loaded = TokenTable::load(path);
    LARDER_ASSERT(loaded.ok());
    return *std::move(loaded);
  }

  void configure() {
    static constexpr const char* kModes[] = {"on", "on", "shadow", "off"};
    Config config = node_.context().config();
    config.allow_trace_time = in_.ConsumeBool();
    config.verify_sample = in_.ConsumeIntegralInRange(0U, 2U);
    config.attach = in_.ConsumeBool() ? "auto" : "off";
    config.namespace_mode = in_.PickValueInArray(kModes);
    config.max_sessions = in_.ConsumeIntegralInRange(1U, 4U);
    config.pin_quota_percent = in_.ConsumeBool() ? 25 : 1;
    node_.set_config(config);
  }

  /// Of what all sessions share in number, little is left.
  void take_most() {
    NodeContext& context = node_.context();
    for (std::size_t n = 0; n < kCommons; ++n) {
      if (in_.ConsumeBool()) continue;
      const auto what = static_cast<Common>(n);
      const std::uint64_t most = common_max(what, context.config().host_bytes);
      const std::uint64_t left = in_.ConsumeIntegralInRange<std::uint64_t>(0, 3);
      const std::uint64_t count = most - std::min(most, left);
      if (count == 0) continue;
      LARDER_ASSERT(context.commons.take(others_, what, count, {.all = most, .own = most}));
      taken_.emplace_back(what, count);
    }
  }

  FuzzedDataProvider& in_;
  sim::SessionNode& node_;
  TenantUse others_{"others"};
  std::vector<std::pair<Common, std::uint64_t>> taken_;
};

}  // namespace larder::fuzz
