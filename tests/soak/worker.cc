#include "tests/soak/worker.h"

#include <algorithm>
#include <cstdio>

#include "tests/soak/holder.h"
#include "tests/soak/worker_client.h"
#include "transport/guarded_copy.h"

namespace larder::soak {

namespace {

using std::chrono::milliseconds;

/// Thrown through a worker to its end: the daemon was wrong about a block of a prompt.
struct Found {
  int exit_code;
  std::uint64_t prompt;
  std::size_t block = 0;
};

/// Mixed calls, drawn one after the other.
class Worker {
 public:
  Worker(Counts& counts, std::uint64_t seed) : at_(counts, seed) {}
  bool connect(const std::string& server) { return at_.connect(server); }
  void step();

 private:
  bool whole(const Completion& done, const Prompt& prompt);
  std::uint64_t get(const Prompt& prompt, std::uint64_t request);
  std::uint64_t put(const Prompt& prompt, std::uint64_t request);
  void serve_request();
  void put_in_layers();
  void view();
  void wait();
  void pin();
  void touch();
  void remove();
  void remove_prefix();
  void list();

  WorkerClient at_;
};

/// False when a fault cut the call off; each of its keys has an answer all the same.
bool Worker::whole(const Completion& done, const Prompt& prompt) {
  if (done.keys.size() != prompt.blocks()) throw Found{kExitBroken, prompt.number()};
  if (done.code == absl::StatusCode::kOk) return true;
  at_.counts.add(Count::kUnavailable);
  return false;
}

/// How many were hits.
std::uint64_t Worker::get(const Prompt& prompt, std::uint64_t request) {
  const Completion done =
      at_.client->get(at_.ns, prompt.keys(), prompt.targets(at_.places),
                      {.request = request, .deadline = {}, .verify = at_.below(8) == 0});
  whole(done, prompt);
  std::uint64_t hits = 0;
  for (std::size_t n = 0; n < done.keys.size(); ++n) {
    if (done.keys[n] != KeyStatus::kOk) continue;
    if (!prompt.right_in(n, at_.places)) throw Found{kExitWrongByte, prompt.number(), n};
    hits += 1;
  }
  at_.counts.add(Count::kGets, prompt.blocks());
  at_.counts.add(Count::kHits, hits);
  return hits;
}

/// How many are there now.
std::uint64_t Worker::put(const Prompt& prompt, std::uint64_t request) {
  const auto memory = at_.put_memory(prompt);
  prompt.fill(memory);
  const Completion done = at_.client->put(at_.ns, prompt.keys(), prompt.sources(memory),
                                          {.request = request, .deadline = {}, .verify = false});
  whole(done, prompt);
  std::uint64_t there = 0;
  for (const KeyStatus key : done.keys) {
    at_.counts.add(Count::kPuts, key == KeyStatus::kOk ? 1 : 0);
    there += key == KeyStatus::kOk || key == KeyStatus::kPresent ? 1 : 0;
  }
  return there;
}

/// As an engine does it: match, get what is there, put the rest; some never end their request.
void Worker::serve_request() {
  const Prompt prompt = at_.shared_prompt();
  const std::uint64_t request = at_.client->begin_request(at_.ns);
  const std::span<const BlockHash> chain = prompt.chain();
  MatchOptions match;
  match.request = request;
  match.claim = at_.below(4) == 0;
  match.claim_ms = 500;
  if (at_.client->match(at_.ns, std::span(&chain, 1), match).ok()) {
    at_.counts.add(match.claim ? Count::kClaims : Count::kMatches);
  }
  if (get(prompt, request) < prompt.blocks()) put(prompt, request);
  if (at_.below(16) != 0) (void)at_.client->end_request(request, 100);
}

void Worker::put_in_layers() {
  const Prompt prompt = at_.shared_prompt();
  const auto memory = at_.put_memory(prompt);
  prompt.fill(memory);
  const auto begun = at_.client->put_start(at_.ns, prompt.keys(), {});
  if (!begun.ok()) return at_.counts.add(Count::kUnavailable);
  const std::uint64_t end = at_.below(4);
  if (at_.below(8) != 0) (void)at_.client->put_part(begun->id, prompt.layer(0, memory));
  if (end == 0) return at_.client->put_abort(begun->id);
  (void)at_.client->put_part(begun->id, prompt.layer(1, memory));
  const Completion done = at_.client->put_end(begun->id);
  for (const KeyStatus key : done.keys)
    at_.counts.add(Count::kLayerPuts, key == KeyStatus::kOk ? 1 : 0);
}

void Worker::view() {
  const Prompt prompt = at_.shared_prompt();
  auto views = at_.client->view(at_.ns, prompt.keys(), {});
  if (!views.ok()) return;  // over tcp there is none
  for (std::size_t n = 0; n < views->size(); ++n) {
    View& view = (*views)[n];
    if (view.status() != KeyStatus::kOk) continue;
    const auto copy = std::span(at_.places).first(view.bytes().size());
    if (!copy_guarded(copy.data(), view.bytes().data(), copy.size())) continue;
    if (!view.release()) continue;
    if (!prompt.right(n, copy)) throw Found{kExitWrongByte, prompt.number(), n};
    at_.counts.add(Count::kViews);
  }
}

void Worker::wait() {
  const Prompt prompt = at_.shared_prompt();
  (void)at_.client->wait(at_.ns, prompt.keys(), milliseconds(at_.below(30)));
  at_.counts.add(Count::kWaits);
}

/// Always for a time: a pin outlives the session of who made it.
void Worker::pin() {
  const Prompt prompt = at_.shared_prompt();
  const Completion done = at_.client->pin(at_.ns, prompt.keys(), milliseconds(1 + at_.below(400)));
  for (const KeyStatus key : done.keys)
    at_.counts.add(Count::kPins, key == KeyStatus::kOk ? 1 : 0);
  if (at_.below(2) == 0) at_.client->unpin(at_.ns, prompt.keys());
}

void Worker::touch() {
  at_.client->touch(at_.ns, at_.shared_prompt().keys());
  at_.counts.add(Count::kTouches);
}

/// Nobody else puts an own prompt: once its removal is acknowledged it is a miss, whatever happens.
void Worker::remove() {
  const Prompt prompt = at_.own_prompt();
  if (put(prompt, 0) == 0) return;
  if (at_.below(2) == 0) get(prompt, 0);
  const Completion done = at_.client->remove(at_.ns, prompt.keys());
  if (!whole(done, prompt)) return;
  at_.counts.add(Count::kRemoved, prompt.blocks());
  if (get(prompt, 0) != 0) throw Found{kExitRemovedServed, prompt.number()};
}

/// Also of what stands behind a gap: eviction for a slab leaves some.
void Worker::remove_prefix() {
  const Prompt prompt = at_.own_prompt();
  if (put(prompt, 0) == 0) return;
  const std::size_t prefix = 1 + at_.below(prompt.blocks());
  if (!at_.client->remove_prefix(at_.ns, prompt.chain().first(prefix)).ok()) return;
  at_.counts.add(Count::kPrefixes);
  const Completion done = at_.client->get(at_.ns, prompt.keys(), prompt.targets(at_.places), {});
  for (std::size_t n = prefix - 1; n < done.keys.size(); ++n) {
    if (done.keys[n] == KeyStatus::kOk) throw Found{kExitPrefixServed, prompt.number(), n};
  }
}

void Worker::list() {
  if (at_.client->list(at_.ns, 0, 200).ok()) at_.counts.add(Count::kLists);
  (void)at_.client->server_stats();
}

void Worker::step() {
  struct Weighed {
    unsigned weight;
    void (Worker::*call)();
  };
  constexpr Weighed kCalls[] = {
      {60, &Worker::serve_request}, {8, &Worker::put_in_layers}, {10, &Worker::view},
      {2, &Worker::wait},           {5, &Worker::pin},           {5, &Worker::touch},
      {5, &Worker::remove},         {4, &Worker::remove_prefix}, {1, &Worker::list}};
  std::uint64_t drawn = at_.below(100);
  for (const Weighed& one : kCalls) {
    if (drawn < one.weight) return (this->*one.call)();
    drawn -= one.weight;
  }
}

}  // namespace

int run_worker(const WorkerOptions& options) {
  Counts counts(options.counts_file);
  if (options.hold) {
    WorkerClient at(counts, options.seed);
    hold_open(at, options.server);
    return 0;
  }
  Worker worker(counts, options.seed);
  if (!worker.connect(options.server)) return 0;
  try {
    while (!counts.stop())
      worker.step();
  } catch (const Found& found) {
    std::fprintf(stderr, "seed %lu: prompt %lu, block %zu\n", options.seed, found.prompt,
                 found.block);
    return found.exit_code;
  }
  return 0;
}

}  // namespace larder::soak
