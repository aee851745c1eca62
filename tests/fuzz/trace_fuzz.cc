// A recorded trace, plain or compressed. The first byte says whether the rest is taken as it is or
// compressed first, in frames as long as it says: a changed compressed stream seldom gets far.
// Whatever comes: no crash, bounded memory, requests within the reader's limits; and compressed or
// not, the same lines are the same requests.

#include <string>
#include <vector>

#include <zstd.h>

#include "ops/trace_reader.h"
#include "store/assert.h"
#include "store/limits.h"
#include "tests/fuzz/reached.h"
#include "tests/temp_dir.h"

namespace larder {
namespace {

fuzz::Reached reached;

const test::TempDir& dir() {
  static const test::TempDir one(test::kShm);
  return one;
}

struct Outcome {
  std::vector<TraceRequest> requests;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::uint64_t line = 0;
};

Outcome read(const std::string& path) {
  Outcome out;
  auto reader = TraceReader::open(path);
  LARDER_ASSERT(reader.ok());
  for (;;) {
    auto next = reader->next();
    out.line = reader->line();
    if (!next.ok()) {
      out.code = next.status().code();
      LARDER_ASSERT(next.status().message().find(path) != std::string::npos);
      return out;
    }
    if (!*next) return out;
    const TraceRequest& request = **next;
    LARDER_ASSERT(request.timestamp_ms <= TraceReader::kTimestampMsMax);
    LARDER_ASSERT(request.input_length <= TraceReader::kTokensMax);
    LARDER_ASSERT(request.output_length <= TraceReader::kTokensMax);
    LARDER_ASSERT(request.hash_ids.size() <= limits::kMatchUnitsMax);
    out.requests.push_back(request);
  }
}

std::string compressed(const std::string& text, std::size_t frame) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += frame) {
    const std::size_t n = std::min(frame, text.size() - at);
    std::string piece(ZSTD_compressBound(n), '\0');
    piece.resize(ZSTD_compress(piece.data(), piece.size(), text.data() + at, n, 1));
    out += piece;
  }
  return out;
}

void run(const std::string& text, std::uint8_t how) {
  const Outcome plain = read(dir().file("trace", text));
  if (!plain.requests.empty()) reached.past();
  const auto whole = read_trace(dir().path() + "/trace", 0);
  LARDER_ASSERT(whole.ok() == (plain.code == absl::StatusCode::kOk));
  if (how == 0 || text.starts_with("\x28\xb5\x2f\xfd")) return;
  const Outcome packed = read(dir().file("trace.zst", compressed(text, how * 16UL)));
  LARDER_ASSERT(packed.requests.size() == plain.requests.size());
  LARDER_ASSERT(packed.code == plain.code);
  LARDER_ASSERT(packed.line == plain.line);
}

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  larder::reached.input();
  if (size == 0) return 0;
  larder::run({reinterpret_cast<const char*>(data) + 1, size - 1}, data[0]);
  return 0;
}
