#include "tests/soak/crew.h"

#include <fstream>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <signal.h>
#include <sys/wait.h>

#include "tests/e2e/daemon.h"
#include "tests/eventually.h"
#include "tests/soak/worker.h"

namespace larder::soak {

namespace {

constexpr std::size_t kHoldersMax = 4;

const char* meaning(int exit_code) {
  switch (exit_code) {
    case kExitWrongByte:
      return "a hit had a wrong byte";
    case kExitRemovedServed:
      return "a block was served after its removal was acknowledged";
    case kExitPrefixServed:
      return "a block was served after the removal of its prefix was acknowledged";
    case kExitBroken:
      return "an answer had another number of keys than the call";
    default:
      return "it ended by itself";
  }
}

}  // namespace

Crew::Crew(Options options) : options_(std::move(options)), counts_(options_.counts_file) {
  counts_.stop() = false;
  for (std::uint32_t n = 0; n < options_.workers; ++n)
    workers_.push_back(start(n % 2 == 1, false));
  for (int n = 0; n < 2; ++n)
    hold();
}

Crew::~Crew() {
  for (const auto* members : {&workers_, &holders_}) {
    for (const Member& member : *members)
      kill_member(member);
  }
}

Crew::Member Crew::start(bool over_tcp, bool holder) {
  // A number of its own for each, below 2^40, for the prompts that nobody else uses.
  const std::uint64_t seed = (options_.seed % (1U << 20)) << 20 | started_++;
  std::vector<std::string> command{sim::built("larder_soak"),
                                   "worker",
                                   "--server",
                                   over_tcp ? options_.tcp : options_.socket,
                                   "--counts",
                                   options_.counts_file,
                                   "--seed",
                                   std::to_string(seed)};
  if (holder) command.emplace_back("--hold");
  return {sim::spawn(command, {}, log_file()), over_tcp};
}

void Crew::kill_member(const Member& member) {
  ::kill(member.pid, SIGKILL);
  ::waitpid(member.pid, nullptr, 0);
}

void Crew::kill(std::uint32_t drawn) {
  if (!well()) return;
  Member& member = workers_[drawn % workers_.size()];
  kill_member(member);
  member = start(member.over_tcp, false);
}

void Crew::freeze(std::uint32_t drawn) {
  thaw();  // one at a time: the others must get on
  ::kill(workers_[drawn % workers_.size()].pid, SIGSTOP);
}

void Crew::thaw() {
  for (const Member& member : workers_)
    ::kill(member.pid, SIGCONT);
}

void Crew::hold() {
  if (holders_.size() >= kHoldersMax) return;
  const std::uint64_t before = counts_.get(Count::kHolders);
  holders_.push_back(start(holders_started_++ % 2 == 1, true));
  BOOST_TEST(test::eventually([&] { return counts_.get(Count::kHolders) > before; }),
             "a holder does not come to hold: " << said());
}

void Crew::kill_holder(std::uint32_t drawn, bool stopped) {
  if (!well() || holders_.empty()) return;
  const auto at = holders_.begin() + drawn % holders_.size();
  if (stopped) {
    ::kill(at->pid, SIGSTOP);
    return;  // until it is drawn again, or the end
  }
  kill_member(*at);
  holders_.erase(at);
}

/// What workers wrote.
std::string Crew::said() const {
  std::ostringstream text;
  text << std::ifstream(log_file()).rdbuf();
  return text.str();
}

/// Forgets those that have ended; a holder may.
bool Crew::well(std::vector<Member>& members, bool may_end) {
  bool all = true;
  for (auto member = members.begin(); member != members.end();) {
    int raw = 0;
    if (::waitpid(member->pid, &raw, WNOHANG) != member->pid) {
      ++member;
      continue;
    }
    member = members.erase(member);
    const bool clean = WIFEXITED(raw) && WEXITSTATUS(raw) == 0;
    if (clean && may_end) continue;
    BOOST_ERROR("a worker ended, status "
                << raw << ": " << (WIFEXITED(raw) ? meaning(WEXITSTATUS(raw)) : "killed") << '\n'
                << said());
    all = false;
  }
  return all;
}

bool Crew::well() {
  const bool workers = well(workers_, counts_.stop());
  return well(holders_, true) && workers;
}

void Crew::end() {
  counts_.stop() = true;
  thaw();
  for (const Member& member : holders_)
    kill_member(member);
  holders_.clear();
  BOOST_TEST(test::eventually([&] { return !well() || workers_.empty(); }), "workers do not end");
}

}  // namespace larder::soak
