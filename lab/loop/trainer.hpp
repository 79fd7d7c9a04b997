// Defines the training loop: steps, records, evaluations, checkpoints, and the exact resumption of
// a run.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "adapters/torch/optimizer.hpp"
#include "lab/command/progress_bar.hpp"
#include "lab/command/remaining_time.hpp"
#include "lab/command/stop_signal.hpp"
#include "lab/loop/checkpoint.hpp"
#include "lab/loop/evaluation.hpp"
#include "lab/loop/gradient_pass.hpp"
#include "lab/loop/phase_timer.hpp"
#include "lab/loop/prefetcher.hpp"
#include "lab/loop/state_shares.hpp"
#include "lab/loop/training_plan.hpp"
#include "lab/optimizer/hessian_diagonal.hpp"
#include "lab/ranks/one_process.hpp"
#include "lab/run/run_directory.hpp"
#include "lab/run/run_writer.hpp"
#include "lab/task/task.hpp"

namespace sing::lab::loop {

// Computes the number of steps; a last step of an epoch that the task's batches do not fill is left
// out. Throws std::invalid_argument if the training set does not fill one step or the batch is not
// divisible by `accumulate` and the ranks.
void count_steps(TrainingPlan& plan, const task::Task& task);

// Sets torch's options for the whole process: threads and determinism. Turns off cuDNN's attention,
// which gave NaN gradients in bf16 (LibTorch 2.11 on an H200).
void prepare_torch(const TrainingPlan& plan);

class Trainer {
 public:
  // The weights come from the seed or, with `resume`, from the last checkpoint if there is one.
  // Each of the plan's ranks trains on its part of every batch; rank 0 evaluates and writes the
  // files.
  Trainer(task::Task& task, const TrainingPlan& plan, const run::RunDirectory& directory,
          command::ProgressBar& progress, bool resume, ranks::Ranks& ranks = ranks::one_process());

  std::int64_t parameter_count() const;
  std::int64_t first_step() const { return state_.step; }

  // `small_recipe` is a file of options for a shorter training, which is mentioned if this one
  // takes long on a CPU; it may be empty.
  run::EndRecord run(const command::StopSignal& stop, std::string_view small_recipe);

 private:
  using Clock = std::chrono::steady_clock;

  void check_same_start();
  void take_step(Prefetcher<task::Batch>& source);
  void average(const std::vector<task::Batch>& parts, const std::vector<at::Tensor>& tensors);
  void average_gradients(const std::vector<task::Batch>& parts, const at::Tensor& loss);
  at::Tensor gradients_with_curvature(const std::vector<task::Batch>& parts);
  void record_step();
  bool has_diverged(double loss);
  bool is_checkpoint_due();
  void evaluate_now();
  void record_evaluation();
  void save();
  bool is_time(std::int64_t every) const { return every > 0 && state_.step % every == 0; }
  double epoch() const;
  double seconds() const;
  run::EndRecord finish(run::RunStatus status);

  task::Task& task_;
  TrainingPlan plan_;
  run::RunDirectory directory_;
  command::ProgressBar& progress_;
  ranks::Ranks& ranks_;
  task::TaskModel model_;
  StateShares shares_;
  sing::torch::Optimizer optimizer_;
  TrainingState state_;
  std::optional<run::RunWriter> writer_;  // on rank 0
  GradientPass gradient_pass_;
  PhaseTimer timer_;
  std::mutex task_mutex_;
  at::Tensor loss_sum_;            // since the last record, on the device
  std::int64_t window_units_ = 0;  // units that this rank has processed
  double window_seconds_ = 0;
  command::RemainingTime remaining_;
  bool diverged_ = false;
  std::vector<sing::torch::NamedTensor> best_weights_;  // not yet saved
  std::int64_t best_step_ = 0;
  double earlier_seconds_ = 0;  // training time before this process
  Clock::time_point started_ = Clock::now();
  Clock::time_point saved_ = started_;
};

}  // namespace sing::lab::loop
