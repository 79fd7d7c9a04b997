// The lines of metrics.jsonl: one JSON object per record (docs/training.md).
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "lab/run/run_record.hpp"

namespace sing::lab::run {

using MetricsRecord = std::variant<StepRecord, EvaluationRecord, EndRecord>;

// With the line break. A number that is not finite is null.
std::string metrics_line(const MetricsRecord& record);

// None for a line that is no record, such as one that a crash cut off. A value of the wrong type
// counts as absent, except for the step and the status.
std::optional<MetricsRecord> parse_metrics_line(const std::string& line);

}  // namespace sing::lab::run
