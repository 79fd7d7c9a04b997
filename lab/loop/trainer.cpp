// Runs the training loop.
#include "lab/loop/trainer.hpp"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "lab/loop/kept_weights.hpp"
#include "lab/loop/training_model.hpp"
#include "lab/random/random_stream.hpp"
#include "lab/run/scores_text.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::loop {
namespace {

// A loss that does not improve fluctuates around its first value; only 10 % above it counts as
// divergence.
constexpr double kAbove = 1.1;

bool takes_curvature(const TrainingPlan& plan) {
  return std::visit([]<class R>(const R&) { return kTakesCurvature<R>; }, plan.optimizer.rule);
}

// A checkpoint holds the optimizer's options, which must be those of the run's settings.
void check_options(const std::filesystem::path& checkpoint, const Options& found,
                   const Options& planned) {
  const std::vector<OptionInfo> options = list_options(found);
  const std::vector<OptionInfo> wanted = list_options(planned);
  const auto [got, expected] = std::ranges::mismatch(options, wanted, std::ranges::equal_to{},
                                                     &OptionInfo::value, &OptionInfo::value);
  if (got != options.end() && expected != wanted.end()) {
    throw FileError(
        fmt::format("[checkpoint] '{}': wanted {} = {}, as in the run's settings, got "
                    "{} = {}",
                    checkpoint.string(), expected->name, to_text(expected->value), got->name,
                    to_text(got->value)));
  }
}

TrainingState first_state(const run::RunDirectory& directory, task::TaskModel& model,
                          sing::torch::Optimizer& optimizer, const StateShares& shares,
                          bool resume) {
  const std::filesystem::path checkpoint = directory.checkpoint(kLastCheckpoint);
  if (!resume || !std::filesystem::exists(checkpoint)) {
    return {};
  }
  const Options planned = optimizer.options();
  try {
    TrainingState state =
        load_checkpoint(checkpoint, *model.module, optimizer,
                        [&](const std::string& own) { return shares.own_part(own); });
    check_options(checkpoint, optimizer.options(), planned);
    return state;
  } catch (const FileError& problem) {
    throw FileError(fmt::format("{}; without this file the run begins again", problem.what()));
  }
}

// The ranks draw different numbers in a step, for dropout say, and the same ones again after a
// resume. The order of epochs, scenes and signs use other purposes.
constexpr std::uint32_t kRankPurpose = 0x8001'0000;

void seed_rank(std::int64_t seed, std::int64_t step, int rank) {
  random::RandomStream stream(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(step),
                              kRankPurpose + static_cast<std::uint32_t>(rank));
  ::torch::manual_seed(stream.next());
}

// Returns what the parts count in the mean loss together; none if all parts count the same.
std::optional<double> weight_of(const task::Task& task, const std::vector<task::Batch>& parts) {
  double sum = 0;
  for (const task::Batch& part : parts) {
    const at::Tensor weight = task.weight(part);
    if (!weight.defined()) {
      return std::nullopt;
    }
    sum += weight.item<double>();
  }
  return sum;
}

}  // namespace

void count_steps(TrainingPlan& plan, const task::Task& task) {
  const TrainingOptions& options = plan.training;
  const std::int64_t examples = task.example_count(task::Split::kTraining);
  SING_CHECK(options.batch % options.accumulate == 0,
             "[training] wanted accumulate to divide the batch of {}, got {}", options.batch,
             options.accumulate);
  const std::int64_t parts = options.accumulate * plan.ranks;
  SING_CHECK(options.batch % parts == 0,
             "[training] wanted accumulate × ranks = {} × {} to divide the batch of {}, got a rest",
             options.accumulate, plan.ranks, options.batch);
  plan.steps_per_epoch = task.batch_count(task::Split::kTraining, options.batch / parts) / parts;
  SING_CHECK(plan.steps_per_epoch > 0,
             "[training] wanted a batch of at most the {} training examples, got {}", examples,
             options.batch);
  plan.total_steps = options.steps > 0 ? options.steps : options.epochs * plan.steps_per_epoch;
}

void prepare_torch(const TrainingPlan& plan) {
  SING_CHECK(!(plan.training.autotune && plan.training.deterministic),
             "[training] wanted autotune or deterministic, got both: the fastest convolution may "
             "be another one in another run");
  // Only the plain form of torch's attention can be differentiated twice.
  const bool fused_attention = !takes_curvature(plan);
  at::globalContext().setSDPUseFlash(fused_attention);
  at::globalContext().setSDPUseMemEfficient(fused_attention);
  if (plan.resources.threads > 0) {
    at::set_num_threads(static_cast<int>(plan.resources.threads));
  }
  at::globalContext().setSDPUseCuDNN(false);
  at::globalContext().setBenchmarkCuDNN(plan.training.autotune);
  if (plan.training.deterministic) {
    // cuBLAS requires this variable and reads it when it is first used.
    ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  }
  at::globalContext().setDeterministicAlgorithms(plan.training.deterministic, /*warn_only=*/false);
}

Trainer::Trainer(task::Task& task, const TrainingPlan& plan, const run::RunDirectory& directory,
                 command::ProgressBar& progress, bool resume, ranks::Ranks& ranks)
    : task_(task),
      plan_(plan),
      directory_(directory),
      progress_(progress),
      ranks_(ranks),
      model_(make_training_model(task, plan)),
      shares_(ranks, trained_parameters(*model_.module), plan.shard_state),
      optimizer_(shares_.own(), plan.optimizer),
      state_(first_state(directory, model_, optimizer_, shares_, resume)),
      gradient_pass_(
          plan.device, model_.module->parameters(),
          [this](const std::vector<task::Batch>& parts) {
            return takes_curvature(plan_) ? gradients_with_curvature(parts)
                                          : compute_gradients(task_, model_, plan_, parts);
          },
          // The random signs are drawn for each step; a recorded graph would repeat them.
          plan.training.graph && !takes_curvature(plan)),
      timer_(plan.device),
      loss_sum_(
          at::full({}, state_.window_loss, at::TensorOptions(plan.device).dtype(at::kDouble))),
      earlier_seconds_(state_.seconds) {
  check_same_start();
  if (ranks_.is_first()) {
    writer_.emplace(directory, state_.file_sizes);
  }
  // Fused layers have no second derivative, and need an optimizer that writes all bf16 weights.
  if (plan.training.fused && !takes_curvature(plan) && !shares_.is_shared() &&
      takes_fused_layers(model_, plan)) {
    use_fused_layers(model_, optimizer_);
  }
}

// A rank that does not see the run's folder would begin again.
void Trainer::check_same_start() {
  const at::Tensor step = at::full({}, static_cast<double>(state_.step), at::kDouble);
  ranks_.broadcast(step, 0);
  SING_CHECK(step.item<double>() == static_cast<double>(state_.step),
             "[training] rank {}: wanted the checkpoint of step {}, which rank 0 has, got step {}; "
             "is the run's folder '{}' on a disk that all ranks share?",
             ranks_.rank(), step.item<double>(), state_.step, directory_.path().string());
}

std::int64_t Trainer::parameter_count() const {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model_.module->parameters()) {
    count += parameter.numel();
  }
  return count;
}

double Trainer::epoch() const {
  return static_cast<double>(state_.step) / static_cast<double>(plan_.steps_per_epoch);
}

double Trainer::seconds() const {
  return earlier_seconds_ + std::chrono::duration<double>(Clock::now() - started_).count();
}

run::EndRecord Trainer::run(const command::StopSignal& stop, std::string_view small_recipe) {
  started_ = saved_ = Clock::now();
  c10::OptionalStreamGuard stream;
  if (plan_.device.is_cuda()) {
    // Graphs cannot be recorded on the default stream.
    stream.reset_stream(
        c10::impl::VirtualGuardImpl(plan_.device.type()).getStreamFromGlobalPool(plan_.device));
  }
  const std::int64_t parts = plan_.training.accumulate;
  const std::int64_t part = plan_.training.batch / parts / ranks_.count();
  const std::int64_t epoch_parts = plan_.steps_per_epoch * parts;
  const std::int64_t examples = task_.example_count(task::Split::kTraining);
  Prefetcher<task::Batch> source(
      [&](std::int64_t position) {
        const std::lock_guard lock(task_mutex_);
        const std::int64_t index = position % epoch_parts * ranks_.count() + ranks_.rank();
        return task_.make_batch(task::batch_request(task::Split::kTraining, position / epoch_parts,
                                                    index, part, examples));
      },
      state_.step * parts, plan_.total_steps * parts);
  const std::int64_t evaluate_steps =
      plan_.training.evaluate_steps > 0 ? plan_.training.evaluate_steps : plan_.steps_per_epoch;
  const std::int64_t first = state_.step;
  while (state_.step < plan_.total_steps) {
    if (ranks::any_of(ranks_, stop.requested())) {
      return finish(run::RunStatus::kInterrupted);
    }
    take_step(source);
    if (state_.step == first + 1 && plan_.device.is_cpu()) {
      const std::string text = command::long_training_text(
          window_seconds_, plan_.total_steps - state_.step, small_recipe);
      if (!text.empty()) {
        progress_.say(text);
      }
    }
    const bool last = state_.step == plan_.total_steps;
    if (last || is_time(plan_.training.log_steps)) {
      record_step();
    }
    if (diverged_) {
      return finish(run::RunStatus::kDiverged);
    }
    const bool evaluated = last || is_time(evaluate_steps);
    if (evaluated) {
      evaluate_now();
    }
    if (!last &&
        (is_time(plan_.resources.checkpoint_steps) || (evaluated && is_checkpoint_due()))) {
      save();
    }
  }
  return finish(run::RunStatus::kFinished);
}

// The ranks save together, when the clock of rank 0 says so.
bool Trainer::is_checkpoint_due() {
  const double since = std::chrono::duration<double>(Clock::now() - saved_).count();
  return ranks::any_of(ranks_, ranks_.is_first() && since >= plan_.resources.checkpoint_seconds);
}

at::Tensor Trainer::gradients_with_curvature(const std::vector<task::Batch>& parts) {
  const sing::torch::Parameters trained = trained_parameters(*model_.module);
  std::vector<at::Tensor> parameters;
  for (const auto& [name, parameter] : trained.tensors()) {
    parameters.push_back(parameter);
  }
  optimizer::HessianDiagonal hessian(std::move(parameters),
                                     static_cast<std::uint64_t>(plan_.training.seed), state_.step);
  const at::Tensor loss = compute_gradients(
      task_, model_, plan_, parts, [&](const at::Tensor& part) { hessian.backward(part); });
  average(parts, hessian.products());
  const std::vector<at::Tensor> curvature = hessian.diagonal();
  std::size_t next = 0;
  for (const auto& [name, parameter] : trained.tensors()) {
    if (shares_.is_own(name)) {
      optimizer_.set_curvature(name, curvature[next]);
    }
    ++next;
  }
  return loss;
}

// Averages tensors that are means over the parts which this rank has of a batch.
void Trainer::average(const std::vector<task::Batch>& parts,
                      const std::vector<at::Tensor>& tensors) {
  const std::optional<double> weight = ranks_.count() > 1 ? weight_of(task_, parts) : std::nullopt;
  if (weight) {
    ranks::average(ranks_, tensors, *weight);
  } else {
    ranks::average(ranks_, tensors);
  }
}

// Which parameters have a gradient depends on the model and not on the examples, so the ranks
// agree.
void Trainer::average_gradients(const std::vector<task::Batch>& parts, const at::Tensor& loss) {
  std::vector<at::Tensor> tensors = {loss};
  for (const at::Tensor& parameter : model_.module->parameters()) {
    if (parameter.grad().defined()) {
      tensors.push_back(parameter.grad());
    }
  }
  average(parts, tensors);
}

void Trainer::take_step(Prefetcher<task::Batch>& source) {
  const auto begin = Clock::now();
  timer_.step_begins();
  std::vector<task::Batch> parts;
  for (std::int64_t part = 0; part < plan_.training.accumulate; ++part) {
    parts.push_back(source.next());
    window_units_ += task_.unit_count(parts.back());
  }
  timer_.data_ready();
  if (ranks_.count() > 1) {
    seed_rank(plan_.training.seed, state_.step, ranks_.rank());
  }
  const at::Tensor loss = gradient_pass_.run(parts);
  if (ranks_.count() > 1) {
    average_gradients(parts, loss);
  }
  loss_sum_ += loss;
  timer_.gradients_ready();
  optimizer_.set_learning_rate_factor(plan_.schedule.factor(state_.step));
  optimizer_.step();
  shares_.exchange();
  timer_.step_ends();
  ++state_.step;
  ++state_.window_steps;
  window_seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
}

void Trainer::record_step() {
  const auto begin = Clock::now();
  const auto steps = static_cast<double>(state_.window_steps);
  const PhaseSeconds phases = timer_.take_means();
  const double loss = loss_sum_.item<double>() / steps;
  // The calls above waited for the device to finish the last steps; this time counts too.
  window_seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
  run::StepRecord record{.step = state_.step,
                         .epoch = epoch(),
                         .loss = loss,
                         .learning_rate = learning_rate_of(plan_.optimizer.rule) *
                                          plan_.schedule.factor(state_.step - 1),
                         .unit = task_.unit(),
                         .units_per_second = ranks::sum_of(ranks_, window_units_) / window_seconds_,
                         .data_seconds = phases.data,
                         .forward_backward_seconds = phases.forward_backward,
                         .optimizer_seconds = phases.optimizer};
  if (is_time(plan_.training.norm_steps)) {
    record.gradient_norms = shares_.all_norms(optimizer_.gradient_norms());
  }
  if (writer_) {
    writer_->write(record);
  }
  diverged_ = has_diverged(loss);
  remaining_.add(steps, window_seconds_);
  const double left = remaining_.seconds_for(plan_.total_steps - state_.step);
  progress_.show({state_.step, plan_.total_steps, record.epoch, loss, record.learning_rate,
                  record.units_per_second, record.unit, left});
  loss_sum_.zero_();
  state_.window_steps = 0;
  window_units_ = 0;
  window_seconds_ = 0;
}

bool Trainer::has_diverged(double loss) {
  if (!std::isfinite(loss)) {
    return true;
  }
  if (!state_.first_loss) {
    state_.first_loss = loss;
  }
  state_.steps_above_first =
      loss > kAbove * *state_.first_loss ? state_.steps_above_first + state_.window_steps : 0;
  return plan_.training.divergence_steps > 0 &&
         state_.steps_above_first >= plan_.training.divergence_steps;
}

// Evaluates and keeps the averaged weights if the rule maintains them.
void Trainer::evaluate_now() {
  const bool averages = std::visit(
      []<class R>(const R&) { return requires { R::kEvaluationSlot; }; }, plan_.optimizer.rule);
  if (averages) {
    optimizer_.use_slow_weights();
    shares_.exchange();
  }
  if (writer_) {
    record_evaluation();
  }
  if (averages) {
    optimizer_.use_fast_weights();
    shares_.exchange();
  }
}

void Trainer::record_evaluation() {
  const std::int64_t parts = plan_.training.accumulate * ranks_.count();
  const Evaluation result = evaluate(task_, model_,
                                     {.device = plan_.device,
                                      .precision = plan_.training.precision,
                                      .batch = plan_.training.batch / parts,
                                      .picture = directory_.picture(state_.step),
                                      .sample = directory_.sample(state_.step)},
                                     task_mutex_);
  const bool has_accuracy = std::isfinite(result.accuracy);
  state_.last_accuracy = has_accuracy ? std::optional(result.accuracy) : std::nullopt;
  state_.last_loss = result.loss;
  state_.last_scores = result.others;
  const bool is_best = has_accuracy
                           ? !state_.best_accuracy || result.accuracy > *state_.best_accuracy
                           : !state_.best_loss || result.loss < *state_.best_loss;
  if (is_best) {
    state_.best_accuracy = state_.last_accuracy;
    state_.best_loss = result.loss;
    best_weights_ = copy_weights(*model_.module);
    best_step_ = state_.step;
  }
  if (plan_.training.keep_weights > 0) {
    keep_weights(directory_, *model_.module, state_.step, plan_.training.keep_weights);
  }
  writer_->write(run::EvaluationRecord{.step = state_.step,
                                       .epoch = epoch(),
                                       .loss = result.loss,
                                       .accuracy = result.accuracy,
                                       .score_name = task_.score_name(),
                                       .others = result.others});
  progress_.say(fmt::format("step {} · epoch {:.2f} · {} loss {:.3e}{}", state_.step, epoch(),
                            name_of(plan_.training.evaluate_on), result.loss,
                            run::scores_text(task_.score_name(), result.accuracy, result.others)));
}

// Saves the best weights first: if the run is killed in between, it finds them again after resuming
// from the last checkpoint.
void Trainer::save() {
  std::string optimizer_state;
  if (shares_.is_shared() || writer_) {
    optimizer_state = shares_.gather(optimizer_.save_bytes());
  }
  saved_ = Clock::now();
  if (!writer_) {
    return;
  }
  if (!best_weights_.empty()) {
    const bool has_accuracy = state_.best_accuracy.has_value();
    const double best = has_accuracy ? *state_.best_accuracy : *state_.best_loss;
    save_weights(directory_.checkpoint(kBestCheckpoint), best_weights_,
                 {{"step", std::to_string(best_step_)},
                  {has_accuracy ? "accuracy" : "loss", shortest_text(best)}});
    best_weights_.clear();
  }
  state_.file_sizes = writer_->sync();
  state_.window_loss = loss_sum_.item<double>();
  state_.seconds = seconds();
  save_checkpoint(directory_.checkpoint(kLastCheckpoint), *model_.module, optimizer_state, state_);
  saved_ = Clock::now();
}

run::EndRecord Trainer::finish(run::RunStatus status) {
  progress_.finish();
  save();
  run::EndRecord record{
      .status = status, .seconds = state_.seconds, .score_name = task_.score_name(), .others = {}};
  if (status != run::RunStatus::kDiverged) {
    record.best_accuracy = state_.best_accuracy.value_or(run::kAbsent);
    record.final_accuracy = state_.last_accuracy.value_or(run::kAbsent);
    record.final_loss = state_.last_loss.value_or(run::kAbsent);
    record.others = state_.last_scores;
  }
  if (writer_) {
    writer_->write(record);
    writer_->sync();
  }
  const OptimizerProgress skipped = shares_.total(optimizer_.status());
  if (skipped.skipped_tensors > 0 || skipped.skipped_steps > 0) {
    progress_.say(
        fmt::format("gradients that were not finite: {} tensors and {} steps were skipped",
                    skipped.skipped_tensors, skipped.skipped_steps));
  }
  return record;
}

}  // namespace sing::lab::loop
