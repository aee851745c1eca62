// Tokens: what each may do, and what becomes of its sessions when the table is loaded anew.

#include "tests/session/token_fixture.h"

namespace larder::rights_test {

using sim::kReader;
using sim::kWriter;
using enum absl::StatusCode;

BOOST_FIXTURE_TEST_SUITE(rights, sim::TokenFixture)

BOOST_AUTO_TEST_CASE(a_reader_changes_nothing_and_a_writer_sees_nothing) {
  Peer writer(*this, kWriter);
  Peer reader(*this, kReader);
  BOOST_TEST((writer.put(1) == kOk));
  BOOST_TEST((reader.put(2) == kPermissionDenied));
  BOOST_TEST((reader.remove(1) == kPermissionDenied));
  BOOST_TEST((reader.match(true) == kPermissionDenied));
  BOOST_TEST((reader.match(false) == kOk));
  BOOST_TEST((reader.get(1) == kOk));
  BOOST_TEST((writer.get(1) == kPermissionDenied));
  BOOST_TEST((writer.match(false) == kPermissionDenied));
  BOOST_TEST((writer.remove(1) == kOk));
  BOOST_TEST(sim::held_in(node.store()).claimed == 0U);
  BOOST_TEST(reader.session.alive());
}

BOOST_AUTO_TEST_CASE(a_table_loaded_anew_changes_rights_and_ends_what_was_revoked) {
  Peer writer(*this, kWriter);
  Peer reader(*this, kReader);
  load(fmt::format("{} t read write\n", kReader));
  writer.session.on_time(now);
  reader.session.on_time(now);
  BOOST_TEST((reader.put(2) == kOk));
  BOOST_TEST(!writer.session.alive());
  Peer again(*this, kWriter);
  BOOST_TEST((again.put(3) == kUnknown));  // no answer: it was not let in
}

BOOST_AUTO_TEST_CASE(an_administrator_by_token_is_none_when_its_line_says_so_no_more) {
  constexpr uid_t kSomebody = 12'345;
  load(fmt::format("{} t read write admin\n", kWriter));
  Peer tcp(*this, kWriter);
  Peer local(*this, kWriter, kSomebody);
  Peer root(*this, kWriter, 0);
  for (Peer* peer : {&tcp, &local, &root})
    BOOST_TEST((peer->switch_on() == kOk));
  load(fmt::format("{} t read write\n", kWriter));
  for (Peer* peer : {&tcp, &local, &root})
    peer->session.on_time(now);
  BOOST_TEST((tcp.switch_on() == kPermissionDenied));
  BOOST_TEST((local.switch_on() == kPermissionDenied));
  BOOST_TEST((root.switch_on() == kPermissionDenied));  // its uid adds nothing to a token
  Peer plain(*this, "", 0);
  BOOST_TEST((plain.switch_on() != kPermissionDenied));
}

BOOST_AUTO_TEST_CASE(a_token_of_another_tenant_now_is_not_the_session_s_any_more) {
  Peer writer(*this, kWriter);
  load(fmt::format("{} other write\n", kWriter));
  writer.session.on_time(now);
  BOOST_TEST(!writer.session.alive());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::rights_test
