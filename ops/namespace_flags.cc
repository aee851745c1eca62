// Flags of the commands on namespaces.

#include "ops/flags.h"
#include "ops/namespace_commands.h"

namespace larder {

namespace {

void add_list(CLI::App& app, Choice& choice) {
  auto list = std::make_shared<NamespacesCommand>();
  CLI::App* sub = add_command(app, choice, "namespaces", "namespaces and how they are served",
                              "larder namespaces --all", list);
  sub->add_flag("--all", list->all, "of all tenants; for administrators");
  add_connection(sub, list->connection);
  add_json(sub, list->json);
}

void add_mode(CLI::App& app, Choice& choice) {
  auto mode = std::make_shared<ModeCommand>();
  CLI::App* sub = add_command(app, choice, "mode",
                              "how a namespace is served: on; guarded: off after a corrupt block; "
                              "shadow: stores and counts "
                              "but answers misses; off; default: as larderd's namespace_mode says",
                              "larder mode shadow --id 00112233aabbccdd", mode);
  sub->add_option("mode", mode->mode)
      ->required()
      ->check(CLI::IsMember({"on", "guarded", "shadow", "off", "default"}));
  sub->add_option("--id", mode->id, "the namespace's, as larder namespaces shows it; else by flags")
      ->check(not_empty);
  add_target(sub, mode->target);
  add_chain(sub, mode->target.names);
}

void add_purge(CLI::App& app, Choice& choice) {
  auto purge = std::make_shared<PurgeCommand>();
  CLI::App* sub =
      add_command(app, choice, "purge", "remove all that is of a namespace, a tenant or a writer",
                  "larder purge --tenant acme", purge);
  CLI::Option_group* which = sub->add_option_group("which");
  which->add_option("--id", purge->id, "a namespace, as larder namespaces shows it")
      ->check(not_empty);
  which->add_option("--tenant", purge->tenant, "every namespace of a tenant")->check(not_empty);
  which->add_option("--writer", purge->writer,
                    "what one session put; number in hex, as larder ls and the audit log show it");
  which->require_option(1);
  add_connection(sub, purge->connection);
  add_json(sub, purge->json);
}

}  // namespace

void add_namespace_commands(CLI::App& app, Choice& choice) {
  add_list(app, choice);
  add_mode(app, choice);
  add_purge(app, choice);
}

}  // namespace larder
