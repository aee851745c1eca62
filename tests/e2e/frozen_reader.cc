// Gets one block and stops itself (SIGSTOP) in the middle of the copy out of the daemon's slab: the
// second half of the destination cannot be written, and the handler of the fault stops the process
// before it lifts that. Whoever continues it is told by the exit status what became of the get.
//
//   larder_test_frozen_reader SERVER SEED BYTES

#include "tests/e2e/frozen_reader.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/client.h"

namespace {

void* guarded = nullptr;
std::size_t guarded_bytes = 0;

void stop_then_go_on(int /*signal*/, siginfo_t* info, void* /*context*/) {
  auto* const at = static_cast<std::byte*>(info->si_addr);
  auto* const begin = static_cast<std::byte*>(guarded);
  if (at < begin || at >= begin + guarded_bytes) ::_exit(larder::sim::kReaderBroken);
  ::kill(::getpid(), SIGSTOP);
  ::mprotect(guarded, guarded_bytes, PROT_READ | PROT_WRITE);
}

int run(const std::string& server, std::uint64_t seed, std::size_t bytes) {
  using namespace larder;  // NOLINT(google-build-using-namespace)
  Client::Options options;
  options.server = server;
  options.transport = Client::Transport::kShm;
  options.deadline = std::chrono::seconds(60);
  auto client = Client::connect(options);
  if (!client.ok()) return sim::kReaderBroken;
  const auto ns = (*client)->open_namespace(sim::reader_spec());
  if (!ns.ok()) return sim::kReaderBroken;
  auto* const place = static_cast<std::byte*>(
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  guarded = place + bytes / 2;
  guarded_bytes = bytes / 2;
  ::mprotect(guarded, guarded_bytes, PROT_NONE);
  struct sigaction action {};
  action.sa_sigaction = stop_then_go_on;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, nullptr);

  const Key key = sim::reader_key(seed, bytes);
  const MutableBuffer buffer{place, bytes};
  const Completion got = (*client)->get(*ns, {&key, 1}, {&buffer, 1}, {});
  if (got.code != absl::StatusCode::kOk || got.keys.size() != 1) return sim::kReaderBroken;
  if (got.keys[0] == KeyStatus::kOk) {
    return sim::is_block(seed, {place, bytes}) ? sim::kReaderRight : sim::kReaderWrong;
  }
  const bool stale = (*client)->stats().stale_generations == 1;
  return got.keys[0] == KeyStatus::kMiss && stale ? sim::kReaderMiss : sim::kReaderBroken;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return larder::sim::kReaderBroken;
  return run(argv[1], std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10));
}
