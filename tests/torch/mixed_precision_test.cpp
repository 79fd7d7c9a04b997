// Checks 16-bit parameters, loss scaling, autocast, and standardized gradients for torch's
// optimizers.
#include <sstream>

#include "adapters/torch/autocast_guard.hpp"
#include "adapters/torch/grad_scaler.hpp"
#include "adapters/torch/standardize.hpp"
#include "tests/support/message_of.hpp"
#include "tests/torch/device_test.hpp"

namespace sing {
namespace {

using test::SmallModel;

class TorchMixedPrecision : public test::DeviceTest {};
SING_ON_DEVICES(TorchMixedPrecision);

// With masters, a 16-bit run equals the float32 run, rounded once at the end of each step.
TEST_P(TorchMixedPrecision, MastersKeepWhatSixteenBitsLose) {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    Options options;
    options.master_weights = true;
    options.rule = AdamW{.learning_rate = 1e-4};
    SmallModel narrow(device_, type);
    SmallModel wide(device_, type);
    for (auto& [name, value] : wide.parameters()) {
      value = value.detach().to(at::kFloat).requires_grad_();
    }
    torch::Optimizer a(narrow.parameters(), options);
    torch::Optimizer b(wide.parameters(), options);
    for (int step = 0; step < 12; ++step) {
      narrow.set_gradients(step);
      for (std::size_t i = 0; i < 4; ++i) {
        // The gradient stays 16-bit on both sides.
        test::set_gradient(
            wide[i], narrow[i].grad().defined() ? narrow[i].grad().to(at::kFloat) : at::Tensor());
      }
      a.step();
      b.step();
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const std::string& name = narrow.parameters()[i].first;
      EXPECT_TRUE(test::same_bits(a.state_of(name).at("master"), wide[i])) << name;
      EXPECT_TRUE(test::same_bits(narrow[i], wide[i].to(type))) << name;
    }
  }
}

TEST_P(TorchMixedPrecision, TheScalerSkipsShrinksAndGrows) {
  Options options = test::bare(Sgd{.learning_rate = 1});
  options.non_finite = NonFinite::kSkipStep;
  const at::Tensor weight = tensor({1});
  torch::Optimizer optimizer({weight}, options);
  torch::GradScaler scaler({.initial_scale = 1024, .growth_interval = 2});
  const auto take = [&](double slope) {
    optimizer.zero_grad();
    scaler.scale(slope * weight.sum()).backward();
    scaler.step(optimizer);
    scaler.update();
    return weight.item<double>();
  };
  EXPECT_EQ(take(0.25), 0.75);
  EXPECT_EQ(scaler.growth_tracker(), 1);
  EXPECT_EQ(take(0.25), 0.5);
  EXPECT_EQ(scaler.current_scale(), 2048);
  EXPECT_EQ(scaler.growth_tracker(), 0);
  EXPECT_EQ(take(0.25), 0.25);
  EXPECT_EQ(take(1e306), 0.25);  // infinite after scaling by 2048, so nothing moves
  EXPECT_EQ(scaler.current_scale(), 1024);
  EXPECT_EQ(scaler.growth_tracker(), 0);
  EXPECT_EQ(optimizer.status().skipped_steps, 1);
  EXPECT_EQ(take(0.25), 0.0);
  EXPECT_EQ(scaler.growth_tracker(), 1);

  std::stringstream stream;
  ::torch::save(scaler, stream);
  torch::GradScaler loaded;
  ::torch::load(loaded, stream);
  EXPECT_EQ(loaded.current_scale(), 1024);
  EXPECT_EQ(loaded.growth_tracker(), 1);
  EXPECT_EQ(take(0.25), -0.25);
  optimizer.load_bytes(optimizer.save_bytes());
  loaded.step(optimizer);
  loaded.update();
  EXPECT_EQ(loaded.current_scale(), 2048);
}

TEST_P(TorchMixedPrecision, TheScalerRefusesWhatItCannotServe) {
  const at::Tensor weight = tensor({1});
  torch::Optimizer skips_tensors({weight});
  torch::GradScaler scaler;
  EXPECT_THAT(test::message_of<std::invalid_argument>([&] { scaler.step(skips_tensors); }),
              ::testing::HasSubstr("'skip_step', got 'skip_tensor'"));
  EXPECT_THROW(scaler.update(), std::invalid_argument);
  EXPECT_THROW(scaler.set_scale(0), std::invalid_argument);
  EXPECT_THROW(torch::GradScaler({.growth_factor = 1}), std::invalid_argument);
  EXPECT_THROW(torch::GradScaler({.backoff_factor = 1}), std::invalid_argument);
}

TEST_P(TorchMixedPrecision, AutocastHoldsForItsScope) {
  const at::DeviceType type = device_.type();
  const at::Tensor a = random({4, 4});
  const bool was = at::autocast::is_autocast_enabled(type);
  const at::ScalarType dtype = at::autocast::get_autocast_dtype(type);
  {
    const torch::AutocastGuard outer(type, at::kBFloat16);
    EXPECT_EQ(at::mm(a, a).scalar_type(), at::kBFloat16);
    {
      const torch::AutocastGuard inner(type, at::kBFloat16, /*enabled=*/false);
      EXPECT_EQ(at::mm(a, a).scalar_type(), at::kFloat);
    }
    EXPECT_EQ(at::mm(a, a).scalar_type(), at::kBFloat16);
  }
  EXPECT_EQ(at::mm(a, a).scalar_type(), at::kFloat);
  EXPECT_EQ(at::autocast::is_autocast_enabled(type), was);
  EXPECT_EQ(at::autocast::get_autocast_dtype(type), dtype);
}

// Casts of weights are cached only within the outermost scope, so a step may follow it.
TEST_P(TorchMixedPrecision, AutocastSeesWeightsAfterAStep) {
  const at::Tensor weight = random({4, 4}).requires_grad_();
  const at::Tensor input = random({4, 4});
  at::Tensor results[2];
  for (at::Tensor& result : results) {
    const torch::AutocastGuard autocast(device_.type(), at::kBFloat16);
    result = at::mm(input, weight).detach();
    weight.set_data(weight.detach() + 1);
  }
  EXPECT_FALSE(at::equal(results[0], results[1]));
}

TEST_P(TorchMixedPrecision, StandardizedGradientsAreThoseOfTheFormula) {
  SmallModel model(device_, at::kDouble, /*channels_last=*/true);
  model.set_gradients(1);  // the bias has none
  std::vector<at::Tensor> expected(4);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    at::Tensor g = model[i].grad().clone();
    if (g.dim() >= 2) {
      g = g - g.flatten(1).mean(1).view([&] {
        std::vector<std::int64_t> s(g.dim(), 1);
        s[0] = g.size(0);
        return s;
      }());
    }
    expected[i] = g / (g.norm() + 1e-8);
  }
  const std::vector<at::Tensor> copies = torch::standardized({model[0].grad(), model[1].grad()});
  torch::Standardizer standardizer;
  const double norm = model[1].grad().norm().item<double>();
  standardizer.standardize_(model.parameters());
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    EXPECT_TRUE(at::allclose(model[i].grad(), expected[i], 1e-12, 1e-14)) << i;
  }
  EXPECT_FALSE(model[2].grad().defined());
  EXPECT_TRUE(at::equal(copies[1], model[1].grad()));
  EXPECT_TRUE(at::allclose(copies[0], expected[0], 1e-12, 1e-14));
  EXPECT_EQ(standardizer.gradient_norms()[1].first, "linear.weight");
  EXPECT_NEAR(standardizer.gradient_norms()[1].second, norm, 1e-12);
}

// Standardizing and then torch's AdamW equals our AdamW with the same options, up to rounding.
TEST_P(TorchMixedPrecision, StandardizeServesAnyTorchOptimizer) {
  SmallModel ours(device_, at::kDouble);
  SmallModel theirs(device_, at::kDouble);
  Options options;
  options.rule = AdamW{.learning_rate = 0.01, .weight_decay = 0.1};
  options.lookahead.reset();
  options.decay_vectors = true;
  torch::Optimizer optimizer(ours.parameters(), options);
  std::vector<at::Tensor> list;
  for (const auto& [name, value] : theirs.parameters()) {
    list.push_back(value);
  }
  ::torch::optim::AdamW reference(list, ::torch::optim::AdamWOptions(0.01).weight_decay(0.1));
  torch::Standardizer standardizer;
  for (int step = 0; step < 8; ++step) {
    ours.set_gradients(step);
    theirs.set_gradients(step);
    optimizer.step();
    standardizer.standardize_(theirs.parameters());
    reference.step();
    for (std::size_t i = 0; i < list.size(); ++i) {
      EXPECT_TRUE(at::allclose(ours[i], theirs[i], 1e-11, 1e-11)) << "step " << step << " " << i;
    }
  }
}

class KeptCopies : public test::DeviceTest {};
SING_ON_DEVICES(KeptCopies);

TEST_P(KeptCopies, AreTheRoundedParametersAfterEveryStep) {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    SmallModel model(device_, at::kFloat);
    torch::Optimizer optimizer(model.parameters(), Options{});
    const at::Tensor copy = optimizer.keep_copy("linear.weight", type);
    EXPECT_TRUE(test::same_bits(copy, model[1].to(type)));
    EXPECT_TRUE(copy.is_same(optimizer.keep_copy("linear.weight", type)));
    for (int step = 0; step < 6; ++step) {
      model.set_gradients(step);
      optimizer.step();
      EXPECT_TRUE(test::same_bits(copy, model[1].to(type))) << step;
    }
    optimizer.use_slow_weights();
    EXPECT_TRUE(test::same_bits(copy, model[1].to(type)));
  }
}

TEST_P(KeptCopies, AreRefusedForOtherParameters) {
  SmallModel model(device_, at::kBFloat16);
  torch::Optimizer optimizer(model.parameters(), Options{});
  EXPECT_THAT(
      test::message_of<std::invalid_argument>([&] { optimizer.keep_copy("linear.weight"); }),
      ::testing::HasSubstr("wanted a 16-bit copy of a float32 parameter"));
  EXPECT_THAT(test::message_of<std::invalid_argument>([&] { optimizer.keep_copy("linear.wait"); }),
              ::testing::HasSubstr("linear.weight"));
  SmallModel floats(device_, at::kFloat);
  torch::Optimizer other(floats.parameters(), Options{});
  EXPECT_THAT(test::message_of<std::invalid_argument>(
                  [&] { other.keep_copy("linear.weight", at::kDouble); }),
              ::testing::HasSubstr("wanted a 16-bit copy"));
}

}  // namespace
}  // namespace sing
