// The training loop: steps, records, evaluations, checkpoints, and the exact continuation of a run.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "adapters/torch/optimizer.hpp"
#include "lab/loop/checkpoint.hpp"
#include "lab/loop/evaluation.hpp"
#include "lab/loop/gradient_pass.hpp"
#include "lab/loop/metrics_log.hpp"
#include "lab/loop/phase_timer.hpp"
#include "lab/loop/prefetcher.hpp"
#include "lab/loop/progress_bar.hpp"
#include "lab/loop/run_directory.hpp"
#include "lab/loop/stop_signal.hpp"
#include "lab/loop/tensorboard_events.hpp"
#include "lab/loop/training_plan.hpp"
#include "lab/optimizer/hessian_diagonal.hpp"
#include "lab/task/task.hpp"

namespace sing::lab {

// How many steps a task's training has; a last part of an epoch that fills no batch is left out.
// Throws std::invalid_argument for a batch larger than the set or that `accumulate` does not
// divide.
void count_steps(TrainingPlan& plan, const Task& task);

// Torch's settings for the whole process: threads, determinism, and cuDNN's attention off, which
// gave NaN gradients in bf16 (LibTorch 2.11 on an H200).
void prepare_torch(const TrainingPlan& plan);

class Trainer {
 public:
  // The model's weights come from the seed, or with `resume` from the last checkpoint if there is
  // one.
  Trainer(Task& task, const TrainingPlan& plan, RunDirectory& directory, ProgressBar& progress,
          bool resume);

  std::int64_t parameter_count() const;
  std::int64_t first_step() const { return state_.step; }

  EndRecord run(const StopSignal& stop);

 private:
  using Clock = std::chrono::steady_clock;

  void take_step(Prefetcher<Batch>& source);
  at::Tensor gradients_with_curvature(const std::vector<Batch>& parts);
  void record_step();
  bool has_diverged(double loss);
  void evaluate_now();
  void save();
  bool is_time(std::int64_t every) const { return every > 0 && state_.step % every == 0; }
  double epoch() const;
  double seconds() const;
  EndRecord finish(RunStatus status);

  Task& task_;
  TrainingPlan plan_;
  RunDirectory& directory_;
  ProgressBar& progress_;
  TaskModel model_;
  sing::torch::Optimizer optimizer_;
  TrainingState state_;
  MetricsLog metrics_;
  TensorboardEvents events_;
  GradientPass gradient_pass_;
  PhaseTimer timer_;
  std::mutex task_mutex_;
  at::Tensor loss_sum_;  // since the last record, on the device
  double window_seconds_ = 0;
  bool diverged_ = false;
  std::vector<sing::torch::NamedTensor> best_weights_;  // not yet in a file
  std::int64_t best_step_ = 0;
  double earlier_seconds_ = 0;  // before this process
  Clock::time_point started_ = Clock::now();
  Clock::time_point saved_ = started_;
};

}  // namespace sing::lab
