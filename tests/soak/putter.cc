#include "tests/soak/putter.h"

#include <algorithm>

namespace larder::soak {

namespace {

constexpr std::size_t kMemory = 2 << 20;
constexpr std::uint64_t kRemoveOneIn = 24;  // prompts
constexpr Duration kDeadline = std::chrono::seconds(20);

bool over_tcp(PutWay way) {
  return way == PutWay::kTcp || way == PutWay::kLayersTcp;
}
bool in_layers(PutWay way) {
  return way == PutWay::kLayersShm || way == PutWay::kLayersTcp;
}

bool answered_whole(const PutPrompt& record) {
  return std::none_of(record.fates.begin(), record.fates.end(),
                      [](Fate fate) { return fate == Fate::kUnknown; });
}

}  // namespace

Putter::Putter(Options options, NamespaceSpec spec)
    : options_(std::move(options)), spec_(std::move(spec)), rng_(options_.seed), heap_(kMemory) {}

bool Putter::connect() {
  if (client_ != nullptr) return true;
  Client::Options options;
  options.server = over_tcp(options_.way) ? options_.tcp : options_.socket;
  options.deadline = kDeadline;
  options.allow_attach = options_.way != PutWay::kStaged;
  auto made = Client::connect(options);
  if (!made.ok()) return false;
  const auto ns = (*made)->open_namespace(spec_);
  if (!ns.ok()) return false;
  region_ = heap_;
  if (options_.way == PutWay::kRegion) {
    const auto region = (*made)->allocate_region(kMemory);
    if (!region.ok()) return false;
    region_ = *region;
  }
  ns_ = *ns;
  client_ = *std::move(made);
  return true;
}

void Putter::disconnect() {
  client_.reset();
}

PutPrompt& Putter::next() {
  auto& prompts = book_.prompts;
  if (!prompts.empty() && !answered_whole(prompts.back())) return prompts.back();
  prompts.push_back({.number = options_.first_prompt + prompts.size()});
  prompts.back().fates.fill(Fate::kUnknown);
  return prompts.back();
}

void Putter::run(const std::atomic<bool>& stop, std::atomic<std::uint64_t>& acknowledged) {
  while (!stop) {
    if (!connect()) continue;
    PutPrompt& record = next();
    record.touched = true;
    acknowledged += note(record, put(campaign_prompt(spec_, record.number)));
    if (rng_() % kRemoveOneIn == 0) remove_one();
  }
}

std::vector<KeyStatus> Putter::put(const Prompt& prompt) {
  const auto memory = region_.first(prompt.memory_bytes());
  prompt.fill(memory);
  if (in_layers(options_.way)) return put_in_layers(prompt, memory);
  return client_->put(ns_, prompt.keys(), prompt.sources(memory), {}).keys;
}

std::vector<KeyStatus> Putter::put_in_layers(const Prompt& prompt,
                                             std::span<const std::byte> memory) {
  const auto begun = client_->put_start(ns_, prompt.keys(), {});
  if (!begun.ok()) return {};
  for (const int layer : {1, 0}) {
    // What fails here is answered at the end.
    (void)client_->put_part(begun->id, prompt.layer(layer, memory));
  }
  return client_->put_end(begun->id).keys;
}

/// How many were acknowledged.
std::uint64_t Putter::note(PutPrompt& record, std::span<const KeyStatus> answered) {
  std::uint64_t held = 0;
  for (std::size_t n = 0; n < answered.size(); ++n) {
    if (answered[n] != KeyStatus::kOk && answered[n] != KeyStatus::kPresent) continue;
    if (record.fates[n] == Fate::kHeld) continue;
    record.fates[n] = Fate::kHeld;
    held += 1;
  }
  book_.acknowledged += held;
  return held;
}

void Putter::remove_one() {
  PutPrompt& record = book_.prompts[rng_() % book_.prompts.size()];
  if (&record == &book_.prompts.back() || record.fates[0] != Fate::kHeld) return;
  record.fates.fill(Fate::kUnknown);
  record.touched = true;
  const Prompt prompt = campaign_prompt(spec_, record.number);
  const Completion done = client_->remove(ns_, prompt.keys());
  for (std::size_t n = 0; n < done.keys.size(); ++n) {
    if (done.keys[n] != KeyStatus::kOk && done.keys[n] != KeyStatus::kMiss) continue;
    record.fates[n] = Fate::kRemoved;
    book_.removed += 1;
  }
}

}  // namespace larder::soak
