// Flags of the commands on blocks.

#include "ops/flags.h"
#include "ops/get_command.h"
#include "ops/list_command.h"
#include "ops/name_commands.h"
#include "ops/put_command.h"

namespace larder {

namespace {

void add_byte_commands(CLI::App& app, Choice& choice) {
  auto put = std::make_shared<PutCommand>();
  CLI::App* sub = add_command(app, choice, "put", "store 256 B to 1 GiB of a file under a name",
                              "larder put prompt-7 kv.bin", put);
  sub->add_option("name", put->name, "any text")->required()->check(not_empty);
  sub->add_option("file", put->file, "-: standard input")->capture_default_str();
  add_target(sub, put->target);

  auto get = std::make_shared<GetCommand>();
  sub = add_command(app, choice, "get", "write a block's bytes to a file; 1: it is absent",
                    "larder get prompt-7 kv.bin", get);
  sub->add_option("name", get->name, "any text")->required()->check(not_empty);
  sub->add_option("file", get->file, "-: standard output")->capture_default_str();
  add_target(sub, get->target);
}

void add_name_commands(CLI::App& app, Choice& choice) {
  auto match = std::make_shared<MatchCommand>();
  CLI::App* sub = add_command(app, choice, "match", "tell which names are there; 1: not all are",
                              "larder match prompt-7 prompt-8", match);
  sub->add_option("names", match->names)->required()->check(not_empty);
  add_target(sub, match->target);

  auto pin = std::make_shared<PinCommand>();
  sub = add_command(app, choice, "pin",
                    "keep blocks from eviction, until larderd restarts at the latest; 1: not all "
                    "are there",
                    "larder pin --ttl-seconds 600 prompt-7", pin);
  sub->add_option("names", pin->names)->required()->check(not_empty);
  sub->add_option("--ttl-seconds", pin->ttl_seconds, "0: until unpinned")
      ->check(CLI::Range(0, 4'000'000))
      ->capture_default_str();
  add_target(sub, pin->target);

  auto unpin = std::make_shared<PinCommand>();
  unpin->unpin = true;
  sub = add_command(app, choice, "unpin", "end a pin; 1: not all were pinned",
                    "larder unpin prompt-7", unpin);
  sub->add_option("names", unpin->names)->required()->check(not_empty);
  add_target(sub, unpin->target);
}

/// Names, or with --prefix the unit hashes of a chain.
struct RemoveEither {
  RemoveCommand names;
  bool prefix = false;
};
absl::StatusOr<ExitCode> run(const RemoveEither& command) {
  if (!command.prefix) return run(command.names);
  return run(RemovePrefixCommand{command.names.target, command.names.names});
}

void add_space_commands(CLI::App& app, Choice& choice) {
  auto list = std::make_shared<ListCommand>();
  CLI::App* sub =
      add_command(app, choice, "ls", "list a namespace's blocks", "larder ls --limit 20", list);
  sub->add_option("--limit", list->limit, "0: all")->capture_default_str();
  add_target(sub, list->target);
  add_chain(sub, list->target.names);

  auto remove = std::make_shared<RemoveEither>();
  sub = add_command(app, choice, "rm", "remove blocks; 1: not all were there",
                    "larder rm prompt-7\n         larder rm --model m --chain --prefix "
                    "00112233445566778899aabbccddeeff",
                    remove);
  sub->add_option("names", remove->names.names, "names; with --prefix unit hashes from the root")
      ->required()
      ->check(not_empty);
  sub->add_flag("--prefix", remove->prefix, "every block whose prompt begins with these hashes");
  add_target(sub, remove->names.target);
  add_chain(sub, remove->names.target.names);
}

}  // namespace

void add_block_commands(CLI::App& app, Choice& choice) {
  add_byte_commands(app, choice);
  add_name_commands(app, choice);
  add_space_commands(app, choice);
}

}  // namespace larder
