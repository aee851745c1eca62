#include "tests/soak/holder.h"

#include <chrono>
#include <thread>

#include <unistd.h>

namespace larder::soak {

using std::chrono::milliseconds;

void hold_open(WorkerClient& at, const std::string& server) {
  if (!at.connect(server)) return;
  const Prompt prompt = at.shared_prompt();
  const Prompt other = at.own_prompt();
  const Prompt claimed = at.own_prompt();
  const auto bytes = at.put_memory(prompt);
  prompt.fill(bytes);
  (void)at.client->put(at.ns, prompt.keys(), prompt.sources(bytes), {});  // so that it is there
  const auto views = at.client->view(at.ns, prompt.keys(), {});
  const std::uint64_t request = at.client->begin_request(at.ns);
  const std::span<const BlockHash> chains[] = {prompt.chain(), claimed.chain()};
  MatchOptions match;
  match.request = request;
  match.claim = true;
  (void)at.client->match(at.ns, chains, match);
  const auto memory = at.put_memory(other);
  other.fill(memory);
  if (const auto put = at.client->put_start(at.ns, other.keys(), {}); put.ok()) {
    (void)at.client->put_part(put->id, other.layer(0, memory));
  }
  std::thread waiter([&] { (void)at.client->wait(at.ns, other.keys(), std::chrono::seconds(30)); });
  at.counts.add(Count::kHolders);
  if (at.below(3) == 0) ::_exit(0);  // its socket closes, and nothing else is said
  while (!at.counts.stop())
    std::this_thread::sleep_for(milliseconds(5));
  ::_exit(0);
}

}  // namespace larder::soak
