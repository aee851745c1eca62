#include "transport/own_directory.h"

#include <filesystem>
#include <string>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/temp_dir.h"

namespace larder::own_directory_test {

namespace {

constexpr uid_t kNobody = 65534;

struct Place {
  absl::Status check(const std::string& path, bool root_may_own = false, bool linked = false) {
    return check_own_directory(path, {.name = "directory " + path,
                                      .remedy = "choose another",
                                      .root_may_own = root_may_own,
                                      .may_be_linked_to = linked});
  }
  bool refused(const std::string& path, const std::string& found, bool linked = false) {
    const absl::Status status = check(path, false, linked);
    const std::string message(status.message());
    BOOST_TEST_MESSAGE(message);
    return absl::IsPermissionDenied(status) && message.find(path) != std::string::npos &&
           message.find(found) != std::string::npos &&
           message.find("choose another") != std::string::npos;
  }
  test::TempDir temp;
  const std::string& dir = temp.path();
  const std::string self = "uid " + std::to_string(::geteuid());
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(own_directory, Place)

BOOST_AUTO_TEST_CASE(one_that_only_we_may_write_in_is_good) {
  BOOST_TEST(check(dir).ok());
  BOOST_REQUIRE(::chmod(dir.c_str(), 0755) == 0);
  BOOST_TEST(check(dir).ok());
}

BOOST_AUTO_TEST_CASE(one_that_others_may_write_in_is_refused_with_mode_and_owner) {
  for (const mode_t mode : {0777U, 0770U, 01777U, 0702U}) {
    BOOST_REQUIRE(::chmod(dir.c_str(), mode) == 0);
    BOOST_TEST(refused(dir, self));
  }
  BOOST_REQUIRE(::chmod(dir.c_str(), 0700) == 0);
}

BOOST_AUTO_TEST_CASE(a_link_is_refused_unless_links_are_allowed) {
  std::filesystem::create_directory(dir + "/ours");
  std::filesystem::permissions(dir + "/ours", std::filesystem::perms::owner_all);
  BOOST_REQUIRE(::symlink((dir + "/ours").c_str(), (dir + "/link").c_str()) == 0);
  BOOST_REQUIRE(::symlink("/nowhere", (dir + "/dangling").c_str()) == 0);

  BOOST_TEST(refused(dir + "/link", "symbolic link, of " + self));
  BOOST_TEST(refused(dir + "/dangling", "symbolic link"));
  BOOST_TEST(check(dir + "/link", false, true).ok());
}

BOOST_AUTO_TEST_CASE(what_is_no_directory_is_refused_and_what_is_not_there_is_not_found) {
  BOOST_TEST(refused(temp.file("f", ""), "no directory"));
  BOOST_TEST(absl::IsNotFound(check(dir + "/absent")));
  BOOST_TEST(absl::IsNotFound(check(dir + "/absent/below")));
}

BOOST_AUTO_TEST_CASE(one_of_another_owner_is_refused_by_his_uid) {
  if (::geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: only root can give a directory away");
    return;
  }
  BOOST_REQUIRE(::chown(dir.c_str(), kNobody, kNobody) == 0);
  BOOST_TEST(refused(dir, "belongs to uid 65534, must belong to uid 0"));

  BOOST_REQUIRE(::chown(dir.c_str(), 0, 0) == 0);
  BOOST_REQUIRE(::seteuid(kNobody) == 0);
  const absl::Status as_other = check_own_directory(dir, {.name = "d", .remedy = "r"});
  const bool roots = check(dir, true).ok();
  BOOST_REQUIRE(::seteuid(0) == 0);
  BOOST_TEST(absl::IsPermissionDenied(as_other));
  BOOST_TEST(roots);
}

BOOST_AUTO_TEST_CASE(a_named_user_may_own_it_if_the_rule_says_so) {
  if (::geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: only root can give a directory away");
    return;
  }
  BOOST_REQUIRE(::chown(dir.c_str(), kNobody, kNobody) == 0);
  const auto check_for = [this](const std::string& user) {
    return check_own_directory(dir, {.name = "d", .remedy = "r", .user_may_own = user});
  };
  BOOST_TEST(check_for("nobody").ok());
  BOOST_TEST(absl::IsPermissionDenied(check_for("no-such-user")));
  BOOST_TEST(absl::IsPermissionDenied(check_for("daemon")));
  BOOST_TEST(std::string(check_for("daemon").message()).find("or user daemon") !=
             std::string::npos);

  BOOST_REQUIRE(::chmod(dir.c_str(), 0777) == 0);
  BOOST_TEST(absl::IsPermissionDenied(check_for("nobody")));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::own_directory_test
