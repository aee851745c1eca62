#pragma once

#include <string_view>

#include "absl/status/statusor.h"

#include "ops/trace_reader.h"

namespace larder {

/// The first line of a trace that is CSV. Below it a line a request: time in milliseconds, tokens
/// of the prompt, tokens of the output, and the hash ids, root first, with a space between them.
inline constexpr std::string_view kTraceCsvHeader = "timestamp,input_length,output_length,hash_ids";

/// INVALID_ARGUMENT naming the field.
absl::StatusOr<TraceRequest> parse_csv_line(std::string_view line);

}  // namespace larder
