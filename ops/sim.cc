#include "ops/sim.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include <fmt/format.h>

#include "ops/clock.h"
#include "ops/curve_plot.h"
#include "ops/lru_curve.h"
#include "policies/make_policy.h"
#include "policies/watermark_policy.h"
#include "store/status_macros.h"

namespace larder {
namespace {

/// What all simulations of a trace share.
struct Plan {
  const SimTrace& trace;
  double rate;
  std::uint64_t references;  ///< of the whole trace, also when a sample is played
  std::vector<std::uint32_t> hints;
  std::vector<std::uint32_t> next;
};

absl::StatusOr<SimCache> make_cache(const Plan& plan, const std::string& policy,
                                    std::uint64_t capacity) {
  const auto blocks = static_cast<double>(capacity) * plan.rate;
  SimOptions options{.capacity = {std::max<std::uint64_t>(1, static_cast<std::uint64_t>(blocks))}};
  if (policy == "min")
    return SimCache(plan.trace, options, std::make_unique<MinPolicy>(), plan.next);
  if (policy == "watermark") {
    options.watermark = WatermarkPolicy::kWatermark;
    options.batch = WatermarkPolicy::kBatch;
  }
  std::vector<std::unique_ptr<EvictionPolicy>> policies;
  for (std::uint32_t n = 0; n < plan.trace.tenants; ++n) {
    LARDER_ASSIGN_OR_RETURN(policies.emplace_back(), make_policy(policy));
  }
  return SimCache(plan.trace, options, std::move(policies));
}

/// Of a sample, references that it has too many or too few are hits: SHARDS-adj.
double hit_rate(std::uint64_t hits, std::uint64_t references, const Plan& plan) {
  if (plan.references == 0) return 0;
  const double expected = static_cast<double>(plan.references) * plan.rate;
  const double missing = plan.rate < 1 ? expected - static_cast<double>(references) : 0;
  return std::clamp((static_cast<double>(hits) + missing) / expected, 0.0, 1.0);
}

std::uint64_t scaled(std::uint64_t count, const Plan& plan) {
  return static_cast<std::uint64_t>(static_cast<double>(count) / plan.rate);
}

void set_speed(SimResult& result, double seconds, const Plan& plan) {
  result.seconds = seconds;
  result.references_per_s =
      seconds > 0 ? static_cast<double>(plan.trace.references()) / seconds : 0;
}

absl::Status play(const Plan& plan, SimResult of, const std::vector<std::string>& names,
                  std::vector<SimResult>& out) {
  LARDER_ASSIGN_OR_RETURN(SimCache cache, make_cache(plan, of.policy, of.capacity));
  const Time began = clock_now();
  for (std::uint32_t n = 0; n < plan.trace.requests.size(); ++n) {
    cache.serve(n, plan.hints.empty() ? std::nullopt : std::optional(plan.hints[n]));
  }
  set_speed(of, seconds_between(began, clock_now()), plan);
  const auto add = [&](const std::string& name, const SimCounts& counts, double rate) {
    of.trace = name;
    of.hit_rate = rate;
    of.inserts = scaled(counts.inserts, plan);
    of.evictions = scaled(counts.evictions, plan);
    out.push_back(of);
  };
  const SimCounts& all = cache.counts();
  add(names.size() == 1 ? names[0] : "all", all, hit_rate(all.hits, all.references, plan));
  if (names.size() == 1) return absl::OkStatus();
  for (std::size_t n = 0; n < names.size(); ++n) {
    const SimCounts& own = cache.tenants()[n];
    const auto references = static_cast<double>(std::max<std::uint64_t>(own.references, 1));
    add(names[n], own, static_cast<double>(own.hits) / references);
  }
  return absl::OkStatus();
}

/// All capacities in one pass.
void play_curve(const Plan& plan, const std::vector<std::uint64_t>& capacities,
                const std::string& name, std::vector<SimResult>& out) {
  const Time began = clock_now();
  const LruCurve curve(plan.trace);
  const double seconds = seconds_between(began, clock_now());
  for (const std::uint64_t capacity : capacities) {
    const auto blocks = static_cast<std::uint64_t>(static_cast<double>(capacity) * plan.rate);
    SimResult result{.trace = name, .policy = "lru", .capacity = capacity};
    result.hit_rate = hit_rate(curve.hits(blocks), curve.references(), plan);
    result.inserts = scaled(curve.inserts(blocks), plan);
    result.evictions = scaled(curve.evictions(blocks), plan);
    set_speed(result, seconds, plan);
    out.push_back(result);
  }
}

/// Where LRU and the optimum were simulated too.
void set_gaps(std::vector<SimResult>& results) {
  const auto rate_of = [&](const SimResult& at, const char* policy) -> std::optional<double> {
    for (const SimResult& other : results) {
      if (other.policy == policy && other.capacity == at.capacity && other.trace == at.trace)
        return other.hit_rate;
    }
    return std::nullopt;
  };
  for (SimResult& result : results) {
    const auto lru = rate_of(result, "lru");
    const auto min = rate_of(result, "min");
    if (lru && min && *min > *lru) result.gap_closed = (result.hit_rate - *lru) / (*min - *lru);
  }
}

absl::StatusOr<std::vector<std::string>> parse_policies(const std::string& text) {
  const std::vector<std::string> names = absl::StrSplit(text, ',');
  for (const std::string& name : names) {
    if (name == "min") continue;
    if (const auto made = make_policy(name); !made.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("--{}, min", std::string(made.status().message())));
    }
  }
  return names;
}

Report report_of(const std::vector<SimResult>& results, bool several) {
  Report report;
  report.name_rows("results");
  for (const SimResult& result : results) {
    Report::Row row;
    if (several) row.emplace_back("trace", result.trace);
    row.emplace_back("policy", result.policy);
    row.emplace_back("capacity", result.capacity);
    row.emplace_back("hit_rate", result.hit_rate);
    row.emplace_back("inserts", result.inserts);
    row.emplace_back("evictions", result.evictions);
    row.emplace_back("seconds", result.seconds);
    row.emplace_back("references_per_s", result.references_per_s);
    const std::string gap =
        result.gap_closed ? fmt::format("{:.1f} %", 100 * *result.gap_closed) : "-";
    row.emplace_back("gap_closed", gap);
    report.add_row(std::move(row));
  }
  return report;
}

absl::Status plot(const std::vector<SimResult>& results, bool several, const SimCommand& command) {
  std::vector<PlotCurve> curves;
  for (const SimResult& result : results) {
    const std::string name =
        several ? fmt::format("{} {}", result.policy, result.trace) : result.policy;
    auto curve = std::find_if(curves.begin(), curves.end(),
                              [&](const PlotCurve& known) { return known.name == name; });
    if (curve == curves.end()) curve = curves.insert(curves.end(), {.name = name, .points = {}});
    curve->points.push_back({static_cast<double>(result.capacity), 1 - result.hit_rate});
  }
  const std::string title = "Miss ratio: " + absl::StrJoin(command.traces, ", ");
  return write_plot(command.plot, plot_html(title, curves));
}

absl::Status validate(const SimCommand& command) {
  if (!(command.sample > 0 && command.sample <= 1)) {
    return absl::InvalidArgumentError(
        fmt::format("--sample {}: must be above 0, at most 1", command.sample));
  }
  if (command.block_bytes.count == 0) {
    return absl::InvalidArgumentError("--block-bytes 0: must be at least 1");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SimResult>> simulate(const SimTrace& whole, const SimCommand& command,
                                                const std::vector<std::string>& names) {
  LARDER_ASSIGN_OR_RETURN(const std::vector<std::string> policies,
                          parse_policies(command.policies));
  LARDER_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> capacities,
                          parse_capacities(command.capacities, command.block_bytes, whole.unique));
  const SimTrace sampled = command.sample < 1 ? sample(whole, command.sample) : SimTrace{};
  const SimTrace& trace = command.sample < 1 ? sampled : whole;
  if (trace.references() == 0 && whole.references() > 0) {
    return absl::InvalidArgumentError(
        fmt::format("--sample {}: none of the trace's {} blocks is in it; take more of them",
                    command.sample, whole.unique));
  }
  Plan plan{trace, command.sample, whole.references(), {}, {}};
  if (!command.hints.empty()) {
    LARDER_ASSIGN_OR_RETURN(const SimHints hints, parse_hints(command.hints));
    plan.hints = make_hints(trace, hints);
  }
  std::vector<SimResult> results;
  for (const std::string& policy : policies) {
    if (policy == "min" && plan.next.empty()) plan.next = next_requests(trace);
    if (policy == "lru" && names.size() == 1 && capacities.size() > 1) {
      play_curve(plan, capacities, names[0], results);
      continue;
    }
    for (const std::uint64_t capacity : capacities) {
      LARDER_RETURN_IF_ERROR(play(plan, {.policy = policy, .capacity = capacity}, names, results));
    }
  }
  set_gaps(results);
  return results;
}

absl::StatusOr<ExitCode> run(const SimCommand& command) {
  LARDER_RETURN_IF_ERROR(validate(command));
  std::vector<std::vector<TraceRequest>> traces;
  for (const std::string& path : command.traces) {
    LARDER_ASSIGN_OR_RETURN(traces.emplace_back(), read_trace(path, command.limit));
  }
  std::vector<SimResult> results;
  const bool several = command.traces.size() > 1;
  if (command.tenants) {
    LARDER_ASSIGN_OR_RETURN(results, simulate(make_sim_trace(traces), command, command.traces));
  } else {
    for (std::size_t n = 0; n < traces.size(); ++n) {
      LARDER_ASSIGN_OR_RETURN(
          std::vector<SimResult> more,
          simulate(make_sim_trace(std::span(traces).subspan(n, 1)), command, {command.traces[n]}));
      std::move(more.begin(), more.end(), std::back_inserter(results));
    }
  }
  if (!command.plot.empty()) LARDER_RETURN_IF_ERROR(plot(results, several, command));
  report_of(results, several).print(command.json);
  return ExitCode::kOk;
}

}  // namespace larder
