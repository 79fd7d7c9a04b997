// Defines the records of a run: what a training measures, writes to its run directory, and reads
// back.
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

namespace sing::lab::run {

// A number that was not measured or is not finite; JSON has null for both.
inline constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

// The usual score by which the best weights are chosen.
inline constexpr const char* kAccuracy = "accuracy";

// Means over the steps since the last record.
struct StepRecord {
  std::int64_t step = 0;  // steps taken so far
  double epoch = kAbsent;
  double loss = kAbsent;
  double learning_rate = kAbsent;  // at this step
  std::string unit = "images";     // the task's
  double units_per_second = kAbsent;
  double data_seconds = kAbsent;  // per step, like the next two
  double forward_backward_seconds = kAbsent;
  double optimizer_seconds = kAbsent;
  // Norms at this step, by parameter name in the model's order; empty if they were not requested.
  std::vector<std::pair<std::string, double>> gradient_norms;
};

struct EvaluationRecord {
  std::int64_t step = 0;
  double epoch = kAbsent;
  double loss = kAbsent;
  double accuracy = kAbsent;  // 0 … 1
  // The name of the accuracy, and other scores with their names.
  std::string score_name = kAccuracy;
  std::vector<std::pair<std::string, double>> others = {};
};

// finished: all steps were taken; diverged: the run was given up and its numbers mean nothing;
// interrupted: the run can be resumed.
enum class RunStatus { kFinished, kDiverged, kInterrupted };
constexpr auto enum_names(RunStatus) {
  return std::to_array<EnumName<RunStatus>>({{RunStatus::kFinished, "finished"},
                                             {RunStatus::kDiverged, "diverged"},
                                             {RunStatus::kInterrupted, "interrupted"}});
}

struct EndRecord {
  RunStatus status = RunStatus::kFinished;
  double best_accuracy = kAbsent;
  double final_accuracy = kAbsent;
  double final_loss = kAbsent;
  double seconds = kAbsent;  // training time, over all resumptions
  // The last evaluation's.
  std::string score_name = kAccuracy;
  std::vector<std::pair<std::string, double>> others = {};
};

// Everything that a run directory holds, except for the checkpoints.
struct RunRecord {
  std::filesystem::path directory;
  std::string name;
  std::vector<std::pair<std::string, std::string>> settings;  // config.json; a.b for nested keys
  std::vector<StepRecord> steps;
  std::vector<EvaluationRecord> evaluations;
  std::optional<EndRecord> end;  // none while the training runs, or after it was killed
  std::int64_t unreadable_lines = 0;
  std::vector<std::filesystem::path> pictures;  // and sample texts, earliest first

  // Returns whether the run needs no more steps.
  bool is_complete() const { return end && end->status != RunStatus::kInterrupted; }
  bool has_diverged() const { return end && end->status == RunStatus::kDiverged; }

  // Returns the setting of that name at any depth of config.json, or "" if there is none.
  std::string setting(std::string_view setting_name) const {
    for (const auto& [key, value] : settings) {
      if (std::string_view(key).substr(key.rfind('.') + 1) == setting_name) {
        return value;
      }
    }
    return {};
  }
};

// Returns which set the run's accuracies are from: "test", which is the only one that early
// versions had, or "validation".
inline std::string evaluated_on(const RunRecord& run) {
  const std::string recorded = run.setting("evaluate_on");
  return recorded.empty() ? "test" : recorded;
}

}  // namespace sing::lab::run
