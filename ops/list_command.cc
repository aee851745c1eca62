#include "ops/list_command.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/report.h"
#include "store/hash_text.h"
#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {

absl::StatusOr<ExitCode> run(const ListCommand& command) {
  LARDER_ASSIGN_OR_RETURN(const OpenTarget open, open_target(command.target));
  const std::uint64_t limit = command.limit == 0 ? ~std::uint64_t{0} : command.limit;
  Report report;
  report.name_rows("blocks");
  std::uint64_t shown = 0;
  Client::ListPage page;
  while (shown < limit && !page.end) {
    const auto want =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(limit - shown, limits::kListPageMax));
    LARDER_ASSIGN_OR_RETURN(page, open.client->list(open.ns, page.cursor, want));
    for (std::size_t n = 0; n < page.blocks.size(); ++n) {
      if (shown == limit) break;
      const wire::ListRecord& block = page.blocks[n];
      shown += 1;
      report.add_row({{"hash", hash_text(block.hash)},
                      {"parent", hash_text(block.parent)},
                      {"group", std::uint64_t{block.group}},
                      {"rank", std::uint64_t{block.rank}},
                      {"position", std::uint64_t{block.position}},
                      {"bytes", std::uint64_t{block.length}},
                      {"leases", std::uint64_t{block.leases}},
                      {"checksum", fmt::format("{:016x}", block.checksum)},
                      {"writer", fmt::format("{:x}", page.writers[n])}});
    }
  }
  report.add("shown", shown);
  report.add("complete", page.end);
  report.print(command.target.json);
  return ExitCode::kOk;
}

}  // namespace larder
