// Trains a model from the start or resumes a run.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>

#include "lab/command/field_flags.hpp"
#include "lab/command/option_texts.hpp"
#include "lab/loop/longer_run.hpp"
#include "lab/loop/training_setup.hpp"
#include "lab/main/commands.hpp"
#include "lab/main/task_registry.hpp"
#include "lab/ranks/join_ranks.hpp"
#include "lab/run/run_lock.hpp"
#include "lab/run/run_reader.hpp"
#include "lab/run/scores_text.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::main {
namespace {

struct TrainFlags {  // flags of the command for one task
  explicit TrainFlags(const task::TaskEntry& entry) : setup(entry) {}

  loop::TrainingSetup setup;
  CLI::App* command = nullptr;
  std::string out;
  std::string config;
  bool resume = false;
};

// Applies the options that the run was started with. Resource options and the length come from this
// command or, if not given, from the run.
run::RecordedConfig apply_recorded_options(TrainFlags& flags, const run::RunDirectory& directory,
                                           const ranks::Ranks& ranks) {
  run::RecordedConfig config = run::read_config(directory.config());
  const std::string run = directory.path().string();
  SING_CHECK(config.task == flags.setup.task_name(),
             "[sing train] wanted to resume a run of task {}, got '{}' of task {}",
             flags.setup.task_name(), run, config.task);
  SING_CHECK(config.ranks == ranks.count(),
             "[sing train] '{}': wanted ranks = {}, with which the run was started (mpirun -n {}), "
             "got ranks = {}",
             run, config.ranks, config.ranks, ranks.count());
  const std::vector<std::string> lengths = loop::changed_lengths(*flags.command, config);
  const command::OptionTexts options = loop::options_for_length(config, lengths);
  command::OptionTexts fixed = options;
  const std::vector<std::string> free = loop::resource_names();
  std::erase_if(fixed, [&](const auto& option) {
    return std::find(free.begin(), free.end(), option.first) != free.end();
  });
  const std::string contradiction = command::first_contradiction(*flags.command, fixed);
  SING_CHECK(contradiction.empty(), "[sing train] '{}': {}", run, contradiction);
  command::apply_options(*flags.command, options, "sing train");
  return config;
}

// Returns a sentence for the user.
std::string text_of(const run::EndRecord& end, const loop::TrainingPlan& plan,
                    const std::filesystem::path& run) {
  std::string text(name_of(end.status));
  if (std::isfinite(end.final_loss)) {
    if (std::isfinite(end.final_accuracy)) {
      text += fmt::format(" · {} {:.2f} % (best {:.2f} %)", end.score_name,
                          100 * end.final_accuracy, 100 * end.best_accuracy);
    }
    text += fmt::format(" · {} loss {:.4e}{}", name_of(plan.training.evaluate_on), end.final_loss,
                        run::scores_text(end.score_name, run::kAbsent, end.others));
  }
  text += " · " + command::text_of_seconds(end.seconds) + " · " + run.string();
  if (end.status == run::RunStatus::kDiverged) {
    text += "\nThe loss is not finite, or stayed above its initial value: this run has no result.";
  }
  if (end.status == run::RunStatus::kInterrupted) {
    text += "\nTo continue, run the same command with --resume.";
  }
  return text;
}

int exit_code_of(run::RunStatus status) {
  switch (status) {
    case run::RunStatus::kFinished:
      return command::kSuccess;
    case run::RunStatus::kDiverged:
      return command::kDivergedExit;
    case run::RunStatus::kInterrupted:
      return command::kInterruptedExit;
  }
  return command::kFailure;
}

void say_no_op_clipping(std::ostream& out, const loop::TrainingPlan& plan) {
  if (plan.optimizer.standardize.normalize != Normalize::kOff) {
    out << "gradients are normalized: clipping or scaling them would change nothing\n";
  }
}

void say_notice(std::ostream& out, const task::Task& task) {
  if (const std::string notice = task.notice(); !notice.empty()) {
    out << notice << '\n';
  }
}

// `longer`: the run was started for fewer steps. All ranks look at the run before rank 0 changes
// it.
void start(TrainFlags& flags, const loop::TrainingPlan& plan, const run::RunDirectory& directory,
           bool longer, ranks::Ranks& ranks, CommandContext& context) {
  std::ostream& out = context.out;
  if (directory.has_run()) {
    const run::RunRecord record = run::read_run(directory.path());
    if (record.is_complete() && (!longer || record.has_diverged())) {
      out << "already " << text_of(*record.end, plan, directory.path()) << '\n';
      context.exit_code = exit_code_of(record.end->status);
      return;
    }
  }
  const bool is_new = !directory.has_config();
  ranks.barrier();
  if (flags.resume && is_new) {
    out << directory.path().string() << ": no run to resume, starting a new one\n";
  }
  context.needs_output = false;  // the run is in its folder
  const command::StopSignal stop;
  loop::prepare_torch(plan);
  command::ProgressBar progress(out, command::terminal_columns(out));
  loop::Trainer trainer(flags.setup.task(), plan, directory, progress, flags.resume, ranks);
  if (ranks.is_first() && (is_new || longer)) {
    run::write_config(directory.config(), flags.setup.config(plan, trainer.parameter_count()));
  }
  out << directory.path().string() << ": " << trainer.parameter_count() << " parameters, "
      << plan.total_steps << " steps on " << plan.device.str();
  if (ranks.count() > 1) {
    out << " in " << ranks.count() << " processes";
  }
  if (trainer.first_step() > 0) {
    out << ", resuming from step " << trainer.first_step();
  }
  out << '\n';
  say_notice(out, flags.setup.task());
  say_no_op_clipping(out, plan);
  out.flush();
  const run::EndRecord end = trainer.run(stop, small_recipe(flags.setup.task_name()));
  out << text_of(end, plan, directory.path()) << '\n';
  say_notice(out, flags.setup.task());
  context.exit_code = exit_code_of(end.status);
}

void run_rank(TrainFlags& flags, ranks::Ranks& ranks, CommandContext& context) {
  if (!flags.config.empty()) {
    command::apply_options(*flags.command, command::read_option_file(flags.config), "--config");
  }
  if (flags.out.empty()) {
    flags.out = flags.setup.default_folder();
  }
  const run::RunDirectory directory(flags.out);
  run::RecordedConfig recorded;
  if (flags.resume && directory.has_config()) {
    recorded = apply_recorded_options(flags, directory, ranks);
  }
  const loop::TrainingPlan plan = flags.setup.make_plan(ranks);
  SING_CHECK(plan.total_steps >= recorded.total_steps,
             "[sing train] wanted at least the {} steps of the run '{}', got {}",
             recorded.total_steps, flags.out, plan.total_steps);
  flags.setup.check_data(recorded, flags.out);
  SING_CHECK(
      flags.resume || !directory.has_config(),
      "[sing train] wanted a new directory, got '{}', which holds a run; --resume continues it",
      flags.out);
  std::optional<run::RunLock> lock;
  if (ranks.is_first()) {
    lock.emplace(directory);
  }
  const bool longer = recorded.total_steps > 0 && plan.total_steps > recorded.total_steps;
  start(flags, plan, directory, longer, ranks, context);
}

// Only rank 0 prints what it does; every rank prints its errors.
void run(TrainFlags& flags, CommandContext& context) {
  const std::unique_ptr<ranks::Ranks> ranks = ranks::join_ranks();
  if (ranks->is_first()) {
    run_rank(flags, *ranks, context);
    return;
  }
  std::ostream silent(nullptr);
  CommandContext own{.out = silent};
  run_rank(flags, *ranks, own);
  context.exit_code = own.exit_code;
}

}  // namespace

void add_train_command(CLI::App& app, CommandContext& context) {
  CLI::App* const train = app.add_subcommand("train", "Train a model on a task");
  train->require_subcommand(1);
  for (const task::TaskEntry& entry : task_entries()) {
    const auto flags = std::make_shared<TrainFlags>(entry);
    flags->command = train->add_subcommand(entry.name, entry.help);
    flags->command
        ->add_option(
            "--out", flags->out,
            "directory of the run; default: runs/<task>_<optimizer>_<learning rate>_<seed>")
        ->type_name("FOLDER");
    command::add_switch(*flags->command, "--resume", flags->resume,
                        "resume the run in --out exactly, if there is one; more --epochs or "
                        "--steps train it for longer");
    command::add_switch(*flags->command, "--shard-state", flags->setup.shard_state,
                        "under mpirun, each process keeps the optimizer's state of some of the "
                        "parameters, updates these and hands them to the others; same results");
    flags->command
        ->add_option("--config", flags->config, "TOML or INI file with values of these options")
        ->type_name("FILE");
    flags->setup.add_flags(*flags->command);
    flags->command->callback(
        [flags, &context] { context.chosen = [flags, &context] { run(*flags, context); }; });
  }
}

}  // namespace sing::lab::main
