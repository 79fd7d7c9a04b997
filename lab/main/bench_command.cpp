// Times optimizers on a task's model: the step alone, and with the gradients before it.
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/torch.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "lab/bench/step_timing.hpp"
#include "lab/bench/torch_fused_adamw.hpp"
#include "lab/bench/trace.hpp"
#include "lab/command/field_flags.hpp"
#include "lab/loop/gradient_pass.hpp"
#include "lab/loop/training_model.hpp"
#include "lab/loop/training_setup.hpp"
#include "lab/main/commands.hpp"
#include "lab/main/task_registry.hpp"
#include "lab/optimizer/named_optimizer.hpp"
#include "sing/base/message.hpp"
#include "sing/io/atomic_file.hpp"

namespace sing::lab::main {
namespace {

struct BenchFlags {
  explicit BenchFlags(const task::TaskEntry& entry) : setup(entry) {}

  loop::TrainingSetup setup;
  std::int64_t rounds = 20;
  std::int64_t batches = 1;
  std::string json;
  std::string trace;
};

struct TimedBatch {
  std::vector<task::Batch> parts;  // the parts of one step
  std::int64_t units = 0;          // counted by the speed
};

// A model with its own optimizer. All models begin with the same weights.
struct Trained {
  task::TaskModel model;
  std::unique_ptr<sing::torch::Optimizer> optimizer;
  std::unique_ptr<loop::GradientPass> pass;
  std::size_t steps = 0;
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

bench::Contestant fused_adamw_of(const ::torch::nn::Module& module) {
  const auto optimizer = std::make_shared<bench::TorchFusedAdamW>(tensors_of(module));
  return {"torch AdamW, fused", [optimizer] { optimizer->step(); }};
}

bench::Contestant ours(const std::string& title, const ::torch::nn::Module& module,
                       const Options& options) {
  const auto optimizer =
      std::make_shared<sing::torch::Optimizer>(loop::trained_parameters(module), options);
  return {title, [optimizer] { optimizer->step(); }};
}

// All contestants share one set of parameters, because the values do not affect the time of a step.
std::vector<bench::Contestant> optimizer_contestants(const ::torch::nn::Module& module,
                                                     const loop::TrainingPlan& plan,
                                                     const std::string& name) {
  const auto adamw = std::make_shared<::torch::optim::AdamW>(tensors_of(module));
  const auto sgd = std::make_shared<::torch::optim::SGD>(
      tensors_of(module), ::torch::optim::SGDOptions(1e-3).momentum(0.9));
  return {fused_adamw_of(module),
          {"torch AdamW, LibTorch's class", [adamw] { adamw->step(); }},
          {"torch SGD with momentum, LibTorch's class", [sgd] { sgd->step(); }},
          ours("adamw", module, optimizer::make_optimizer_options("adamw")),
          ours(name, module, plan.optimizer)};
}

std::unique_ptr<loop::GradientPass> make_pass(const task::Task& task, task::TaskModel& model,
                                              const loop::TrainingPlan& plan) {
  return std::make_unique<loop::GradientPass>(
      plan.device, model.module->parameters(),
      [&](const std::vector<task::Batch>& parts) {
        return loop::compute_gradients(task, model, plan, parts);
      },
      plan.training.graph);
}

// Takes the batches in turns.
bench::Contestant training_contestant(const std::string& title,
                                      const std::shared_ptr<Trained>& trained,
                                      const std::vector<TimedBatch>& batches,
                                      std::function<void()> step) {
  return {title, [trained, &batches, step = std::move(step)] {
            trained->pass->run(batches[trained->steps++ % batches.size()].parts);
            step();
          }};
}

std::vector<bench::Contestant> training_contestants(const task::Task& task,
                                                    const loop::TrainingPlan& plan,
                                                    const std::string& name,
                                                    const std::vector<TimedBatch>& batches) {
  std::vector<bench::Contestant> list;
  const auto make = [&] {
    auto trained = std::make_shared<Trained>();
    trained->model = loop::make_training_model(task, plan);
    trained->pass = make_pass(task, trained->model, plan);
    return trained;
  };
  const auto with_torch = make();
  list.push_back(training_contestant("torch AdamW, fused", with_torch, batches,
                                     fused_adamw_of(*with_torch->model.module).step));
  const auto add_ours = [&](const std::string& title, bool fused) {
    const auto trained = make();
    trained->optimizer = std::make_unique<sing::torch::Optimizer>(
        loop::trained_parameters(*trained->model.module), plan.optimizer);
    if (fused) {
      loop::use_fused_layers(trained->model, *trained->optimizer);
    }
    list.push_back(
        training_contestant(title, trained, batches, [trained] { trained->optimizer->step(); }));
  };
  add_ours(name, false);
  if (loop::takes_fused_layers(with_torch->model, plan)) {
    add_ours(name + ", fused layers", true);
  }
  return list;
}

std::string without_end(const std::string& text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// `units` is the mean number of units per step, for the speed; with 0 no speed is printed.
void print(std::ostream& out, const std::string& title,
           const std::vector<bench::StepTiming>& timings, double units, const std::string& unit) {
  char text[200];
  const std::string speed = units > 0 ? unit + "/s" : "";
  std::snprintf(text, sizeof(text), "%-46s %10s %8s %16s %12s", title.c_str(), "ms", "ratio",
                "quartiles", speed.c_str());
  out << without_end(text) << '\n';
  for (const bench::StepTiming& timing : timings) {
    std::snprintf(text, sizeof(text), "  %-44s %10.3f %8.2f %8.2f – %.2f", timing.title.c_str(),
                  timing.milliseconds.median, timing.ratio.median, timing.ratio.lower,
                  timing.ratio.upper);
    out << text;
    if (units > 0) {
      std::snprintf(text, sizeof(text), " %13.0f", units / timing.milliseconds.median * 1e3);
      out << text;
    }
    out << '\n';
  }
}

nlohmann::json to_json(const bench::Quartiles& of) {
  return {{"lower", of.lower}, {"median", of.median}, {"upper", of.upper}};
}

nlohmann::json to_json(const std::vector<bench::StepTiming>& timings) {
  nlohmann::json rows = nlohmann::json::array();
  for (const bench::StepTiming& timing : timings) {
    rows.push_back({{"title", timing.title},
                    {"milliseconds", to_json(timing.milliseconds)},
                    {"ratio", to_json(timing.ratio)}});
  }
  return rows;
}

std::vector<TimedBatch> first_batches(task::Task& task, const loop::TrainingPlan& plan,
                                      std::int64_t count) {
  const std::int64_t parts = plan.training.accumulate;
  SING_CHECK(count <= plan.steps_per_epoch, "[--batches] wanted at most the {} of an epoch, got {}",
             plan.steps_per_epoch, count);
  std::vector<TimedBatch> batches(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count * parts; ++i) {
    TimedBatch& batch = batches[static_cast<std::size_t>(i / parts)];
    batch.parts.push_back(task.make_batch(
        task::batch_request(task::Split::kTraining, 0, i, plan.training.batch / parts,
                            task.example_count(task::Split::kTraining))));
    batch.units += task.unit_count(batch.parts.back());
  }
  return batches;
}

nlohmann::json to_json(const TimedBatch& batch) {
  nlohmann::json parts = nlohmann::json::array();
  for (const task::Batch& part : batch.parts) {
    nlohmann::json shapes = nlohmann::json::array();
    for (const at::Tensor& tensor : part) {
      shapes.push_back(tensor.sizes().vec());
    }
    parts.push_back(std::move(shapes));
  }
  return {{"parts", std::move(parts)}, {"units", batch.units}};
}

void run(BenchFlags& flags, CommandContext& context) {
  const loop::TrainingPlan plan = flags.setup.make_plan();
  loop::prepare_torch(plan);
  c10::OptionalStreamGuard stream;
  if (!plan.device.is_cpu()) {
    stream.reset_stream(
        c10::impl::VirtualGuardImpl(plan.device.type()).getStreamFromGlobalPool(plan.device));
  }
  const int period =
      plan.optimizer.lookahead ? static_cast<int>(plan.optimizer.lookahead->period) : 1;
  const std::string name = flags.setup.optimizer_name();
  const std::vector<TimedBatch> batches = first_batches(flags.setup.task(), plan, flags.batches);
  const task::TaskModel model = loop::make_training_model(flags.setup.task(), plan);
  fill_gradients(*model.module);
  context.out << flags.setup.task_name() << " on " << plan.device.str() << ": "
              << tensors_of(*model.module).size() << " tensors, batches of " << plan.training.batch
              << "; medians of " << flags.rounds << " rounds of " << period << " steps each\n";
  const std::vector<bench::StepTiming> optimizers =
      bench::time_in_turns(optimizer_contestants(*model.module, plan, name), plan.device, period,
                           static_cast<int>(flags.rounds));
  print(context.out, "optimizer step", optimizers, 0, "");
  const auto steps = static_cast<int>(std::lcm(std::int64_t{period}, flags.batches));
  const std::vector<bench::Contestant> contestants =
      training_contestants(flags.setup.task(), plan, name, batches);
  const std::vector<bench::StepTiming> trainings =
      bench::time_in_turns(contestants, plan.device, steps, static_cast<int>(flags.rounds));
  if (!flags.trace.empty()) {
    bench::write_trace(flags.trace, plan.device, [&] {
      for (int step = 0; step < steps; ++step) {
        contestants.back().step();
      }
    });
  }
  const task::Task& task = flags.setup.task();
  const double units = std::transform_reduce(batches.begin(), batches.end(), 0.0, std::plus<>(),
                                             [](const TimedBatch& batch) { return batch.units; }) /
                       static_cast<double>(batches.size());
  print(context.out, "training step", trainings, units, task.unit());
  if (!flags.json.empty()) {
    std::int64_t parameters = 0;
    for (const at::Tensor& tensor : model.module->parameters()) {
      parameters += tensor.numel();
    }
    const std::string config = run::config_text(flags.setup.config(plan, parameters));
    nlohmann::json shapes = nlohmann::json::array();
    for (const TimedBatch& batch : batches) {
      shapes.push_back(to_json(batch));
    }
    const nlohmann::json all = {{"benchmark", "training_step"},
                                {"config", nlohmann::json::parse(config)},
                                {"rounds", flags.rounds},
                                {"steps_a_round", steps},
                                {"unit", task.unit()},
                                {"units_a_step", units},
                                {"batches", std::move(shapes)},
                                {"optimizer_step", to_json(optimizers)},
                                {"training_step", to_json(trainings)}};
    replace_file(flags.json, all.dump(1) + "\n");
  }
}

}  // namespace

void add_bench_command(CLI::App& app, CommandContext& context) {
  CLI::App* const bench = app.add_subcommand(
      "bench", "Time optimizer steps and training steps, and compare with torch's optimizers");
  bench->require_subcommand(1);
  for (const task::TaskEntry& entry : task_entries()) {
    const auto flags = std::make_shared<BenchFlags>(entry);
    CLI::App* const command = bench->add_subcommand(entry.name, entry.help);
    flags->setup.add_flags(*command);
    command::add_number(*command, "--rounds", flags->rounds, "number of timed rounds",
                        between(1, 100000));
    command::add_number(*command, "--batches", flags->batches,
                        "number of batches that the training steps take in turns",
                        between(1, 1000));
    command->add_option("--json", flags->json, "file for the figures")->type_name("FILE");
    command
        ->add_option("--trace", flags->trace,
                     "file for a trace of the last training steps, for ui.perfetto.dev")
        ->type_name("FILE");
    command->callback(
        [flags, &context] { context.chosen = [flags, &context] { run(*flags, context); }; });
  }
}

}  // namespace sing::lab::main
