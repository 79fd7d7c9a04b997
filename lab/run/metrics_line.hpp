// Formats and parses the lines of metrics.jsonl: one JSON object per record (docs/training.md).
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "lab/run/run_record.hpp"

namespace sing::lab::run {

using MetricsRecord = std::variant<StepRecord, EvaluationRecord, EndRecord>;

// Includes the line break. A number that is not finite is written as null.
std::string metrics_line(const MetricsRecord& record);

// Returns none for a line that is not a record, such as one cut off by a crash. A value of the
// wrong type counts as absent, except for the step and the status.
std::optional<MetricsRecord> parse_metrics_line(const std::string& line);

}  // namespace sing::lab::run
