#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"

namespace larder {

/// What a command answers: single values, then rows of a table; as text for people, as one JSON
/// object for scripts. Names are the JSON keys in both.
class Report {
 public:
  using Value = std::variant<bool, std::uint64_t, double, std::string>;
  using Row = std::vector<std::pair<std::string, Value>>;

  void add(std::string name, Value value) {
    values_.emplace_back(std::move(name), std::move(value));
  }
  /// Names the array of rows in JSON; it is there (empty) even when no row is added.
  void name_rows(std::string name) { rows_name_ = std::move(name); }
  /// Rows have the same names in the same order.
  void add_row(Row row) { rows_.push_back(std::move(row)); }

  std::string json() const;
  std::string text() const;
  /// To standard output.
  void print(bool as_json) const;

 private:
  Row values_;
  std::string rows_name_;
  std::vector<Row> rows_;
};

/// {"error": {"code": "UNAVAILABLE", "message": …}} and a line's end: what a command answers with
/// --json when it has nothing else to say.
std::string error_json(const absl::Status& why);

}  // namespace larder
