#include "actors/log_level.h"

#include <boost/test/unit_test.hpp>

namespace larder::log_level_test {

BOOST_AUTO_TEST_SUITE(log_level)

BOOST_AUTO_TEST_CASE(no_failure_hides_at_info) {
  using namespace spdlog::level;
  const struct {
    const char* line;
    level_enum level;
  } cases[] = {{"block_corrupt found_by=scrub ns=1", err},
               {"audit_lost file=/a error=\"x\"", err},
               {"reload_refused error=\"x\"", warn},
               {"audit_refused action=Hello", warn},
               {"slab_set_aside /run/slab-1.hdr", warn},
               {"namespaces_set_aside modes=lost", warn},
               {"slab_not_made slot_bytes=1", warn},
               {"slab_not_retired slab=1", warn},
               {"mode_not_kept ns=1", warn},
               {"tokens_not_there token_file=/t", warn},
               {"capacity_changed from=2 to=1 reason=pressure", warn},
               {"capacity_changed from=1 to=2 reason=room", info},
               {"shard_restarted shard=1", warn},
               {"reload_needs_restart key=shards", warn},
               {"audit action=Hello session=1", debug},
               {"audit action=Purge of_tenant=\"it_is_lost\"", info},
               {"serving socket=/s_refused", info},
               {"reloaded", info},
               {"", info}};
  for (const auto& one : cases)
    BOOST_TEST(level_of(one.line) == one.level, one.line);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::log_level_test
