// Trains a model, from the start or from where a run stopped.
#include "lab/cli/train_command.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <ostream>

#include "lab/cli/option_texts.hpp"
#include "lab/cli/train_request.hpp"
#include "sing/base/message.hpp"

namespace sing::lab {
namespace {

struct Line {  // the command line of one task
  explicit Line(const TaskEntry& entry) : request(entry) {}

  TrainRequest request;
  CLI::App* command = nullptr;
  std::string out;
  std::string config;
  bool resume = false;
};

std::string default_folder(const Line& line, const TrainingPlan& plan) {
  std::string name = "runs/" + line.request.task_name();
  for (const OptionInfo& option : line.request.options(plan)) {
    if (option.name == "optimizer" || option.name == "learning_rate" || option.name == "seed") {
      name += "_" + option_text(option.value);
    }
  }
  return name;
}

// Takes over what the run was started with; resources are this command's or else the run's.
RecordedConfig take_up(Line& line, const std::filesystem::path& run) {
  RecordedConfig config = read_config(RunDirectory::config_of(run));
  SING_CHECK(config.task == line.request.task_name(),
             "[sing train] wanted to resume a run of task {}, '{}' is one of task {}",
             line.request.task_name(), run.string(), config.task);
  OptionTexts fixed = config.options;
  const std::vector<std::string> free = resource_names();
  std::erase_if(fixed, [&](const auto& option) {
    return std::find(free.begin(), free.end(), option.first) != free.end();
  });
  const std::string contradiction = first_contradiction(*line.command, fixed);
  SING_CHECK(contradiction.empty(), "[sing train] '{}': {}", run.string(), contradiction);
  apply_options(*line.command, config.options, "sing train");
  return config;
}

// A sentence for the person at the terminal.
std::string text_of(const EndRecord& end, const std::filesystem::path& run) {
  std::string text(name_of(end.status));
  char numbers[160] = "";
  if (end.final_accuracy && end.best_accuracy && end.final_loss) {
    std::snprintf(numbers, sizeof(numbers), " · accuracy %.2f %% (best %.2f %%) · test loss %.4e",
                  100 * *end.final_accuracy, 100 * *end.best_accuracy, *end.final_loss);
  }
  text += numbers;
  text += " · " + text_of_seconds(end.seconds) + " · " + run.string();
  if (end.status == RunStatus::kDiverged) {
    text += "\nThe loss is not finite, or stayed above its start: this run has no result.";
  }
  if (end.status == RunStatus::kInterrupted) {
    text += "\nThe same command with --resume goes on from here.";
  }
  return text;
}

int exit_code_of(RunStatus status) {
  switch (status) {
    case RunStatus::kFinished:
      return kSuccess;
    case RunStatus::kDiverged:
      return kDivergedExit;
    case RunStatus::kInterrupted:
      return kInterruptedExit;
  }
  return kFailure;
}

void say_no_op_clipping(std::ostream& out, const TrainingPlan& plan) {
  if (plan.optimizer.standardize.normalize != Normalize::kOff) {
    out << "gradients are normalized: clipping or scaling them would change nothing\n";
  }
}

void say_notice(std::ostream& out, const Task& task) {
  if (const std::string notice = task.notice(); !notice.empty()) {
    out << notice << '\n';
  }
}

void start(Line& line, const TrainingPlan& plan, RunDirectory& directory, Session& session) {
  std::ostream& out = session.out;
  if (const auto end = directory.has_run() ? read_end(directory.metrics()) : std::nullopt) {
    out << "already " << text_of(*end, directory.path()) << '\n';
    session.exit_code = exit_code_of(end->status);
    return;
  }
  if (line.resume && !directory.has_run()) {
    out << directory.path().string() << ": no run to go on with, a new one begins\n";
  }
  const StopSignal stop;
  prepare_torch(plan);
  ProgressBar progress(out, terminal_columns(out));
  Trainer trainer(line.request.task(), plan, directory, progress, line.resume);
  if (!directory.has_run()) {
    write_config(directory.config(), line.request.config(plan, trainer.parameter_count()));
  }
  out << directory.path().string() << ": " << trainer.parameter_count() << " parameters, "
      << plan.total_steps << " steps on " << plan.device.str();
  if (trainer.first_step() > 0) {
    out << ", going on from step " << trainer.first_step();
  }
  out << '\n';
  say_notice(out, line.request.task());
  say_no_op_clipping(out, plan);
  const EndRecord end = trainer.run(stop);
  out << text_of(end, directory.path()) << '\n';
  say_notice(out, line.request.task());
  session.exit_code = exit_code_of(end.status);
}

void run(Line& line, Session& session) {
  if (!line.config.empty()) {
    apply_options(*line.command, read_option_file(line.config), "--config");
  }
  const bool known =
      !line.out.empty() && std::filesystem::exists(RunDirectory::config_of(line.out));
  RecordedConfig recorded;
  if (known && line.resume) {
    recorded = take_up(line, line.out);
  }
  const TrainingPlan plan = line.request.make_plan();
  line.request.check_data(recorded, line.out);
  if (line.out.empty()) {
    line.out = default_folder(line, plan);
    SING_CHECK(!line.resume, "[sing train] wanted --out with --resume, got none");
  }
  SING_CHECK(line.resume || !std::filesystem::exists(RunDirectory::config_of(line.out)),
             "[sing train] wanted a new directory, or --resume to go on; '{}' holds a run",
             line.out);
  RunDirectory directory(line.out);
  start(line, plan, directory, session);
}

}  // namespace

void add_train_command(CLI::App& app, Session& session) {
  CLI::App* const train = app.add_subcommand("train", "Train a model on a task");
  train->require_subcommand(1);
  for (const TaskEntry& entry : task_entries()) {
    const auto line = std::make_shared<Line>(entry);
    line->command = train->add_subcommand(entry.name, entry.help);
    line->command
        ->add_option("--out", line->out,
                     "folder of the run; without: runs/<task>_<optimizer>_<learning rate>_<seed>")
        ->type_name("FOLDER");
    line->command->add_flag("--resume", line->resume,
                            "go on with the run in --out if there is one, exactly");
    line->command->add_option("--config", line->config, "TOML or INI file of these options")
        ->type_name("FILE");
    line->request.add_flags(*line->command);
    line->command->callback(
        [line, &session] { session.chosen = [line, &session] { run(*line, session); }; });
  }
}

}  // namespace sing::lab
