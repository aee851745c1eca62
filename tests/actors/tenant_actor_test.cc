#include "actors/tenant_actor.h"

#include <boost/test/unit_test.hpp>

#include "tests/actors/deterministic_system.h"
#include "tests/actors/store_fixture.h"

namespace larder::tenant_actor_test {

namespace {

NamespaceSpec spec_with(std::uint32_t ranks) {
  NamespaceSpec spec;
  spec.fingerprint.model = "m";
  spec.unit_tokens = 16;
  spec.ranks = ranks;
  spec.groups.push_back({GroupKind::kFull, 16, 0, {}});
  return spec;
}

struct Tenants : sim::StoreFixture, sim::DeterministicSystem {
  Tenants() {
    auto table = NamespaceTable::load(dir + "/namespaces", {});
    BOOST_REQUIRE(table.ok());
    tenants = system.spawn(tenant_actor, std::make_shared<NamespaceTable>(*std::move(table)));
  }
  ~Tenants() {
    caf::anon_send_exit(tenants, caf::exit_reason::user_shutdown);
    run();
  }
  std::shared_ptr<OpenNamespaceCall> open(const std::string& tenant, std::uint32_t ranks) {
    auto call = std::make_shared<OpenNamespaceCall>();
    call->reply_to = &inbox;
    call->tenant = tenant;
    call->spec = spec_with(ranks);
    caf::anon_send(tenants, call);
    return call;
  }
  TenantHandle tenants;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tenant_actor_messages, Tenants)

BOOST_AUTO_TEST_CASE(opens_that_meet_in_the_mailbox_give_one_namespace) {
  const auto first = open("a", 2);
  const auto second = open("a", 2);
  const auto other = open("b", 2);
  run();
  BOOST_REQUIRE((first->result.ok() && second->result.ok() && other->result.ok()));
  BOOST_TEST(((*first->result)->id == (*second->result)->id));
  BOOST_TEST(((*first->result)->id != (*other->result)->id));
  BOOST_TEST((answers() == std::pair{3, 0}));
}

BOOST_AUTO_TEST_CASE(the_first_table_wins_and_the_second_is_refused) {
  const auto first = open("a", 2);
  const auto second = open("a", 4);
  run();
  BOOST_TEST(first->result.ok());
  BOOST_TEST((second->result.status().code() == absl::StatusCode::kFailedPrecondition));
}

BOOST_AUTO_TEST_CASE(an_open_that_the_actor_never_saw_is_answered_as_lost) {
  caf::anon_send_exit(tenants, caf::exit_reason::kill);
  open("a", 2);
  run();
  BOOST_TEST((answers() == std::pair{1, 1}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::tenant_actor_test
