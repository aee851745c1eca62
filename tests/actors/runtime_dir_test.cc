#include "actors/runtime_dir.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <boost/test/unit_test.hpp>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/temp_dir.h"

namespace larder::runtime_dir_test {

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

BOOST_AUTO_TEST_CASE(nobody_is_told_to_change_a_directory_that_is_not_larderds_alone) {
  const auto advice = [this] { return std::string(RuntimeDir::lock(dir).status().message()); };
  BOOST_REQUIRE(::chmod(dir.c_str(), 0777) == 0);
  BOOST_TEST(advice().find("chmod 700 " + dir) != std::string::npos);

  std::ofstream(dir + "/of-somebody");
  BOOST_TEST(advice().find("chmod") == std::string::npos);
  BOOST_TEST(advice().find("choose another --runtime-dir") != std::string::npos);
  BOOST_REQUIRE(::chmod(dir.c_str(), 01777) == 0);
  std::filesystem::remove(dir + "/of-somebody");
  BOOST_TEST(advice().find("chmod") == std::string::npos);
  BOOST_TEST(advice().find("remove") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_identity_stays_counts_starts_and_is_refused_when_damaged) {
  std::string id;
  for (std::uint64_t start = 1; start <= 3; ++start) {
    const auto locked = RuntimeDir::lock(dir);
    BOOST_REQUIRE(locked.ok());
    BOOST_TEST(locked->incarnation() == start);
    if (start == 1) id = locked->node_id();
    BOOST_TEST(locked->node_id() == id);
  }
  for (const std::string& text : {std::string("\xff\xfe\x00garbage", 10),
                                  std::string("not-a-uuid 3\n"), id, id + " x\n", std::string()}) {
    std::ofstream(dir + "/node", std::ios::trunc) << text;
    const auto locked = RuntimeDir::lock(dir);
    BOOST_TEST((locked.status().code() == absl::StatusCode::kDataLoss));
    BOOST_TEST(std::string(locked.status().message()).find("remove the file") != std::string::npos);
  }
  std::filesystem::remove(dir + "/node");
  BOOST_TEST(RuntimeDir::lock(dir).ok());
}

BOOST_AUTO_TEST_CASE(a_second_daemon_is_refused_whatever_is_removed) {
  const auto first = RuntimeDir::lock(dir);
  BOOST_REQUIRE(first.ok());
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    std::filesystem::remove(entry);
  BOOST_TEST((RuntimeDir::lock(dir).status().code() == absl::StatusCode::kFailedPrecondition));
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

}  // namespace larder::runtime_dir_test
