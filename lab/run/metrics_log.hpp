// metrics.jsonl: what a run measured, one JSON object a line (docs/training.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/run/appended_file.hpp"
#include "sing/base/enum_names.hpp"

namespace sing::lab::run {

// Means over the steps since the last record.
struct StepRecord {
  std::int64_t step = 0;  // steps taken so far
  double epoch = 0;
  double loss = 0;
  double learning_rate = 0;  // of this step
  double images_per_second = 0;
  double data_seconds = 0;
  double forward_backward_seconds = 0;
  double optimizer_seconds = 0;
  std::vector<std::pair<std::string, double>> gradient_norms;  // of this step; may be empty
};

struct EvaluationRecord {
  std::int64_t step = 0;
  double epoch = 0;
  double loss = 0;
  double accuracy = 0;  // 0 … 1
};

// finished: all steps; diverged: given up, its numbers mean nothing; interrupted: to be resumed.
enum class RunStatus { kFinished, kDiverged, kInterrupted };
constexpr auto enum_names(RunStatus) {
  return std::to_array<EnumName<RunStatus>>({{RunStatus::kFinished, "finished"},
                                             {RunStatus::kDiverged, "diverged"},
                                             {RunStatus::kInterrupted, "interrupted"}});
}

struct EndRecord {
  RunStatus status = RunStatus::kFinished;
  std::optional<double> best_accuracy;
  std::optional<double> final_accuracy;
  std::optional<double> final_loss;
  double seconds = 0;  // of training, over all resumptions
};

class MetricsLog {
 public:
  MetricsLog(const std::filesystem::path& path, std::uint64_t keep) : file_(path, keep) {}

  void write(const StepRecord& record);
  void write(const EvaluationRecord& record);
  void write(const EndRecord& record);

  AppendedFile& file() { return file_; }

 private:
  AppendedFile file_;
};

// The last line if it is an end record that says the run needs no more work.
std::optional<EndRecord> read_end(const std::filesystem::path& path);

}  // namespace sing::lab::run
