#include "ops/replay.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "ops/clock.h"
#include "ops/percentile.h"
#include "ops/replay_pool.h"
#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {
namespace {

constexpr std::uint32_t kWorkersMax = 256;
constexpr double kRateMax = 1e6;

absl::Status out_of_bounds(const char* flag, double value, double min, double max) {
  return absl::InvalidArgumentError(
      fmt::format("{} = {}: must be {} to {}", flag, value, min, max));
}

absl::Status check(const char* flag, double value, double min, double max) {
  return value >= min && value <= max ? absl::OkStatus() : out_of_bounds(flag, value, min, max);
}

double mib_per_second(std::uint64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / 0x1p20 / seconds : 0;
}

/// One line on standard error, drawn over itself.
class ProgressBar {
 public:
  ProgressBar(bool shown, std::uint64_t total) : shown_(shown), total_(total) {}
  void draw(std::uint64_t done) const {
    if (!shown_ || total_ == 0) return;
    constexpr std::uint64_t kCells = 40;
    const auto cells = static_cast<std::size_t>(done * kCells / total_);
    fmt::print(stderr, "\r[{}{}] {} of {} requests", std::string(cells, '#'),
               std::string(kCells - cells, '.'), done, total_);
    std::fflush(stderr);
  }
  void end() const {
    if (shown_) std::fputs("\n", stderr);
  }

 private:
  bool shown_;
  std::uint64_t total_;
};

/// A daemon that does not allow it refuses the beginning of each request, which nobody waits for.
absl::Status check_trace_time(const ConnectionOptions& connection) {
  LARDER_ASSIGN_OR_RETURN(const auto client, connect(connection));
  LARDER_ASSIGN_OR_RETURN(const double allowed, figure_of(*client, "allow_trace_time"));
  if (allowed != 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--trace-time: this larderd takes no time of its clients; start it with --allow-trace-time");
}

}  // namespace

absl::Status ReplayOptions::validate() const {
  LARDER_RETURN_IF_ERROR(check("--workers", workers, 1, kWorkersMax));
  LARDER_RETURN_IF_ERROR(check("--block-bytes", static_cast<double>(block_bytes.count),
                               static_cast<double>(limits::kBlockBytesMin.count),
                               static_cast<double>(limits::kBlockBytesMax.count)));
  LARDER_RETURN_IF_ERROR(check("--tokens-per-block", tokens_per_block, 1, limits::kUnitTokensMax));
  return check("--rate", rate, 0, kRateMax);
}

absl::StatusOr<ReplayResult> replay(const ReplayOptions& options,
                                    const std::vector<TraceRequest>& trace) {
  ReplayPool pool(options, trace);
  const Time start = clock_now();
  LARDER_RETURN_IF_ERROR(pool.start());
  const ProgressBar bar(options.progress && isatty(STDERR_FILENO) != 0, trace.size());
  const absl::Status ended = pool.wait([&bar](std::uint64_t done) { bar.draw(done); });
  if (ended.ok()) bar.draw(trace.size());
  bar.end();
  LARDER_RETURN_IF_ERROR(ended);
  ReplayResult result = pool.result();
  result.seconds = seconds_between(start, clock_now());
  if (result.errors > 0) {
    fmt::print(stderr, "{} errors; the first: {}\n", result.errors, pool.first_error());
  }
  return result;
}

Report replay_report(const ReplayResult& result, bool json) {
  const double references = static_cast<double>(std::max<std::uint64_t>(1, result.references));
  Report report;
  report.add("requests", result.requests);
  report.add("references", result.references);
  report.add("hit_references", result.hit_references);
  report.add("hit_rate", static_cast<double>(result.hit_references) / references);
  report.add("wrong_bytes", result.wrong_bytes);
  report.add("errors", result.errors);
  report.add("puts_without_room", result.puts_without_room);
  report.add("get_mib_s", mib_per_second(result.get_bytes, result.get_seconds));
  report.add("put_mib_s", mib_per_second(result.put_bytes, result.put_seconds));
  report.add("match_us_p50", percentile(result.match_us, 50));
  report.add("match_us_p99", percentile(result.match_us, 99));
  report.add("get_us_p50", percentile(result.get_us, 50));
  report.add("get_us_p99", percentile(result.get_us, 99));
  report.add("tokens_saved", result.tokens_saved);
  if (json) return report;
  report.add("bytes checked", result.get_bytes);
  report.add("bytes stored", result.put_bytes);
  report.add("seconds", result.seconds);
  return report;
}

absl::StatusOr<ExitCode> run(const ReplayOptions& given) {
  ReplayOptions options = given;
  LARDER_RETURN_IF_ERROR(options.validate());
  LARDER_ASSIGN_OR_RETURN(const auto trace, read_trace(options.trace, options.limit));
  if (options.seed.empty()) {
    options.seed = fmt::format("run-{}-{}", getpid(), clock_now().time_since_epoch().count());
  }
  if (options.trace_time) LARDER_RETURN_IF_ERROR(check_trace_time(options.connection));
  LARDER_ASSIGN_OR_RETURN(const ReplayResult result, replay(options, trace));
  replay_report(result, options.json).print(options.json);
  if (result.wrong_bytes > 0 || result.errors > 0) return ExitCode::kFailure;
  return result.puts_without_room > 0 ? ExitCode::kUnavailable : ExitCode::kOk;
}

}  // namespace larder
