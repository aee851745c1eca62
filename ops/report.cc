#include "ops/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "actors/standard_streams.h"

namespace larder {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Report::Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json to_json(const Report::Row& row) {
  Json object = Json::object();
  for (const auto& [name, value] : row)
    object[name] = to_json(value);
  return object;
}

/// Names are anybody's bytes: none of them may steer the terminal or break a line of a table.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = byte < 0x20 || byte == 0x7f;
    out += control ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return out;
}

std::string to_text(const Report::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return printable(*text);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "yes" : "no";
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return fmt::format("{}", *count);
  const double number = std::get<double>(value);
  if (number == static_cast<double>(static_cast<std::int64_t>(number))) {
    return fmt::format("{:.0f}", number);
  }
  return number >= 100 ? fmt::format("{:.1f}", number) : fmt::format("{:.4g}", number);
}

std::string table(const std::vector<Report::Row>& rows) {
  if (rows.empty()) return "";
  std::vector<std::vector<std::string>> cells(1);
  for (const auto& [name, value] : rows.front())
    cells.front().push_back(name);
  for (const Report::Row& row : rows) {
    auto& line = cells.emplace_back();
    for (const auto& [name, value] : row)
      line.push_back(to_text(value));
  }
  std::string out;
  for (const auto& line : cells) {
    for (std::size_t column = 0; column < line.size(); ++column) {
      std::size_t width = 0;
      for (const auto& other : cells)
        width = std::max(width, other[column].size());
      const bool last = column + 1 == line.size();
      out += last ? line[column] : fmt::format("{:<{}}  ", line[column], width);
    }
    out += '\n';
  }
  return out;
}

}  // namespace

std::string Report::json() const {
  Json object = to_json(values_);
  if (!rows_name_.empty()) {
    object[rows_name_] = Json::array();
    for (const Row& row : rows_)
      object[rows_name_].push_back(to_json(row));
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string Report::text() const {
  std::size_t width = 0;
  for (const auto& [name, value] : values_)
    width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, value] : values_) {
    out += fmt::format("{:<{}}  {}\n", name, width, to_text(value));
  }
  if (!values_.empty() && !rows_.empty()) out += '\n';
  return out + table(rows_);
}

std::string error_json(const absl::Status& why) {
  Json object;
  object["error"] = {{"code", absl::StatusCodeToString(why.code())},
                     {"message", std::string(why.message())}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void Report::print(bool as_json) const {
  write_output(as_json ? json() : text());
}

}  // namespace larder
