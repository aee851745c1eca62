#include "actors/runtime_dir.h"

#include <filesystem>
#include <string>

#include <boost/test/unit_test.hpp>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/temp_dir.h"

namespace larder {

namespace {

struct Place {
  test::TempDir temp;
  const std::string& dir = temp.path();
};

bool refused(const std::string& path) {
  return RuntimeDir::lock(path).status().code() == absl::StatusCode::kPermissionDenied;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(runtime_dir, Place)

BOOST_AUTO_TEST_CASE(one_that_is_made_is_its_owners_alone) {
  BOOST_TEST(RuntimeDir::lock(dir + "/a/run").ok());
  struct stat info {};
  BOOST_REQUIRE(::stat((dir + "/a/run").c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 07777U) == 0700U);
}

BOOST_AUTO_TEST_CASE(one_that_others_may_write_in_is_refused) {
  for (const mode_t mode : {0777U, 0770U, 01777U}) {
    BOOST_REQUIRE(::chmod(dir.c_str(), mode) == 0);
    BOOST_TEST(refused(dir));
  }
  BOOST_REQUIRE(::chmod(dir.c_str(), 0755) == 0);
  BOOST_TEST(RuntimeDir::lock(dir).ok());
}

BOOST_AUTO_TEST_CASE(one_of_another_owner_is_refused_and_so_is_a_link_of_one) {
  if (::geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: only root can give a directory away");
    return;
  }
  std::filesystem::create_directory(dir + "/theirs");
  BOOST_REQUIRE(::chown((dir + "/theirs").c_str(), 65534, 65534) == 0);
  BOOST_TEST(refused(dir + "/theirs"));

  std::filesystem::create_directory(dir + "/ours");
  BOOST_REQUIRE(::symlink((dir + "/ours").c_str(), (dir + "/link").c_str()) == 0);
  BOOST_TEST(RuntimeDir::lock(dir + "/link").ok());
  BOOST_REQUIRE(::lchown((dir + "/link").c_str(), 65534, 65534) == 0);
  BOOST_TEST(refused(dir + "/link"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder
