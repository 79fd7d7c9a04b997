// Measures a trained model on its task's test set.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "lab/command/field_flags.hpp"
#include "lab/command/option_texts.hpp"
#include "lab/loop/kept_weights.hpp"
#include "lab/loop/training_setup.hpp"
#include "lab/main/commands.hpp"
#include "lab/main/task_registry.hpp"
#include "lab/picture/png.hpp"
#include "lab/run/scores_text.hpp"
#include "sing/base/message.hpp"
#include "sing/io/atomic_file.hpp"

namespace sing::lab::main {
namespace {

using Json = nlohmann::ordered_json;

struct EvalFlags {
  std::string run;
  std::string checkpoint = loop::kBestCheckpoint;
  std::string device = "auto";
  data::EvaluationSet evaluate_on = data::EvaluationSet::kTest;
  std::string picture;
  std::string record;
  std::int64_t threads = 0;
};

const task::TaskEntry& find_task(const std::string& name) {
  for (const task::TaskEntry& entry : task_entries()) {
    if (name == entry.name) {
      return entry;
    }
  }
  throw Error(fmt::format("[sing eval] wanted a run of a known task, got one of '{}'", name));
}

std::filesystem::path checkpoint_path(const EvalFlags& flags) {
  const bool is_name =
      flags.checkpoint == loop::kBestCheckpoint || flags.checkpoint == loop::kLastCheckpoint;
  return is_name ? run::RunDirectory(flags.run).checkpoint(flags.checkpoint)
                 : std::filesystem::path(flags.checkpoint);
}

// A run that was evaluated on the test set may have been trained on the validation images.
void check_evaluation_set(const EvalFlags& flags, const command::OptionTexts& options) {
  const std::pair<std::string, std::string> held_out = {"evaluate_on", "validation"};
  SING_CHECK(flags.evaluate_on == data::EvaluationSet::kTest ||
                 std::find(options.begin(), options.end(), held_out) != options.end(),
             "[sing eval] --evaluate-on: wanted test for a run that held no images out, got {}",
             name_of(flags.evaluate_on));
}

// The keys of the scores are those of metrics.jsonl.
void write_record(const EvalFlags& flags, const task::Task& task, const loop::Evaluation& result) {
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  Json json = {{"checkpoint", flags.checkpoint},
               {"evaluate_on", name_of(flags.evaluate_on)},
               {"examples", task.example_count(task::Split::kTest)},
               {"loss", number(result.loss)},
               {"accuracy", number(result.accuracy)}};
  if (task.score_name() != run::kAccuracy) {
    json["score"] = task.score_name();
  }
  for (const auto& [name, value] : result.others) {
    json["scores"][name] = number(value);
  }
  replace_file(flags.record, json.dump() + "\n");
}

void run(const EvalFlags& flags, std::ostream& out) {
  const run::RecordedConfig config = run::read_config(run::RunDirectory(flags.run).config());
  loop::TrainingSetup recorded(find_task(config.task));
  // Tasks of images draw a PNG; the others write a text.
  if (!flags.picture.empty() && recorded.task().unit() == "images") {
    picture::check_png_name(flags.picture, "--picture");
  }
  CLI::App recorded_flags;
  recorded.add_flags(recorded_flags);
  command::OptionTexts options = config.options;
  check_evaluation_set(flags, options);
  std::erase_if(options, [](const auto& option) {
    return option.first == "device" || option.first == "evaluate_on";
  });
  options.emplace_back("evaluate_on", name_of(flags.evaluate_on));
  command::apply_options(recorded_flags, options, "sing eval");
  recorded.device = flags.device;
  recorded.resources.threads = flags.threads;
  recorded.complete_evaluation = true;
  const loop::TrainingPlan plan = recorded.make_plan();
  recorded.check_data(config, flags.run);
  loop::prepare_torch(plan);
  task::TaskModel model = recorded.task().make_model();
  if (flags.checkpoint == loop::kAverage) {
    loop::load_average(run::RunDirectory(flags.run), *model.module);
  } else {
    loop::load_weights(checkpoint_path(flags), *model.module);
  }
  model.module->to(plan.device);
  std::mutex mutex;
  const loop::Evaluation result =
      loop::evaluate(recorded.task(), model,
                     {.device = plan.device,
                      .precision = plan.training.precision,
                      .batch = plan.training.batch / plan.training.accumulate,
                      .picture = flags.picture,
                      .sample = flags.picture},
                     mutex);
  const task::Task& task = recorded.task();
  out << fmt::format("{} {} examples{} · loss {:.4e}{}\n", task.example_count(task::Split::kTest),
                     name_of(flags.evaluate_on),
                     run::scores_text(task.score_name(), result.accuracy, {}), result.loss,
                     run::scores_text("", run::kAbsent, result.others));
  if (!flags.record.empty()) {
    write_record(flags, task, result);
  }
  std::error_code error;
  if (!flags.picture.empty() && std::filesystem::exists(flags.picture, error)) {
    out << flags.picture << ": " << recorded.task().picture_legend() << '\n';
  }
  if (const std::string notice = recorded.task().notice(); !notice.empty()) {
    out << notice << '\n';
  }
}

}  // namespace

void add_eval_command(CLI::App& app, CommandContext& context) {
  CLI::App* const command =
      app.add_subcommand("eval", "Measure a run's model on the test set, or on the validation set");
  const auto flags = std::make_shared<EvalFlags>();
  command->add_option("RUN", flags->run, "directory of the run")->required()->type_name("FOLDER");
  command
      ->add_option("--checkpoint", flags->checkpoint,
                   "checkpoint: best, last, average (of the weights of --keep-weights) or a file")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--device", flags->device, "auto, cpu, cuda or cuda:1")
      ->type_name("NAME")
      ->capture_default_str();
  command::add_value(*command, "--evaluate-on", flags->evaluate_on,
                     "test; or validation, for a run that was evaluated on it");
  command
      ->add_option("--picture", flags->picture,
                   "PNG of the first examples, or the task's sample text")
      ->type_name("FILE");
  command->add_option("--record", flags->record, "file for the loss and the scores, as JSON")
      ->type_name("FILE");
  command::add_number(*command, "--threads", flags->threads,
                      "LibTorch's threads on the CPU; 0: LibTorch's default", between(0, 1024));
  command->callback(
      [flags, &context] { context.chosen = [flags, &context] { run(*flags, context.out); }; });
}

}  // namespace sing::lab::main
