#include "transport/namespace_wire.h"

#include <boost/test/unit_test.hpp>

namespace larder::namespace_wire_test {

BOOST_AUTO_TEST_SUITE(namespace_wire)

BOOST_AUTO_TEST_CASE(every_field_comes_back) {
  NamespaceSpec spec;
  spec.fingerprint = {.model = "m",
                      .revision = "r",
                      .dtype = "d",
                      .quantisation = "q",
                      .layout = "l",
                      .parallel_layout = "p",
                      .flat = true};
  spec.unit_tokens = 16;
  spec.segment_tokens = 256;
  spec.ranks = 8;
  spec.ttl = std::chrono::seconds(90);
  spec.groups = {{GroupKind::kFull, 16, 0, Bytes{4096}}, {GroupKind::kWindow, 32, 128, Bytes{0}}};

  const NamespaceSpec back = from_wire(to_wire(spec));

  BOOST_TEST((back.fingerprint == spec.fingerprint));
  BOOST_TEST(back.unit_tokens == spec.unit_tokens);
  BOOST_TEST(back.segment_tokens == spec.segment_tokens);
  BOOST_TEST(back.ranks == spec.ranks);
  BOOST_TEST((back.ttl == spec.ttl));
  BOOST_TEST((back.groups == spec.groups));
}

BOOST_AUTO_TEST_CASE(a_ttl_below_a_millisecond_is_not_for_ever) {
  NamespaceSpec spec;
  spec.ttl = std::chrono::microseconds(1);
  BOOST_TEST((from_wire(to_wire(spec)).ttl == std::chrono::milliseconds(1)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::namespace_wire_test
