// What a training left in its run directory, in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sing/base/enum_names.hpp"

namespace sing::lab::report {

// A number that a line does not have, or has as null (JSON has no other way to write a NaN).
inline constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

struct StepRecord {
  std::int64_t step = 0;
  double epoch = kAbsent;  // epochs passed
  double loss = kAbsent;
  double learning_rate = kAbsent;
  double images_per_second = kAbsent;
  double data_seconds = kAbsent;  // of one step, as the two below
  double forward_backward_seconds = kAbsent;
  double optimizer_seconds = kAbsent;
};

struct EvaluationRecord {
  std::int64_t step = 0;
  double epoch = kAbsent;
  double loss = kAbsent;
  double accuracy = kAbsent;  // a share, 0 … 1
};

struct NormRecord {
  std::int64_t step = 0;
  std::vector<std::pair<std::string, double>> norms;  // by parameter name, in the file's order
};

// kUnfinished: the file has no end line; the training runs, or was killed.
enum class RunStatus { kUnfinished, kFinished, kDiverged, kInterrupted };
constexpr auto enum_names(RunStatus) {
  return std::to_array<EnumName<RunStatus>>({{RunStatus::kUnfinished, "unfinished"},
                                             {RunStatus::kFinished, "finished"},
                                             {RunStatus::kDiverged, "diverged"},
                                             {RunStatus::kInterrupted, "interrupted"}});
}

struct RunEnd {
  RunStatus status = RunStatus::kUnfinished;
  double best_accuracy = kAbsent;
  double final_accuracy = kAbsent;
  double final_loss = kAbsent;
  double seconds = kAbsent;
};

struct RunRecord {
  std::filesystem::path directory;
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;  // a.b for nested keys
  std::vector<StepRecord> steps;
  std::vector<EvaluationRecord> evaluations;
  std::vector<NormRecord> norms;
  std::optional<RunEnd> end;
  std::int64_t unreadable_lines = 0;
  std::vector<std::filesystem::path> pictures;  // earliest first

  RunStatus status() const { return end ? end->status : RunStatus::kUnfinished; }
};

// The option of that name, at whatever depth of config.json it stands; empty if there is none.
std::string option_of(const RunRecord& run, std::string_view name);

}  // namespace sing::lab::report
