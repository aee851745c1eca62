#include "client/server_address.h"

#include <boost/test/unit_test.hpp>

#include "tests/temp_dir.h"

namespace larder::server_address_test {

BOOST_AUTO_TEST_SUITE(server_address)

BOOST_AUTO_TEST_CASE(the_hosts_daemon_is_meant_only_where_the_user_has_none) {
  const test::TempDir dir;
  const std::string own = dir.path() + "/own";
  const std::string host = dir.path() + "/host";
  BOOST_TEST(server_of(own, host) == own);

  dir.file("host", "");
  BOOST_TEST(server_of(own, host) == host);

  dir.file("own", "");
  BOOST_TEST(server_of(own, host) == own);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::server_address_test
