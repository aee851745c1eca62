#include "tests/soak/put_book.h"

namespace larder::soak {

Prompt campaign_prompt(const NamespaceSpec& spec, std::uint64_t number) {
  constexpr std::uint32_t kBytes[] = {300, 1'000, 4'096, 10'000, 16'384, 70'000};
  return {spec, number, Prompt::kBlocksMax, kBytes[number % std::size(kBytes)]};
}

}  // namespace larder::soak
