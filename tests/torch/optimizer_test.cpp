// Checks the optimizer as a torch::optim::Optimizer: steps, groups, schedulers, closures, memory.
#include <dirent.h>

#include "sing/optim/schedule.hpp"
#include "tests/support/message_of.hpp"
#include "tests/torch/device_test.hpp"

namespace sing {
namespace {

using test::bare;
using test::set_gradient;
using test::SmallModel;

class TorchOptimizer : public test::DeviceTest {};
SING_ON_DEVICES(TorchOptimizer);

// Double rounds at 1.1e-16; a step has about ten operations, whose order differs between the two.
TEST_P(TorchOptimizer, AllOffIsTorchsAdamW) {
  SmallModel ours(device_, at::kDouble);
  SmallModel theirs(device_, at::kDouble);
  std::vector<at::Tensor> list;
  for (const auto& [name, value] : theirs.parameters()) {
    list.push_back(value);
  }
  torch::Optimizer optimizer(ours.parameters(),
                             bare(AdamW{.learning_rate = 0.02, .weight_decay = 0.3}));
  ::torch::optim::AdamW reference(list, ::torch::optim::AdamWOptions(0.02).weight_decay(0.3));
  for (int step = 0; step < 20; ++step) {
    ours.set_gradients(step);
    theirs.set_gradients(step);
    optimizer.step();
    reference.step();
    for (std::size_t i = 0; i < list.size(); ++i) {
      EXPECT_TRUE(at::allclose(ours[i], theirs[i], 1e-13, 1e-13)) << "step " << step << " " << i;
    }
  }
}

TEST_P(TorchOptimizer, ClipsAsTorchDoesBeforeTheStep) {
  SmallModel ours(device_, at::kDouble);
  SmallModel theirs(device_, at::kDouble);
  std::vector<at::Tensor> list;
  for (const auto& [name, value] : theirs.parameters()) {
    list.push_back(value);
  }
  Options options = bare(AdamW{.learning_rate = 0.02, .weight_decay = 0.3});
  options.clip_norm = 0.5;
  torch::Optimizer optimizer(ours.parameters(), options);
  ::torch::optim::AdamW reference(list, ::torch::optim::AdamWOptions(0.02).weight_decay(0.3));
  for (int step = 0; step < 10; ++step) {
    ours.set_gradients(step);
    theirs.set_gradients(step);
    optimizer.step();
    EXPECT_GT(::torch::nn::utils::clip_grad_norm_(list, 0.5), 0.5);
    reference.step();
    for (std::size_t i = 0; i < list.size(); ++i) {
      EXPECT_TRUE(at::allclose(ours[i], theirs[i], 1e-13, 1e-13)) << "step " << step << " " << i;
    }
  }
}

TEST_P(TorchOptimizer, TakesParametersInEveryForm) {
  ::torch::nn::Linear module(3, 2);
  module->to(device_);
  const auto names = [](const torch::Optimizer& optimizer) { return optimizer.parameter_names(); };
  const std::vector<std::string> named = {"weight", "bias"};
  const std::vector<std::string> numbered = {"0", "1"};
  EXPECT_EQ(names(torch::Optimizer(module->named_parameters())), named);
  EXPECT_EQ(names(torch::Optimizer(module->parameters())), numbered);
  EXPECT_EQ(names(torch::Optimizer({module->weight, module->bias})), numbered);
  EXPECT_EQ(names(torch::Optimizer({{"weight", module->weight}, {"bias", module->bias}})), named);
  const std::vector<torch::NamedTensor> first = {{"weight", module->weight}};
  const std::vector<torch::NamedTensor> second = {{"bias", module->bias}};
  EXPECT_EQ(names(torch::Optimizer({{first, {{"weight_decay", 0.1}}}, {second, {}}}, Options{})),
            named);
}

// torch::optim drops the optimizer's defaults as soon as a group has its own options.
TEST_P(TorchOptimizer, GroupsKeepTheDefaultsTheyDoNotOverride) {
  SmallModel model(device_, at::kFloat);
  Options defaults;
  defaults.rule = AdamW{.learning_rate = 0.5, .beta2 = 0.9, .weight_decay = 0.25};
  torch::Optimizer optimizer(
      std::vector<torch::ParameterGroup>{
          {{{"a", model[0]}}, {{"weight_decay", 0.0}}},
          {{{"b", model[1]}}, {{"learning_rate", 0.125}, {"lookahead_period", std::int64_t{7}}}}},
      defaults);
  const auto of = [&](std::size_t group, const char* name) {
    return get_option(optimizer.options(group), name);
  };
  EXPECT_EQ(of(0, "learning_rate"), Value(0.5));
  EXPECT_EQ(of(0, "weight_decay"), Value(0.0));
  EXPECT_EQ(of(0, "beta2"), Value(0.9));
  EXPECT_EQ(of(1, "learning_rate"), Value(0.125));
  EXPECT_EQ(of(1, "weight_decay"), Value(0.25));
  EXPECT_EQ(of(1, "lookahead_period"), Value(std::int64_t{7}));
  EXPECT_EQ(of(0, "lookahead_period"), Value(std::int64_t{5}));
  EXPECT_EQ(optimizer.param_groups()[0].options().get_lr(), 0.5);
  EXPECT_EQ(optimizer.param_groups()[1].options().get_lr(), 0.125);
}

// Groups are added with torch's functions, also through the base class.
TEST_P(TorchOptimizer, TakesUpGroupsAddedLater) {
  SmallModel model(device_, at::kDouble);
  torch::Optimizer optimizer({{"a", model[0]}}, bare(Sgd{.learning_rate = 0.5}));
  ::torch::optim::Optimizer& base = optimizer;
  base.add_param_group(::torch::optim::OptimizerParamGroup({model[1]}));
  optimizer.add_param_group(
      {{model[2]},
       std::make_unique<torch::GroupOptions>(Overrides{{"learning_rate", 0.25}},
                                             std::vector<std::string>{"bias"})});
  EXPECT_EQ(optimizer.add_group({{"scale", model[3]}}, {{"learning_rate", 0.125}}), 3U);
  EXPECT_EQ(optimizer.parameter_names(), (std::vector<std::string>{"a", "1", "bias", "scale"}));
  const double rates[] = {0.5, 0.5, 0.25, 0.125};
  for (std::size_t i = 0; i < 4; ++i) {
    const at::Tensor start = model[i].detach().clone();
    set_gradient(model[i], at::ones_like(start));
    optimizer.step();
    EXPECT_TRUE(at::allclose(model[i], start - rates[i], 0, 1e-15)) << i;
    set_gradient(model[i], {});
  }
}

TEST_P(TorchOptimizer, ParametersWithoutAGradientAreSkipped) {
  SmallModel model(device_, at::kFloat);
  torch::Optimizer optimizer(model.parameters());
  const at::Tensor before = model[2].detach().clone();
  model.set_gradients(0);
  optimizer.step();
  EXPECT_TRUE(test::same_bits(model[2], before));
  EXPECT_EQ(optimizer.steps_of("linear.bias"), 0);
  EXPECT_EQ(optimizer.steps_of("scale"), 1);
  EXPECT_TRUE(optimizer.state_of("linear.bias").empty());
}

TEST_P(TorchOptimizer, GradientsAreNeverWrittenAndAreZeroedByTorch) {
  SmallModel model(device_, at::kFloat);
  torch::Optimizer optimizer(model.parameters());
  model.set_gradients(3);
  const at::Tensor before = model[0].grad().clone();
  optimizer.step();
  EXPECT_TRUE(test::same_bits(model[0].grad(), before));
  optimizer.zero_grad(/*set_to_none=*/false);
  EXPECT_EQ(model[0].grad().abs().sum().item<double>(), 0);
  optimizer.zero_grad();
  EXPECT_FALSE(model[0].grad().defined());
}

TEST_P(TorchOptimizer, TheClosureRunsWithGradientsOnAndItsLossComesBack) {
  const at::Tensor weight = tensor({3, 4});
  torch::Optimizer optimizer({weight}, bare(Sgd{.learning_rate = 0.5}));
  const at::NoGradGuard no_gradients;
  const at::Tensor loss = optimizer.step([&] {
    optimizer.zero_grad();
    at::Tensor value = 0.5 * weight.square().sum();
    value.backward();
    return value;
  });
  EXPECT_EQ(loss.item<double>(), 12.5);
  EXPECT_TRUE(at::equal(weight.cpu(), at::tensor({1.5, 2.0}, at::kDouble)));
  EXPECT_FALSE(optimizer.step().defined());
}

// Compares with torch's own optimizer under the same schedulers.
TEST_P(TorchOptimizer, FollowsTorchsSchedulers) {
  const at::Tensor a = tensor({100});
  const at::Tensor b = tensor({100});
  const at::Tensor expected = tensor({100});
  torch::Optimizer optimizer({{{a}, {}}, {{b}, {{"learning_rate", 4.0}}}},
                             bare(Sgd{.learning_rate = 1}));
  ::torch::optim::SGD reference(std::vector<at::Tensor>{expected}, 1);
  for (const at::Tensor& each : {a, b, expected}) {
    set_gradient(each, at::ones_like(each));
  }
  using Plateau = ::torch::optim::ReduceLROnPlateauScheduler;
  ::torch::optim::StepLR halve(optimizer, /*step_size=*/2, /*gamma=*/0.5);
  ::torch::optim::StepLR reference_halve(reference, 2, 0.5);
  Plateau plateau(optimizer, Plateau::min, 0.5F, /*patience=*/0);
  Plateau reference_plateau(reference, Plateau::min, 0.5F, 0);
  for (int step = 0; step < 8; ++step) {
    optimizer.step();
    reference.step();
    EXPECT_EQ(a.item<double>(), expected.item<double>()) << "step " << step;
    EXPECT_EQ(100 - b.item<double>(), 4 * (100 - a.item<double>())) << "step " << step;
    if (step < 5) {
      halve.step();
      reference_halve.step();
    } else {
      plateau.step(1.0F);
      reference_plateau.step(1.0F);
    }
  }
  EXPECT_EQ(reference.param_groups()[0].options().get_lr(), 0.0625);
  EXPECT_EQ(get_option(optimizer.options(1), "learning_rate"), Value(0.25));
}

TEST_P(TorchOptimizer, FollowsOurSchedules) {
  const at::Tensor weight = tensor({10});
  torch::Optimizer optimizer({weight}, bare(Sgd{.learning_rate = 1}));
  set_gradient(weight, at::ones_like(weight));
  const Schedule schedule{WarmupLinear{.warmup_steps = 2, .total_steps = 4}};
  for (int step = 0; step < 4; ++step) {
    optimizer.set_learning_rate_factor(schedule.factor(step));
    optimizer.step();
  }
  EXPECT_EQ(weight.item<double>(), 10 - (0.5 + 1 + 1 + 0.5));
}

TEST_P(TorchOptimizer, OptionsChangeByName) {
  const at::Tensor weight = tensor({8});
  torch::Optimizer optimizer({weight}, bare(Sgd{.learning_rate = 1}));
  set_gradient(weight, at::ones_like(weight));
  optimizer.set_option(0, "learning_rate", 2.0);
  EXPECT_EQ(optimizer.param_groups()[0].options().get_lr(), 2.0);
  optimizer.step();
  EXPECT_EQ(weight.item<double>(), 6);
  optimizer.set_option(0, "weight_decay", 0.25);
  optimizer.step();
  EXPECT_EQ(weight.item<double>(), 6 * 0.5 - 2);
  EXPECT_THAT(test::message_of<std::invalid_argument>(
                  [&] { optimizer.set_option(0, "weight_decoy", 0.1); }),
              ::testing::HasSubstr("'weight_decay'"));
}

TEST_P(TorchOptimizer, ChannelsLastIsContiguous) {
  for (const bool mixed_layouts : {false, true}) {
    SmallModel plain(device_, at::kFloat);
    SmallModel last(device_, at::kFloat, /*channels_last=*/true);
    ASSERT_FALSE(last[0].is_contiguous());
    torch::Optimizer a(plain.parameters());
    torch::Optimizer b(last.parameters());
    for (int step = 0; step < 7; ++step) {
      plain.set_gradients(step);
      last.set_gradients(step);  // contiguous, so its layout differs from the parameter's
      if (!mixed_layouts) {
        set_gradient(last[0], last[0].grad().contiguous(at::MemoryFormat::ChannelsLast));
      }
      a.step();
      b.step();
    }
    // Row sums are added in a different order: float32 roundings of a few steps of size 0.005.
    EXPECT_TRUE(at::allclose(plain[0], last[0], 0, 1e-6));
    EXPECT_FALSE(last[0].is_contiguous());
    last.expect_same_bits(last, "itself");
    const at::Tensor moment = b.state_of("conv.weight").at("first_moment");
    EXPECT_EQ(moment.strides(), last[0].strides());
    EXPECT_TRUE(at::allclose(a.state_of("conv.weight").at("first_moment"), moment, 0, 1e-6));
  }
}

// Rows follow the indices, also when centralization starts or changes its axis between steps.
TEST_P(TorchOptimizer, AnyOrderOfTheAxesTrainsAsContiguousMemory) {
  const at::Tensor values = at::arange(24.0, at::device(device_)).reshape({2, 3, 4}).sin();
  for (const std::int64_t axis : {0, 1, 2}) {
    const at::Tensor plain = values.clone().requires_grad_();
    const at::Tensor turned =
        values.permute({2, 0, 1}).contiguous().permute({1, 2, 0}).detach().requires_grad_();
    ASSERT_FALSE(turned.is_contiguous());
    Options options;
    options.standardize.centralize = false;
    torch::Optimizer a({{"w", plain}}, options);
    torch::Optimizer b({{"w", turned}}, options);
    for (int step = 0; step < 6; ++step) {
      if (step == 2) {
        for (torch::Optimizer* each : {&a, &b}) {
          each->set_option(0, "centralize", true);
          each->set_option(0, "centralize_axis", axis);
        }
      }
      const at::Tensor gradient = (values * (step + 1)).cos();
      set_gradient(plain, gradient);
      set_gradient(turned, gradient);
      a.step();
      b.step();
      EXPECT_TRUE(at::allclose(plain, turned, 0, 1e-6)) << axis << ", step " << step;
    }
  }
}

TEST_P(TorchOptimizer, TiedWeightsAreOneParameter) {
  const at::Tensor once = tensor({1, 2, 3});
  const at::Tensor twice = tensor({1, 2, 3});
  torch::Optimizer a({{"w", once}});
  torch::Optimizer b({{"w", twice}, {"tied", twice}});
  EXPECT_EQ(b.parameter_names(), std::vector<std::string>{"w"});
  for (int step = 0; step < 6; ++step) {
    const at::Tensor gradient = random({3}, at::kDouble);
    set_gradient(once, gradient);
    set_gradient(twice, gradient);
    a.step();
    b.step();
  }
  EXPECT_TRUE(test::same_bits(once, twice));
}

TEST_P(TorchOptimizer, AMovedStorageIsFollowed) {
  SmallModel moving(device_, at::kFloat);
  SmallModel staying(device_, at::kFloat);
  torch::Optimizer a(moving.parameters());
  torch::Optimizer b(staying.parameters());
  for (int step = 0; step < 6; ++step) {
    moving.set_gradients(step);
    staying.set_gradients(step);
    const at::Tensor old = moving[1].detach();
    const at::Tensor before = old.clone();
    moving[1].set_data(old.clone());
    a.step();
    b.step();
    EXPECT_TRUE(test::same_bits(old, before));
  }
  moving.expect_same_bits(staying, "moved");
}

TEST_P(TorchOptimizer, AutogradNoticesTheUpdate) {
  const at::Tensor weight = tensor({1, 2});
  torch::Optimizer optimizer({weight});
  const at::Tensor loss = weight.square().sum();
  loss.backward({}, /*retain_graph=*/true);
  optimizer.step();
  EXPECT_THROW(loss.backward(), c10::Error);
}

TEST_P(TorchOptimizer, SlowWeightsComeAndGo) {
  SmallModel model(device_, at::kBFloat16);
  torch::Optimizer optimizer(model.parameters());
  for (int step = 0; step < 7; ++step) {
    model.set_gradients(step);
    optimizer.step();
  }
  const at::Tensor fast = model[1].detach().clone();
  const at::Tensor slow = optimizer.state_of("linear.weight").at("slow").clone();
  optimizer.use_slow_weights();
  EXPECT_TRUE(test::same_bits(model[1], slow.to(at::kBFloat16)));
  EXPECT_FALSE(test::same_bits(model[1], fast));
  EXPECT_THROW(optimizer.step(), std::invalid_argument);
  optimizer.use_fast_weights();
  EXPECT_TRUE(test::same_bits(model[1], fast));
}

TEST_P(TorchOptimizer, NormsAndStatusByName) {
  const at::Tensor a = tensor({1, 1});
  const at::Tensor b = tensor({1, 1});
  torch::Optimizer optimizer({{"a", a}, {"b", b}});
  set_gradient(a, tensor({3, 4}).detach());
  set_gradient(b, tensor({1, std::numeric_limits<double>::infinity()}).detach());
  optimizer.step();
  const auto norms = optimizer.gradient_norms();
  EXPECT_EQ(norms[0], (std::pair<std::string, double>("a", 5.0)));
  EXPECT_FALSE(std::isfinite(norms[1].second));
  const OptimizerProgress status = optimizer.status();
  EXPECT_EQ(status.skipped_tensors, 1);
  EXPECT_EQ(status.first_non_finite, 2);
  EXPECT_TRUE(at::equal(b.cpu(), at::ones({2}, at::kDouble)));
}

TEST_P(TorchOptimizer, StateIsAliveAndOutlivesTheOptimizer) {
  const at::Tensor weight = tensor({2});
  std::map<std::string, at::Tensor> state;
  {
    torch::Optimizer optimizer({{"w", weight}}, bare(Sgd{.learning_rate = 1, .momentum = 0.5}));
    set_gradient(weight, at::ones_like(weight));
    optimizer.step();
    state = optimizer.state_of("w");
    EXPECT_EQ(state.at("momentum").item<double>(), 1);
    optimizer.step();
  }
  EXPECT_EQ(state.at("momentum").item<double>(), 1.5);
  EXPECT_EQ(state.at("momentum").device(), weight.device());
}

TEST_P(TorchOptimizer, TwoOptimizersDoNotInterfere) {
  SmallModel together(device_, at::kFloat);
  SmallModel apart(device_, at::kFloat);
  torch::Optimizer all(together.parameters());
  torch::Optimizer first({{"0", apart[0]}, {"1", apart[1]}});
  torch::Optimizer second({{"2", apart[2]}, {"3", apart[3]}});
  for (int step = 0; step < 6; ++step) {
    together.set_gradients(step);
    apart.set_gradients(step);
    all.step();
    second.step();
    first.step();
  }
  together.expect_same_bits(apart, "two optimizers");
}

int threads_of_this_process() {
  int count = 0;
  DIR* const folder = ::opendir("/proc/self/task");
  while (::readdir(folder) != nullptr) {
    ++count;
  }
  ::closedir(folder);
  return count;
}

// A separate pool would compete with LibTorch's.
TEST(TorchThreads, AreThoseOfLibTorch) {
  const int threads = at::get_num_threads();
  std::vector<at::Tensor> results;
  for (const int count : {1, 3}) {
    at::set_num_threads(count);
    at::parallel_for(0, count, 1, [](std::int64_t, std::int64_t) {});
    at::rand({400'000}).exp_();  // the pool exists after this line
    const int before = threads_of_this_process();
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(std::uint64_t{5});
    results.push_back(at::randn({500, 700}, generator).requires_grad_());
    set_gradient(results.back(), at::randn({500, 700}, generator));
    torch::Optimizer optimizer({results.back()});
    for (int step = 0; step < 6; ++step) {
      optimizer.step();
    }
    EXPECT_EQ(threads_of_this_process(), before);
  }
  EXPECT_TRUE(test::same_bits(results[0], results[1]));
  const int before = threads_of_this_process();
  const at::Tensor weight = at::zeros({500, 700});
  const at::Tensor gradient = at::ones({500, 700});
  sing::Optimizer with_a_pool({{.data = weight.mutable_data_ptr(),
                                .shape = {500, 700},
                                .gradient = gradient.const_data_ptr()}},
                              {}, make_cpu_backend({.threads = 3}));
  with_a_pool.step();
  EXPECT_EQ(threads_of_this_process(), before + 2) << "what the count shows of a pool";
  at::set_num_threads(threads);
}

// Slow weights are merged in the same steps on both devices, and the file does not depend on
// devices.
TEST(TorchDevices, MixInOneOptimizer) {
  if (!is_cuda_available() || !::torch::cuda::is_available()) {
    GTEST_SKIP() << "no CUDA device";
  }
  SmallModel alone(at::kCPU, at::kDouble);
  SmallModel mixed(at::kCPU, at::kDouble);
  mixed[1] = mixed[1].detach().cuda().requires_grad_();
  torch::Optimizer a(alone.parameters());
  torch::Optimizer b(mixed.parameters());
  const auto take = [&](int step) {
    alone.set_gradients(step);
    mixed.set_gradients(step);
    a.step();
    b.step();
  };
  for (int step = 0; step < 7; ++step) {
    take(step);
  }
  EXPECT_TRUE(at::allclose(alone[1], mixed[1].cpu(), 1e-12, 1e-12));
  torch::Optimizer c(mixed.parameters());
  c.load_bytes(b.save_bytes());
  EXPECT_EQ(c.save_bytes(), b.save_bytes());
  c.load_bytes(a.save_bytes());
  EXPECT_EQ(c.steps_of("linear.bias"), 5);
  Options skip;
  skip.non_finite = NonFinite::kSkipStep;
  torch::Optimizer d(mixed.parameters(), skip);
  mixed.set_gradients(9);
  mixed[1].mutable_grad().fill_(std::numeric_limits<double>::infinity());
  const at::Tensor before = mixed[0].detach().clone();
  d.step();
  EXPECT_TRUE(at::equal(mixed[0], before));  // one device skips the step, so all do
  EXPECT_EQ(d.status().skipped_steps, 1);
}

TEST(TorchDevices, TheCurrentStreamIsUsed) {
  if (!is_cuda_available() || !::torch::cuda::is_available()) {
    GTEST_SKIP() << "no CUDA device";
  }
  SmallModel one(at::kCUDA, at::kFloat);
  SmallModel other(at::kCUDA, at::kFloat);
  torch::Optimizer a(one.parameters());
  torch::Optimizer b(other.parameters());
  for (int step = 2; step < 9; ++step) {
    one.set_gradients(step);
    other.set_gradients(step);
    a.step();
    const c10::impl::VirtualGuardImpl guard(at::kCUDA);
    const c10::Stream main = guard.getStream(at::Device(at::kCUDA, 0));
    const c10::Stream side = guard.getStreamFromGlobalPool(at::Device(at::kCUDA, 0), false);
    ::torch::cuda::synchronize();
    guard.exchangeStream(side);
    b.step();
    guard.exchangeStream(main);
    ::torch::cuda::synchronize();
  }
  one.expect_same_bits(other, "another stream every step");
}

}  // namespace
}  // namespace sing
