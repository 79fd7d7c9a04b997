// Trains a small network of LibTorch with plug-and-play SING: gradients of norm 1 for an unchanged
// AdamW.
#include <torch/torch.h>

#include <cstdio>

#include "adapters/torch/optimizer.hpp"
#include "sing/optim/schedule.hpp"

namespace {

constexpr std::int64_t kSteps = 600;
constexpr std::int64_t kBatch = 256;
constexpr double kExpectedAccuracy = 0.97;

struct Batch {
  torch::Tensor points, labels;
};

// Points of two interleaved spirals, and the spiral of each.
Batch spirals(std::int64_t count) {
  const torch::Tensor labels = torch::randint(2, {count});
  const torch::Tensor angle = 3 * M_PI * torch::rand({count}).sqrt();
  const torch::Tensor turned = angle + M_PI * labels;
  const torch::Tensor points = torch::stack({angle * turned.cos(), angle * turned.sin()}, 1) / 10;
  return {points + 0.01 * torch::randn({count, 2}), labels.to(torch::kLong)};
}

torch::nn::Sequential make_model() {
  return torch::nn::Sequential(torch::nn::Linear(2, 64), torch::nn::GELU(),
                               torch::nn::Linear(64, 64), torch::nn::GELU(),
                               torch::nn::Linear(64, 2));
}

// The rule, and what the gradients go through before it sees them.
sing::Options options() {
  return {.standardize = {.centralize = false, .normalize = sing::Normalize::kUnitNorm},
          .rule = sing::AdamW{.learning_rate = 5e-3, .weight_decay = 1e-2},
          .lookahead = std::nullopt};
}

double train_step(torch::nn::Sequential& model, sing::torch::Optimizer& optimizer) {
  const Batch batch = spirals(kBatch);
  const torch::Tensor loss =
      torch::nn::functional::cross_entropy(model->forward(batch.points), batch.labels);
  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
  return loss.item<double>();
}

double accuracy(torch::nn::Sequential& model) {
  const torch::NoGradGuard no_gradients;
  const Batch test = spirals(4000);
  const torch::Tensor guess = model->forward(test.points).argmax(1);
  return guess.eq(test.labels).to(torch::kDouble).mean().item<double>();
}

}  // namespace

int main() {
  torch::manual_seed(0);
  torch::nn::Sequential model = make_model();
  sing::torch::Optimizer optimizer(model->named_parameters(), options());
  const sing::Schedule schedule{sing::WarmupCosine{.warmup_steps = 30, .total_steps = kSteps}};
  for (std::int64_t step = 0; step < kSteps / 2; ++step) {
    optimizer.set_learning_rate_factor(schedule.factor(step));
    const double loss = train_step(model, optimizer);
    if (step % 100 == 0) {
      std::printf("step %3lld  loss %.4f\n", static_cast<long long>(step), loss);
    }
  }

  // A training that is stopped here and resumed gives the same bits.
  torch::save(model, "model.pt");
  optimizer.save("optimizer.safetensors");

  torch::nn::Sequential resumed = make_model();
  torch::load(resumed, "model.pt");
  sing::torch::Optimizer resumed_optimizer(resumed->named_parameters(), options());
  resumed_optimizer.load("optimizer.safetensors");
  for (std::int64_t step = kSteps / 2; step < kSteps; ++step) {
    resumed_optimizer.set_learning_rate_factor(schedule.factor(step));
    train_step(resumed, resumed_optimizer);
  }

  for (const auto& [name, norm] : resumed_optimizer.gradient_norms()) {
    std::printf("%-9s gradient norm %.2e\n", name.c_str(), norm);
  }
  const double reached = accuracy(resumed);
  std::printf("accuracy %.1f %%\n", 100 * reached);
  return reached > kExpectedAccuracy ? 0 : 1;
}
