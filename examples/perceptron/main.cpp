// Trains a small perceptron with AdamW and with SING at several learning rates and prints a table.
//
// Every run starts from the same weights and uses the same batches and schedule. The table shows
// every run; one small task and one seed say nothing about other tasks.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "examples/perceptron/quadratic_task.hpp"
#include "sing/sing.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using example::Perceptron;
using example::RandomNumbers;

constexpr std::int64_t kSteps = 1500;
constexpr std::int64_t kTestBatches = 32;
constexpr std::uint64_t kSeed = 1;
// Both optimizers reach a lower loss at their best learning rate unless something is broken.
constexpr double kExpectedTestLoss = 0.01;

struct Contestant {
  const char* name;
  sing::Options options;
  std::vector<double> learning_rates;
};

struct Outcome {
  double training_loss = 0;  // mean of the last hundred batches
  double test_loss = 0;
  double optimizer_microseconds = 0;  // per step
  double total_seconds = 0;
};

std::vector<Contestant> contestants() {
  sing::Options adamw;
  adamw.standardize = {.centralize = false, .normalize = sing::Normalize::kOff};
  adamw.rule = sing::AdamW{.weight_decay = 1e-2};
  adamw.lookahead = std::nullopt;
  sing::Options paper;
  paper.rule = sing::AdamW{.weight_decay = 1e-2, .softplus_beta = 50};
  return {{"AdamW", adamw, {3e-3, 1e-2, 3e-2, 1e-1}}, {"SING", paper, {3e-3, 1e-2, 3e-2, 1e-1}}};
}

std::vector<sing::Parameter> parameters_of(Perceptron& model) {
  std::vector<sing::Parameter> parameters;
  int index = 0;
  for (example::Layer& layer : model.layers()) {
    const std::string name = "layer" + std::to_string(index++);
    const auto outputs = static_cast<std::int64_t>(layer.outputs);
    const auto inputs = static_cast<std::int64_t>(layer.inputs);
    parameters.push_back({.name = name + ".weight",
                          .data = layer.weight.data(),
                          .shape = {outputs, inputs},
                          .gradient = layer.weight_gradient.data()});
    parameters.push_back({.name = name + ".bias",
                          .data = layer.bias.data(),
                          .shape = {outputs},
                          .gradient = layer.bias_gradient.data()});
  }
  return parameters;
}

void show_progress(const char* name, double learning_rate, std::int64_t step, double loss) {
  if (isatty(STDERR_FILENO) == 0) {
    return;
  }
  const auto filled = static_cast<std::size_t>(20 * step / kSteps);
  std::fprintf(stderr, "\r%-5s lr %-6g [%s%s] loss %.4f ", name, learning_rate,
               std::string(filled, '=').c_str(), std::string(20 - filled, ' ').c_str(), loss);
  if (step == kSteps) {
    std::fputs("\r\033[K", stderr);
  }
}

double test_loss(Perceptron& model) {
  RandomNumbers random(kSeed + 1);
  double sum = 0;
  for (std::int64_t i = 0; i < kTestBatches; ++i) {
    const example::Batch batch = example::make_batch(random);
    sum += model.loss(batch.inputs, batch.targets);
  }
  return sum / kTestBatches;
}

Outcome train(const Contestant& contestant, double learning_rate) {
  Perceptron model(kSeed);
  sing::Optimizer optimizer(parameters_of(model), contestant.options);
  optimizer.set_learning_rate(learning_rate);
  const sing::Schedule schedule{
      sing::WarmupCosine{.warmup_steps = kSteps / 20, .total_steps = kSteps}};
  RandomNumbers random(kSeed + 2);
  Outcome outcome;
  Clock::duration in_optimizer{};
  const auto begin = Clock::now();
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const example::Batch batch = example::make_batch(random);
    const double loss = model.loss_and_gradients(batch.inputs, batch.targets);
    const auto before = Clock::now();
    optimizer.set_learning_rate_factor(schedule.factor(step));
    optimizer.step();
    in_optimizer += Clock::now() - before;
    if (step >= kSteps - 100) {
      outcome.training_loss += loss / 100;
    }
    if ((step + 1) % 100 == 0) {
      show_progress(contestant.name, learning_rate, step + 1, loss);
    }
  }
  using Seconds = std::chrono::duration<double>;
  outcome.total_seconds = Seconds(Clock::now() - begin).count();
  outcome.optimizer_microseconds = 1e6 * Seconds(in_optimizer).count() / kSteps;
  outcome.test_loss = test_loss(model);
  return outcome;
}

}  // namespace

int main() {
  std::printf(
      "A perceptron of 8-64-64-1 units learns a quadratic form: %lld steps of %zu points,\n"
      "5 %% warm-up and cosine, weight decay 0.01. Predicting 0 gives a loss near 1.\n\n",
      static_cast<long long>(kSteps), example::kBatch);
  std::printf("optimizer  learning rate  training loss  test loss  optimizer us/step  seconds\n");
  bool all_learned = true;
  for (const Contestant& contestant : contestants()) {
    double best = 1;
    for (const double learning_rate : contestant.learning_rates) {
      const Outcome outcome = train(contestant, learning_rate);
      std::printf("%-9s  %13g  %13.5f  %9.5f  %17.1f  %7.2f\n", contestant.name, learning_rate,
                  outcome.training_loss, outcome.test_loss, outcome.optimizer_microseconds,
                  outcome.total_seconds);
      std::fflush(stdout);
      best = std::min(best, outcome.test_loss);
    }
    all_learned = all_learned && best < kExpectedTestLoss;
  }
  std::printf(
      "\nThis is one seed of one small task: a first look at the interface, not a comparison.\n");
  return all_learned ? 0 : 1;
}
