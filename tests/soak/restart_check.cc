#include "tests/soak/restart_check.h"

namespace larder::soak {

namespace {

void judge(Fate& fate, bool hit, CheckCounts& counts) {
  if (hit && fate == Fate::kRemoved) counts.returned += 1;
  if (!hit && fate == Fate::kHeld) counts.lost += 1;
  if (!hit || fate != Fate::kUnknown) return;
  counts.half_known += 1;
  fate = Fate::kHeld;
}

bool check_prompt(Client& client, NamespaceId ns, const Prompt& prompt, PutPrompt& record,
                  bool verify, std::span<std::byte> memory, CheckCounts& counts) {
  const Completion got = client.get(ns, prompt.keys(), prompt.targets(memory),
                                    {.request = 0, .deadline = {}, .verify = verify});
  if (got.code != absl::StatusCode::kOk || got.keys.size() != prompt.blocks()) return false;
  for (std::size_t n = 0; n < prompt.blocks(); ++n) {
    const bool hit = got.keys[n] == KeyStatus::kOk;
    counts.gets += 1;
    counts.hits += hit ? 1 : 0;
    if (hit && !prompt.right_in(n, memory)) counts.wrong += 1;
    judge(record.fates[n], hit, counts);
  }
  record.touched = false;
  return true;
}

}  // namespace

bool check_book(Client& client, const NamespaceSpec& spec, PutBook& book, std::mt19937_64& rng,
                std::uint64_t others_one_in, CheckCounts& counts) {
  const auto ns = client.open_namespace(spec);
  if (!ns.ok()) return false;
  std::vector<std::byte> memory(2 << 20);
  for (PutPrompt& record : book.prompts) {
    if (!record.touched && rng() % others_one_in != 0) continue;
    const Prompt prompt = campaign_prompt(spec, record.number);
    if (!check_prompt(client, *ns, prompt, record, rng() % 2 == 0, memory, counts)) return false;
  }
  return true;
}

}  // namespace larder::soak
