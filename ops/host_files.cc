#include "ops/host_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace larder {

HostFiles::HostFiles(std::string root) : root_(std::move(root)) {
  while (root_.ends_with('/'))
    root_.pop_back();
}

std::optional<std::string> HostFiles::text(const std::string& path) const {
  std::ifstream in(root_ + path);
  if (!in) return std::nullopt;
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::optional<std::string> HostFiles::word(const std::string& path) const {
  std::ifstream in(root_ + path);
  std::string word;
  if (!(in >> word)) return std::nullopt;
  return word;
}

std::vector<std::string> HostFiles::lines(const std::string& path) const {
  std::ifstream in(root_ + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

std::vector<std::string> HostFiles::names(const std::string& path) const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(root_ + path, error), end; !error && at != end;
       at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool HostFiles::exists(const std::string& path) const {
  std::error_code error;
  return std::filesystem::exists(root_ + path, error);
}

}  // namespace larder
