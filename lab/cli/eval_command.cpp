// Measures a trained model on its task's test set.
#include "lab/cli/eval_command.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>

#include "lab/cli/option_texts.hpp"
#include "lab/cli/train_request.hpp"
#include "sing/base/message.hpp"

namespace sing::lab {
namespace {

struct EvalRequest {
  std::string run;
  std::string checkpoint = "best";
  std::string device = "auto";
  std::string picture;
  std::int64_t threads = 0;
};

const TaskEntry& find_task(const std::string& name) {
  for (const TaskEntry& entry : task_entries()) {
    if (name == entry.name) {
      return entry;
    }
  }
  throw Error(fmt::format("[sing eval] wanted a run of a known task, got one of '{}'", name));
}

std::filesystem::path checkpoint_path(const EvalRequest& request) {
  const bool is_name = request.checkpoint == "best" || request.checkpoint == "last";
  return is_name ? RunDirectory::checkpoint_of(request.run, request.checkpoint)
                 : std::filesystem::path(request.checkpoint);
}

void run(const EvalRequest& request, std::ostream& out) {
  const RecordedConfig config = read_config(RunDirectory::config_of(request.run));
  TrainRequest recorded(find_task(config.task));
  CLI::App flags;
  recorded.add_flags(flags);
  OptionTexts options = config.options;
  std::erase_if(options, [](const auto& option) { return option.first == "device"; });
  apply_options(flags, options, "sing eval");
  recorded.device = request.device;
  recorded.resources.threads = request.threads;
  const TrainingPlan plan = recorded.make_plan();
  recorded.check_data(config, request.run);
  prepare_torch(plan);
  TaskModel model = recorded.task().make_model();
  load_weights(checkpoint_path(request), *model.module);
  model.module->to(plan.device);
  std::mutex mutex;
  const Evaluation result = evaluate(recorded.task(), model,
                                     {.device = plan.device,
                                      .precision = plan.training.precision,
                                      .batch = plan.training.batch / plan.training.accumulate,
                                      .picture = request.picture},
                                     mutex);
  char text[128];
  std::snprintf(text, sizeof(text), "%lld test examples · accuracy %.2f %% · loss %.4e\n",
                static_cast<long long>(recorded.task().example_count(Split::kTest)),
                100 * result.accuracy, result.loss);
  out << text;
  if (const std::string notice = recorded.task().notice(); !notice.empty()) {
    out << notice << '\n';
  }
}

}  // namespace

void add_eval_command(CLI::App& app, Session& session) {
  CLI::App* const command = app.add_subcommand("eval", "Measure a run's model on the test set");
  const auto request = std::make_shared<EvalRequest>();
  command->add_option("RUN", request->run, "folder of the run")->required()->type_name("FOLDER");
  command->add_option("--checkpoint", request->checkpoint, "best, last or a file")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--device", request->device, "auto, cpu, cuda or cuda:1")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--picture", request->picture, "PNG of the first examples")
      ->type_name("FILE");
  command->add_option("--threads", request->threads, "of LibTorch on the CPU; 0: its own choice")
      ->type_name("INTEGER")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->callback([request, &session] {
    session.chosen = [request, &session] { run(*request, session.out); };
  });
}

}  // namespace sing::lab
