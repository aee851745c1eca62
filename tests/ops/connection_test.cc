#include "ops/connection.h"

#include <boost/test/unit_test.hpp>

#include "ops/report.h"

namespace larder::connection_test {

BOOST_AUTO_TEST_SUITE(exit_codes)

BOOST_AUTO_TEST_CASE(every_status_has_its_exit_code) {
  using absl::StatusCode;
  const struct {
    StatusCode code;
    int exit;
  } cases[] = {{StatusCode::kOk, 0},
               {StatusCode::kInvalidArgument, 2},
               {StatusCode::kNotFound, 2},
               {StatusCode::kOutOfRange, 2},
               {StatusCode::kUnavailable, 3},
               {StatusCode::kDeadlineExceeded, 3},
               {StatusCode::kResourceExhausted, 3},  // sessions, descriptors, quotas
               {StatusCode::kCancelled, 4},
               {StatusCode::kUnknown, 4},
               {StatusCode::kAlreadyExists, 4},
               {StatusCode::kPermissionDenied, 4},
               {StatusCode::kFailedPrecondition, 4},
               {StatusCode::kAborted, 4},
               {StatusCode::kUnimplemented, 4},
               {StatusCode::kInternal, 4},
               {StatusCode::kDataLoss, 4},
               {StatusCode::kUnauthenticated, 4}};
  for (const auto& one : cases) {
    const absl::Status status(one.code, "why");
    BOOST_TEST(static_cast<int>(exit_code_of(status)) == one.exit, status);
  }
}

BOOST_AUTO_TEST_CASE(every_answer_of_a_key_has_its_exit_code) {
  const struct {
    KeyStatus status;
    int exit;
  } cases[] = {{KeyStatus::kOk, 0},        {KeyStatus::kPresent, 0},  {KeyStatus::kMiss, 1},
               {KeyStatus::kPending, 1},   {KeyStatus::kCorrupt, 1},  {KeyStatus::kSizeMismatch, 2},
               {KeyStatus::kInvalid, 2},   {KeyStatus::kNoSpace, 3},  {KeyStatus::kBusy, 3},
               {KeyStatus::kRefused, 3},   {KeyStatus::kDeadline, 3}, {KeyStatus::kUnavailable, 3},
               {KeyStatus::kCancelled, 4}, {KeyStatus::kFault, 4},    {KeyStatus::kWanted, 4}};
  for (const auto& one : cases)
    BOOST_TEST(static_cast<int>(exit_code_of(one.status)) == one.exit, word_of(one.status));
}

BOOST_AUTO_TEST_CASE(an_error_is_an_object_of_code_and_message) {
  BOOST_TEST(error_json(absl::UnavailableError("no \"larderd\"\n")) ==
             "{\"error\":{\"code\":\"UNAVAILABLE\",\"message\":\"no \\\"larderd\\\"\\n\"}}\n");
  BOOST_TEST(error_json(absl::InternalError("\xff")).find("INTERNAL") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace larder::connection_test
