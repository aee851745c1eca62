#include "ops/name_commands.h"

#include <algorithm>

#include "ops/report.h"
#include "store/chain.h"
#include "store/status_macros.h"

namespace larder {
namespace {

std::vector<Key> keys_of(const std::vector<std::string>& names) {
  std::vector<Key> keys;
  for (const std::string& name : names)
    keys.push_back(flat_key(name, 0));
  return keys;
}

/// One row a name; `done` is the word for success.
absl::StatusOr<ExitCode> answer(const std::vector<std::string>& names, const Completion& completion,
                                const char* done, bool json) {
  LARDER_RETURN_IF_ERROR(status_of(completion));
  Report report;
  report.name_rows("names");
  ExitCode worst = ExitCode::kOk;
  for (std::size_t n = 0; n < names.size(); ++n) {
    const KeyStatus status = completion.keys.at(n);
    worst = std::max(worst, exit_code_of(status));
    report.add_row(
        {{"name", names[n]}, {"status", status == KeyStatus::kOk ? done : word_of(status)}});
  }
  report.print(json);
  return worst;
}

const char* state_word(MatchState state) {
  switch (state) {
    case MatchState::kAbsent:
      return "absent";
    case MatchState::kPresent:
      return "present";
    case MatchState::kPending:
      return "pending";
    case MatchState::kClaimed:
      return "claimed";
  }
  return "unknown";
}

}  // namespace

absl::StatusOr<ExitCode> run(const MatchCommand& command) {
  LARDER_ASSIGN_OR_RETURN(const OpenTarget open, open_target(command.target));
  std::vector<BlockHash> hashes;
  for (const std::string& name : command.names)
    hashes.push_back(flat_hash(name));
  LARDER_ASSIGN_OR_RETURN(const auto states, open.client->match_flat(open.ns, hashes));
  Report report;
  report.name_rows("names");
  bool all = true;
  for (std::size_t n = 0; n < hashes.size(); ++n) {
    all = all && states.at(n) == MatchState::kPresent;
    report.add_row({{"name", command.names[n]}, {"status", state_word(states[n])}});
  }
  report.print(command.target.json);
  return all ? ExitCode::kOk : ExitCode::kMiss;
}

absl::StatusOr<ExitCode> run(const PinCommand& command) {
  LARDER_ASSIGN_OR_RETURN(const OpenTarget open, open_target(command.target));
  const std::vector<Key> keys = keys_of(command.names);
  const Completion done =
      command.unpin ? open.client->unpin(open.ns, keys)
                    : open.client->pin(open.ns, keys, std::chrono::seconds(command.ttl_seconds));
  return answer(command.names, done, command.unpin ? "unpinned" : "pinned", command.target.json);
}

absl::StatusOr<ExitCode> run(const RemoveCommand& command) {
  LARDER_ASSIGN_OR_RETURN(const OpenTarget open, open_target(command.target));
  const Completion done = open.client->remove(open.ns, keys_of(command.names));
  return answer(command.names, done, "removed", command.target.json);
}

absl::StatusOr<ExitCode> run(const RemovePrefixCommand& command) {
  std::vector<BlockHash> prefix;
  for (const std::string& text : command.hashes) {
    LARDER_ASSIGN_OR_RETURN(const BlockHash hash, parse_hash(text));
    prefix.push_back(hash);
  }
  if (!command.target.names.chain) {
    return absl::InvalidArgumentError("--prefix needs --chain and the chain's namespace flags");
  }
  LARDER_ASSIGN_OR_RETURN(const OpenTarget open, open_target(command.target));
  LARDER_ASSIGN_OR_RETURN(const std::uint64_t removed, open.client->remove_prefix(open.ns, prefix));
  Report report;
  report.add("removed", removed);
  report.print(command.target.json);
  return removed > 0 ? ExitCode::kOk : ExitCode::kMiss;
}

}  // namespace larder
