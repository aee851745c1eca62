#include "ops/trace_reader.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zstd.h>

#include "ops/trace_csv.h"
#include "store/limits.h"
#include "store/status_macros.h"

namespace larder {
namespace {

constexpr std::size_t kReadBytes = 128 << 10;
constexpr unsigned char kZstdMagic[] = {0x28, 0xb5, 0x2f, 0xfd};

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct ZstdFree {
  void operator()(ZSTD_DStream* zstd) const { ZSTD_freeDStream(zstd); }
};

}  // namespace

struct TraceReader::Stream {
  std::string path;
  std::unique_ptr<std::FILE, FileCloser> file;
  std::unique_ptr<ZSTD_DStream, ZstdFree> zstd;  // null: plain text
  bool frame_open = false;                       // in the middle of a compressed frame
  std::string packed;                            // read and not yet decompressed, from packed_taken
  std::size_t packed_taken = 0;
  bool more_inside = false;  // the last piece was filled: more may be waiting in the decompressor
  std::uint64_t line = 0;
  std::string text;  // read and not yet given out
  std::size_t taken = 0;
  bool end = false;
  bool begun = false;  // a line that is not blank was read
  bool csv = false;

  std::string where() const { return fmt::format("{}:{}", path, line); }
  absl::Status fill();
  absl::Status decompress();
  absl::StatusOr<bool> next_line(std::string& out);
};

/// Reads a piece more, of bounded size: of what is compressed, a little can be very much.
absl::Status TraceReader::Stream::fill() {
  if (packed_taken < packed.size() || more_inside) return decompress();
  std::string raw(kReadBytes, '\0');
  raw.resize(std::fread(raw.data(), 1, raw.size(), file.get()));
  if (std::ferror(file.get()) != 0) {
    return absl::UnavailableError(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  if (raw.empty()) {
    end = true;
    if (!frame_open) return absl::OkStatus();
    return absl::DataLossError(fmt::format("{}: compressed stream ends too early", where()));
  }
  if (!zstd) {
    text += raw;
    return absl::OkStatus();
  }
  packed = std::move(raw);
  packed_taken = 0;
  return decompress();
}

absl::Status TraceReader::Stream::decompress() {
  ZSTD_inBuffer input{packed.data(), packed.size(), packed_taken};
  std::string piece(ZSTD_DStreamOutSize(), '\0');
  ZSTD_outBuffer output{piece.data(), piece.size(), 0};
  const std::size_t code = ZSTD_decompressStream(zstd.get(), &output, &input);
  if (ZSTD_isError(code) != 0) {
    return absl::DataLossError(fmt::format("{}: {}", where(), ZSTD_getErrorName(code)));
  }
  text.append(piece, 0, output.pos);
  more_inside = output.pos == output.size;
  if (output.pos > 0 || input.pos > packed_taken) frame_open = code != 0;
  packed_taken = input.pos;
  return absl::OkStatus();
}

absl::StatusOr<bool> TraceReader::Stream::next_line(std::string& out) {
  std::size_t searched = taken;
  while (true) {
    const std::size_t newline = text.find('\n', searched);
    if (newline != std::string::npos) {
      out.assign(text, taken, newline - taken);
      taken = newline + 1;
      break;
    }
    if (text.size() - taken > kLineBytesMax) {
      return absl::InvalidArgumentError(
          fmt::format("{}:{}: line is longer than {} bytes", path, line + 1, kLineBytesMax));
    }
    if (end) {
      if (taken == text.size()) return false;
      out.assign(text, taken);  // the last line has no newline
      taken = text.size();
      break;
    }
    text.erase(0, taken);
    taken = 0;
    searched = text.size();
    LARDER_RETURN_IF_ERROR(fill());
  }
  line += 1;
  return true;
}

namespace {

using Json = nlohmann::json;

absl::StatusOr<std::uint64_t> field(const Json& object, const char* name, std::uint64_t max) {
  const auto found = object.find(name);
  if (found == object.end()) return absl::InvalidArgumentError(fmt::format("no {}", name));
  if (!found->is_number_unsigned()) {
    return absl::InvalidArgumentError(
        fmt::format("{} is {}, must be a whole number of 0 or more", name,
                    found->dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 40)));
  }
  const auto value = found->get<std::uint64_t>();
  if (value <= max) return value;
  return absl::InvalidArgumentError(fmt::format("{} is {}, must be at most {}", name, value, max));
}

absl::StatusOr<std::vector<std::uint64_t>> hash_ids(const Json& object) {
  const auto found = object.find("hash_ids");
  if (found == object.end()) return absl::InvalidArgumentError("no hash_ids");
  if (!found->is_array()) return absl::InvalidArgumentError("hash_ids is not an array");
  if (found->size() > limits::kMatchUnitsMax) {
    return absl::InvalidArgumentError(fmt::format("hash_ids has {} elements, must be at most {}",
                                                  found->size(), limits::kMatchUnitsMax));
  }
  std::vector<std::uint64_t> ids;
  ids.reserve(found->size());
  for (const Json& id : *found) {
    if (!id.is_number_unsigned()) {
      return absl::InvalidArgumentError(
          fmt::format("hash_ids[{}] is not a whole number of 0 or more", ids.size()));
    }
    ids.push_back(id.get<std::uint64_t>());
  }
  return ids;
}

absl::StatusOr<TraceRequest> parse_line(const std::string& text) {
  const Json object = Json::parse(text, nullptr, false);
  if (object.is_discarded()) return absl::InvalidArgumentError("not JSON");
  if (!object.is_object()) return absl::InvalidArgumentError("not a JSON object");
  TraceRequest request;
  LARDER_ASSIGN_OR_RETURN(request.timestamp_ms,
                          field(object, "timestamp", TraceReader::kTimestampMsMax));
  LARDER_ASSIGN_OR_RETURN(const std::uint64_t input,
                          field(object, "input_length", TraceReader::kTokensMax));
  LARDER_ASSIGN_OR_RETURN(const std::uint64_t output,
                          field(object, "output_length", TraceReader::kTokensMax));
  LARDER_ASSIGN_OR_RETURN(request.hash_ids, hash_ids(object));
  request.input_length = static_cast<std::uint32_t>(input);
  request.output_length = static_cast<std::uint32_t>(output);
  return request;
}

}  // namespace

TraceReader::TraceReader(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;
TraceReader::~TraceReader() = default;

absl::StatusOr<TraceReader> TraceReader::open(const std::string& path) {
  auto stream = std::make_unique<Stream>();
  stream->path = path;
  stream->file.reset(std::fopen(path.c_str(), "rbe"));
  if (!stream->file) {
    const std::string why = fmt::format("{}: {}", path, std::strerror(errno));
    if (errno == ENOENT) return absl::NotFoundError(why);
    if (errno == EACCES) return absl::PermissionDeniedError(why);
    return absl::UnavailableError(why);
  }
  unsigned char magic[sizeof(kZstdMagic)] = {};
  const std::size_t got = std::fread(magic, 1, sizeof(magic), stream->file.get());
  if (got == sizeof(magic) && std::memcmp(magic, kZstdMagic, sizeof(magic)) == 0) {
    stream->zstd.reset(ZSTD_createDStream());
  }
  std::rewind(stream->file.get());
  return TraceReader(std::move(stream));
}

absl::StatusOr<std::optional<TraceRequest>> TraceReader::next() {
  std::string text;
  while (true) {
    LARDER_ASSIGN_OR_RETURN(const bool more, stream_->next_line(text));
    if (!more) return std::optional<TraceRequest>();
    const std::size_t end = text.find_last_not_of(" \t\r");
    if (end == std::string::npos) continue;
    const bool first = !std::exchange(stream_->begun, true);
    if (!first || std::string_view(text).substr(0, end + 1) != kTraceCsvHeader) break;
    stream_->csv = true;
  }
  auto request = stream_->csv ? parse_csv_line(text) : parse_line(text);
  if (request.ok()) return std::optional<TraceRequest>(*std::move(request));
  return absl::InvalidArgumentError(
      fmt::format("{}: {}", stream_->where(), std::string(request.status().message())));
}

std::uint64_t TraceReader::line() const {
  return stream_->line;
}

absl::StatusOr<std::vector<TraceRequest>> read_trace(const std::string& path, std::uint64_t limit) {
  LARDER_ASSIGN_OR_RETURN(TraceReader reader, TraceReader::open(path));
  std::vector<TraceRequest> requests;
  while (limit == 0 || requests.size() < limit) {
    LARDER_ASSIGN_OR_RETURN(auto request, reader.next());
    if (!request) break;
    requests.push_back(*std::move(request));
  }
  return requests;
}

}  // namespace larder
