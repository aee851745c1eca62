#include "ops/sim_cache.h"

#include <algorithm>
#include <utility>

#include "store/limits.h"

namespace larder {

namespace {

/// The deepest known block of a session of its own has few children; what sessions share has many.
constexpr std::uint32_t kContinuingFanOut = 8;
constexpr std::uint8_t kUsesMax = 255;

}  // namespace

SimCache::SimCache(const SimTrace& trace, const SimOptions& options,
                   std::vector<std::unique_ptr<EvictionPolicy>> policies)
    : trace_(trace),
      options_(options),
      policies_(std::move(policies)),
      blocks_(trace.unique),
      tenants_(trace.tenants) {}

SimCache::SimCache(const SimTrace& trace, const SimOptions& options, std::unique_ptr<MinPolicy> min,
                   const std::vector<std::uint32_t>& next_requests)
    : SimCache(trace, options, std::vector<std::unique_ptr<EvictionPolicy>>{}) {
  min_ = min.get();
  next_requests_ = &next_requests;
  policies_.push_back(std::move(min));
}

void SimCache::serve(std::uint32_t request, std::optional<std::uint32_t> hint) {
  const RequestContext context = arrive(request, hint);
  policy().on_request(context);
  insert_missing(context);
  policy().on_request_end(context, current_->output_tokens);
  end(context);
  if (min_ != nullptr) evict_over();
}

void SimCache::count(std::uint64_t SimCounts::*field, std::uint64_t by) {
  totals_.*field += by;
  tenants_[current_->tenant].*field += by;
}

/// Judges the hits, pins what is there, and says what is known of the prompt.
RequestContext SimCache::arrive(std::uint32_t request, std::optional<std::uint32_t> hint) {
  current_ = &trace_.requests[request];
  number_ = request;
  now_ = Time(std::chrono::milliseconds(current_->time_ms));
  RequestContext context{.request = RequestId(request + 1),
                         .now = now_,
                         .prompt_blocks = current_->count,
                         .hint_positions = hint.value_or(0),
                         .has_hint = hint.has_value(),
                         .tenant = TenantId(current_->tenant)};
  std::uint64_t hits = 0;
  bool all_here = true;
  bool all_known = true;
  const Block* deepest = nullptr;
  for (const std::uint32_t number : trace_.blocks_of(*current_)) {
    Block& block = blocks_[number];
    block.served_by = request;
    all_here = all_here && block.state == State::kResident;
    all_known = all_known && block.state != State::kUnknown;
    hits += all_here ? 1 : 0;
    if (!all_known) continue;
    context.known_blocks += 1;
    deepest = &block;
  }
  if (deepest != nullptr && deepest->children < kContinuingFanOut) {
    context.continuing = true;
    context.last_gap = gap(use_tick(now_), deepest->last_use);
  }
  count(&SimCounts::references, current_->count);
  count(&SimCounts::hits, hits);
  return context;
}

void SimCache::insert_missing(const RequestContext& context) {
  const std::uint64_t before = std::uint64_t{number_} << kStampPositionBits;
  PolicyInsert insert;
  insert.size = options_.block_bytes;
  Block* parent = nullptr;
  for (const std::uint32_t number : trace_.blocks_of(*current_)) {
    Block& block = blocks_[number];
    if (block.state != State::kResident) {
      insert.parent.reset();
      if (parent != nullptr && parent->state == State::kResident) {
        insert.parent = PolicyId(parent->id);
      }
      insert.stamp = Stamp(before | ((1U << kStampPositionBits) - 1 - insert.position));
      insert.uses = block.uses;
      insert.idle = block.uses > 0 ? gap(use_tick(now_), block.last_use) : Duration{0};
      if (parent != nullptr && block.state == State::kUnknown) parent->children += 1;
      if (block.id == kNone) take_id(number);
      insert.id = PolicyId(block.id);
      if (!enter(number, insert, context)) {
        policy().on_refused(insert, &context);
        remember(number);
      }
    }
    parent = &block;
    insert.position += 1;
  }
}

/// False: refused.
bool SimCache::enter(std::uint32_t block, const PolicyInsert& insert,
                     const RequestContext& context) {
  if (min_ == nullptr && !make_room(insert, context)) {
    count(&SimCounts::refused);
    return false;
  }
  blocks_[block].state = State::kResident;
  resident_ += 1;
  policy().on_insert(insert, &context);
  count(&SimCounts::inserts);
  return true;
}

bool SimCache::make_room(const PolicyInsert& insert, const RequestContext& context) {
  const auto takes = [&] { return (resident_ + 1) * options_.block_bytes.count; };
  const auto part = [&](double share) {
    return static_cast<std::uint64_t>(static_cast<double>(options_.capacity.count) * share);
  };
  const bool full = takes() > part(options_.watermark);
  std::uint32_t tenant = 0;
  std::optional<Victim> victim = full ? cheapest(tenant) : std::nullopt;
  if (full && !victim) return false;
  const double value = victim ? victim->value : EvictionPolicy::kRoom;
  if (!policy().admit(insert, &context, value)) return false;
  if (!full) return true;
  const std::uint64_t target = part(options_.watermark - options_.batch);
  for (; victim && takes() > target; victim = cheapest(tenant))
    evict(*victim, tenant);
  return takes() <= options_.capacity.count;
}

std::optional<Victim> SimCache::cheapest(std::uint32_t& tenant) {
  const auto pinned = [this](PolicyId id) {
    return min_ == nullptr && blocks_[block_of_[id.value()]].served_by == number_;
  };
  std::optional<Victim> best;
  for (std::uint32_t n = 0; n < policies_.size(); ++n) {
    std::optional<Victim> victim = policies_[n]->victim(now_, pinned);
    while (!victim && policies_[n]->has_more())
      victim = policies_[n]->victim(now_, pinned);
    if (!victim || (best && best->value <= victim->value)) continue;
    best = victim;
    tenant = n;
  }
  return best;
}

void SimCache::evict(const Victim& victim, std::uint32_t tenant) {
  policies_[tenant]->on_erase(victim.id, EraseCause::kEvicted);
  resident_ -= 1;
  totals_.evictions += 1;
  if (tenant < tenants_.size()) tenants_[tenant].evictions += 1;
  remember(block_of_[victim.id.value()]);
}

void SimCache::evict_over() {
  std::uint32_t tenant = 0;
  while (resident_ * options_.block_bytes.count > options_.capacity.count) {
    const std::optional<Victim> victim = cheapest(tenant);
    if (!victim) return;
    evict(*victim, tenant);
  }
}

/// Touches suffix-first. A block that a prompt names twice is touched once.
void SimCache::end(const RequestContext& context) {
  const auto blocks = trace_.blocks_of(*current_);
  const std::uint64_t sequence = std::uint64_t{number_ + 1} << kStampPositionBits;
  for (std::uint32_t position = current_->count; position-- > 0;) {
    Block& block = blocks_[blocks[position]];
    if (block.touched_by == number_) continue;
    block.touched_by = number_;
    block.uses = static_cast<std::uint8_t>(std::min<int>(block.uses + 1, kUsesMax));
    block.last_use = use_tick(now_);
    if (block.state != State::kResident) continue;
    if (min_ != nullptr) {
      const std::uint32_t next = (*next_requests_)[current_->first + position];
      const bool never = next == trace_.requests.size();
      min_->set_next_use(PolicyId(block.id), never ? MinPolicy::kNever : next, position);
    }
    policy().on_hit(PolicyId(block.id), Stamp(sequence | (current_->count - 1 - position)),
                    &context);
  }
}

EvictionPolicy& SimCache::policy() {
  return *policies_[min_ != nullptr ? 0 : current_->tenant];
}

void SimCache::take_id(std::uint32_t block) {
  if (free_ids_.empty()) {
    blocks_[block].id = static_cast<std::uint32_t>(block_of_.size());
    block_of_.push_back(block);
    return;
  }
  blocks_[block].id = free_ids_.back();
  free_ids_.pop_back();
  block_of_[blocks_[block].id] = block;
}

/// As a ghost; the oldest is forgotten when there are too many.
void SimCache::remember(std::uint32_t number) {
  Block& added = blocks_[number];
  if (added.state == State::kGhost) return;
  added.state = State::kGhost;
  added.ghost = ++ghosts_made_;
  ghosts_.emplace_back(number, added.ghost);
  const std::size_t most = std::max<std::size_t>(resident_, limits::kGhostsMin);
  while (ghosts_.size() > most) {
    const auto [oldest, ghost] = ghosts_.front();
    ghosts_.pop_front();
    Block& block = blocks_[oldest];
    if (block.state != State::kGhost || block.ghost != ghost) continue;  // back since
    if (block.served_by == number_) {                                    // about to come back
      ghosts_.emplace_back(oldest, ghost);
      return;
    }
    free_ids_.push_back(block.id);
    block = {.served_by = block.served_by, .touched_by = block.touched_by};
  }
}

}  // namespace larder
