// Makes the library's own contestants: SING-AdamW, plain AdamW, and the other rules, policies and
// types.
#include <utility>

#include "bench/contestant.hpp"
#include "sing/optim/optimizer.hpp"

namespace sing::bench {
namespace {

struct Entry {
  std::string name;
  std::string title;
  double bytes_per_parameter;
  Options options;
  at::ScalarType dtype = at::kFloat;
};

Options sing_options(Rule rule) {
  return {.standardize = {},
          .rule = std::move(rule),
          .lookahead = Lookahead{.period = kLookaheadPeriod, .alpha = kLookaheadAlpha}};
}

Rule adamw(std::optional<double> softplus_beta) {
  return AdamW{.learning_rate = kLearningRate,
               .beta1 = kBeta1,
               .beta2 = kBeta2,
               .epsilon = kEpsilon,
               .weight_decay = kWeightDecay,
               .softplus_beta = softplus_beta};
}

// Returns the options under which a step does the same work as LibTorch's fused AdamW.
Options plain_adamw_options() {
  return {.standardize = {.centralize = false, .normalize = Normalize::kOff},
          .rule = adamw(std::nullopt),
          .lookahead = std::nullopt,
          .decay_vectors = true,
          .non_finite = NonFinite::kPassThrough};
}

// AdamW reads the gradient (4 bytes) and reads and writes the parameter and two moments (24 bytes).
// LookAhead reads and writes the slow weights every five steps (1.6 bytes per step).
// Moments in bfloat16 move 8 bytes less.
std::vector<Entry> main_entries() {
  Options sing = sing_options(adamw(kSoftplusBeta));
  Options plain = plain_adamw_options();
  std::vector<Entry> entries{{"sing_adamw", "SING-AdamW + LookAhead", 29.6, sing},
                             {"adamw", "plain AdamW of this library, pass_through", 28, plain}};
  sing.state = plain.state = StateType::kBFloat16;
  entries.push_back(
      {"sing_adamw_bfloat16_state", "SING-AdamW + LookAhead, bfloat16 state", 21.6, sing});
  entries.push_back({"adamw_bfloat16_state",
                     "plain AdamW of this library, pass_through, bfloat16 state", 20, plain});
  return entries;
}

std::vector<Entry> further_entries() {
  Options without_lookahead = sing_options(adamw(kSoftplusBeta));
  without_lookahead.lookahead.reset();
  Options skip_step = sing_options(adamw(kSoftplusBeta));
  skip_step.non_finite = NonFinite::kSkipStep;
  Options master = sing_options(adamw(kSoftplusBeta));
  master.master_weights = true;
  const Rule sgd =
      Sgd{.learning_rate = kLearningRate, .momentum = kBeta1, .weight_decay = kWeightDecay};
  const Rule adabelief = AdaBelief{.learning_rate = kLearningRate, .weight_decay = kWeightDecay};
  const Rule adafactor = AdaFactor{.learning_rate = kLearningRate, .weight_decay = kWeightDecay};
  return {
      {"sing_adamw_no_lookahead", "SING-AdamW", 28, without_lookahead},
      // All gradients are measured before the first update, so each is read twice.
      {"sing_adamw_skip_step", "SING-AdamW + LookAhead, skip_step", 33.6, skip_step},
      {"sing_sgd", "SING-SGD (momentum) + LookAhead", 21.6, sing_options(sgd)},
      {"sing_adabelief", "SING-AdaBelief + LookAhead", 29.6, sing_options(adabelief)},
      {"sing_adafactor", "SING-AdaFactor + LookAhead", 13.6, sing_options(adafactor)},
      {"sing_adamw_bfloat16", "SING-AdamW + LookAhead, bfloat16", 23.6,
       sing_options(adamw(kSoftplusBeta)), at::kBFloat16},
      // The parameter is only written: its value is read from the master.
      {"sing_adamw_bfloat16_master", "SING-AdamW + LookAhead, bfloat16 with float32 master", 29.6,
       master, at::kBFloat16},
  };
}

Contestant make_contestant(const Problem& problem, const Entry& entry, int threads) {
  const bool low_precision = entry.dtype == at::kBFloat16;
  const TensorVector& gradients = low_precision ? problem.bfloat16_gradients : problem.gradients;
  TensorVector tensors;
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < problem.initial.size(); ++i) {
    tensors.push_back(problem.initial[i].to(entry.dtype, false, /*copy=*/true));
    parameters.push_back({.name = {},
                          .data = tensors.back().data_ptr(),
                          .shape = problem.model.shapes[i],
                          .dtype = low_precision ? Dtype::kBFloat16 : Dtype::kFloat32,
                          .gradient = gradients[i].const_data_ptr(),
                          .gradient_dtype = {}});
  }
  const std::shared_ptr<Backend> backend = make_cpu_backend({.threads = threads, .executor = {}});
  auto optimizer = std::make_shared<Optimizer>(std::move(parameters), entry.options, backend);
  return {.name = entry.name,
          .title = entry.title,
          .bytes_per_parameter = entry.bytes_per_parameter,
          .parameters = std::move(tensors),
          .step = [optimizer] { optimizer->step(); }};
}

}  // namespace

std::vector<Contestant> make_sing_contestants(const Problem& problem, int threads, bool all) {
  std::vector<Entry> entries = main_entries();
  if (all) {
    for (Entry& entry : further_entries()) {
      entries.push_back(std::move(entry));
    }
  }
  std::vector<Contestant> contestants;
  for (const Entry& entry : entries) {
    contestants.push_back(make_contestant(problem, entry, threads));
  }
  return contestants;
}

}  // namespace sing::bench
