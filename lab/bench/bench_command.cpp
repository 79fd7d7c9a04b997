// Times optimizers on a task's model: the step alone, and with the gradients before it.
#include "lab/bench/bench_command.hpp"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/torch.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "lab/bench/step_timing.hpp"
#include "lab/bench/torch_fused_adamw.hpp"
#include "lab/cli/train_request.hpp"
#include "lab/loop/gradient_pass.hpp"
#include "lab/loop/training_model.hpp"
#include "lab/optimizer/named_optimizer.hpp"
#include "sing/io/atomic_file.hpp"

namespace sing::lab {
namespace {

struct Line {
  explicit Line(const TaskEntry& entry) : request(entry) {}

  TrainRequest request;
  int rounds = 20;
  std::string json;
};

// A model with an optimizer of its own, all from the same first weights.
struct Trained {
  TaskModel model;
  std::unique_ptr<sing::torch::Optimizer> optimizer;
  std::unique_ptr<GradientPass> pass;
};

std::vector<at::Tensor> tensors_of(const ::torch::nn::Module& module) {
  std::vector<at::Tensor> tensors;
  for (const at::Tensor& tensor : module.parameters()) {
    if (tensor.requires_grad()) {
      tensors.push_back(tensor);
    }
  }
  return tensors;
}

void fill_gradients(const ::torch::nn::Module& module) {
  for (const at::Tensor& parameter : tensors_of(module)) {
    parameter.mutable_grad() = at::randn_like(parameter) * 1e-3;
  }
}

Contestant fused_adamw_of(const ::torch::nn::Module& module) {
  const auto optimizer = std::make_shared<TorchFusedAdamW>(tensors_of(module));
  return {"torch AdamW, fused", [optimizer] { optimizer->step(); }};
}

Contestant ours(const std::string& title, const ::torch::nn::Module& module,
                const Options& options) {
  const auto optimizer =
      std::make_shared<sing::torch::Optimizer>(trained_parameters(module), options);
  return {title, [optimizer] { optimizer->step(); }};
}

// All on one set of parameters: what they hold does not change the time of a step.
std::vector<Contestant> optimizer_contestants(const ::torch::nn::Module& module,
                                              const TrainingPlan& plan, const std::string& name) {
  const auto adamw = std::make_shared<::torch::optim::AdamW>(tensors_of(module));
  const auto sgd = std::make_shared<::torch::optim::SGD>(
      tensors_of(module), ::torch::optim::SGDOptions(1e-3).momentum(0.9));
  return {fused_adamw_of(module),
          {"torch AdamW, LibTorch's class", [adamw] { adamw->step(); }},
          {"torch SGD with momentum, LibTorch's class", [sgd] { sgd->step(); }},
          ours("adamw", module, make_optimizer_options("adamw")),
          ours(name, module, plan.optimizer)};
}

std::unique_ptr<GradientPass> make_pass(const Task& task, TaskModel& model,
                                        const TrainingPlan& plan) {
  return std::make_unique<GradientPass>(
      plan.device,
      [&](const std::vector<Batch>& parts) { return compute_gradients(task, model, plan, parts); },
      plan.training.graph);
}

Contestant training_contestant(const std::string& title, const std::shared_ptr<Trained>& trained,
                               const std::vector<Batch>& parts, std::function<void()> step) {
  return {title, [trained, &parts, step = std::move(step)] {
            trained->pass->run(parts);
            step();
          }};
}

std::vector<Contestant> training_contestants(const Task& task, const TrainingPlan& plan,
                                             const std::string& name,
                                             const std::vector<Batch>& parts) {
  std::vector<Contestant> list;
  const auto make = [&] {
    auto trained = std::make_shared<Trained>();
    trained->model = make_training_model(task, plan);
    trained->pass = make_pass(task, trained->model, plan);
    return trained;
  };
  const auto with_torch = make();
  list.push_back(training_contestant("torch AdamW, fused", with_torch, parts,
                                     fused_adamw_of(*with_torch->model.module).step));
  const auto add_ours = [&](const std::string& title, bool fused) {
    const auto trained = make();
    trained->optimizer = std::make_unique<sing::torch::Optimizer>(
        trained_parameters(*trained->model.module), plan.optimizer);
    if (fused) {
      use_fused_layers(trained->model, *trained->optimizer);
    }
    list.push_back(
        training_contestant(title, trained, parts, [trained] { trained->optimizer->step(); }));
  };
  add_ours(name, false);
  if (takes_fused_layers(with_torch->model, plan)) {
    add_ours(name + ", fused layers", true);
  }
  return list;
}

void print(std::ostream& out, const std::string& title, const std::vector<StepTiming>& timings) {
  char text[160];
  std::snprintf(text, sizeof(text), "%-46s %10s %8s %16s\n", title.c_str(), "ms", "ratio",
                "quartiles");
  out << text;
  for (const StepTiming& timing : timings) {
    std::snprintf(text, sizeof(text), "  %-44s %10.3f %8.2f %8.2f – %.2f\n", timing.title.c_str(),
                  timing.milliseconds.median, timing.ratio.median, timing.ratio.lower,
                  timing.ratio.upper);
    out << text;
  }
}

nlohmann::json to_json(const Quartiles& of) {
  return {{"lower", of.lower}, {"median", of.median}, {"upper", of.upper}};
}

nlohmann::json to_json(const std::vector<StepTiming>& timings) {
  nlohmann::json rows = nlohmann::json::array();
  for (const StepTiming& timing : timings) {
    rows.push_back({{"title", timing.title},
                    {"milliseconds", to_json(timing.milliseconds)},
                    {"ratio", to_json(timing.ratio)}});
  }
  return rows;
}

std::vector<Batch> first_batch(Task& task, const TrainingPlan& plan) {
  const std::int64_t part = plan.training.batch / plan.training.accumulate;
  std::vector<Batch> parts;
  for (std::int64_t i = 0; i < plan.training.accumulate; ++i) {
    parts.push_back(task.make_batch({Split::kTraining, 0, i * part, part}));
  }
  return parts;
}

void run(Line& line, Session& session) {
  const TrainingPlan plan = line.request.make_plan();
  prepare_torch(plan);
  c10::OptionalStreamGuard stream;
  if (!plan.device.is_cpu()) {
    stream.reset_stream(
        c10::impl::VirtualGuardImpl(plan.device.type()).getStreamFromGlobalPool(plan.device));
  }
  const int period =
      plan.optimizer.lookahead ? static_cast<int>(plan.optimizer.lookahead->period) : 1;
  const std::string name = line.request.optimizer_name();
  const TaskModel model = make_training_model(line.request.task(), plan);
  fill_gradients(*model.module);
  session.out << line.request.task_name() << " on " << plan.device.str() << ": "
              << tensors_of(*model.module).size() << " tensors, batches of " << plan.training.batch
              << "; medians of " << line.rounds << " rounds of " << period << " steps each\n";
  const std::vector<StepTiming> optimizers = time_in_turns(
      optimizer_contestants(*model.module, plan, name), plan.device, period, line.rounds);
  print(session.out, "optimizer step", optimizers);
  const std::vector<Batch> parts = first_batch(line.request.task(), plan);
  const std::vector<StepTiming> trainings =
      time_in_turns(training_contestants(line.request.task(), plan, name, parts), plan.device,
                    period, line.rounds);
  print(session.out, "training step", trainings);
  if (!line.json.empty()) {
    std::int64_t parameters = 0;
    for (const at::Tensor& tensor : model.module->parameters()) {
      parameters += tensor.numel();
    }
    const std::string config = config_text(line.request.config(plan, parameters));
    const nlohmann::json all = {{"benchmark", "training_step"},
                                {"config", nlohmann::json::parse(config)},
                                {"rounds", line.rounds},
                                {"steps_a_round", period},
                                {"optimizer_step", to_json(optimizers)},
                                {"training_step", to_json(trainings)}};
    const std::string text = all.dump(1) + "\n";
    AtomicFile file(line.json);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  }
}

}  // namespace

void add_bench_command(CLI::App& app, Session& session) {
  CLI::App* const bench =
      app.add_subcommand("bench", "Time optimizer and training steps beside torch's optimizers");
  bench->require_subcommand(1);
  for (const TaskEntry& entry : task_entries()) {
    const auto line = std::make_shared<Line>(entry);
    CLI::App* const command = bench->add_subcommand(entry.name, entry.help);
    line->request.add_flags(*command);
    command->add_option("--rounds", line->rounds, "rounds that are timed")
        ->type_name("INTEGER")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    command->add_option("--json", line->json, "file that gets the figures")->type_name("FILE");
    command->callback(
        [line, &session] { session.chosen = [line, &session] { run(*line, session); }; });
  }
}

}  // namespace sing::lab
