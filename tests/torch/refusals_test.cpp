// Checks that the adapter refuses bad input with an error that names the tensor, and that nothing
// changes.
#include "adapters/torch/standardize.hpp"
#include "tests/support/message_of.hpp"
#include "tests/torch/device_test.hpp"

namespace sing {
namespace {

using test::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TorchRefusals : public test::DeviceTest {
 protected:
  std::string refusal_of(const at::Tensor& tensor, const Options& options = {}) {
    return message_of<std::invalid_argument>(
        [&] { torch::Optimizer({{"good", good_}, {"bad", tensor}}, options); });
  }

  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) {
      good_ = tensor({1, 2, 3}, at::kFloat);
    }
  }

  at::Tensor good_;
};
SING_ON_DEVICES(TorchRefusals);

TEST_P(TorchRefusals, OfParameters) {
  const auto on = at::device(device_);
  EXPECT_THAT(refusal_of(at::Tensor()), AllOf(HasSubstr("'bad'"), HasSubstr("undefined")));
  EXPECT_THAT(refusal_of(at::zeros({2, 3}, on.dtype(at::kLong))),
              AllOf(HasSubstr("'bad'"), HasSubstr("float32, float64")));
  EXPECT_THAT(refusal_of(at::zeros({2}, on.dtype(at::kComplexFloat))),
              AllOf(HasSubstr("'bad'"), HasSubstr("float32, float64")));
  EXPECT_THAT(refusal_of(at::zeros({2}, on).to_sparse()),
              AllOf(HasSubstr("'bad'"), HasSubstr("sparse")));
  EXPECT_THAT(refusal_of(at::zeros({2, 1}, on).expand({2, 5})),
              AllOf(HasSubstr("'bad'"), HasSubstr("overlaps"), HasSubstr("[1, 0]")));
  EXPECT_THAT(refusal_of(at::zeros({4, 6}, on).slice(1, 0, 3)),
              AllOf(HasSubstr("'bad'"), HasSubstr("gaps")));
  EXPECT_THAT(refusal_of(at::zeros({2}, at::device(at::kMeta))),
              AllOf(HasSubstr("'bad'"), HasSubstr("CPU or CUDA")));
  EXPECT_THAT(refusal_of(good_ * 2), AllOf(HasSubstr("'bad'"), HasSubstr("leaf")));
  EXPECT_THAT(refusal_of(good_.detach()), AllOf(HasSubstr("'bad'"), HasSubstr("that of 'good'")));
}

// Kernels accept any order of the axes; a rule that works on matrices may not.
TEST_P(TorchRefusals, OfLayouts) {
  const at::Tensor last =
      at::zeros({2, 3, 4, 5}, at::device(device_)).contiguous(at::MemoryFormat::ChannelsLast);
  torch::Optimizer kept({{"fine", last}});
  kept.set_option(0, "centralize_axis", std::int64_t{1});
  Options options;
  options.rule = AdaFactor{};
  EXPECT_THAT(refusal_of(last, options),
              AllOf(HasSubstr("'bad'"), HasSubstr("rule 'adafactor' takes, got strides")));
}

TEST_P(TorchRefusals, OfGroups) {
  const at::Tensor other = tensor({1}, at::kFloat);
  torch::Optimizer optimizer({{"good", good_}});
  EXPECT_THAT(message_of<std::invalid_argument>([&] { optimizer.add_group({{"again", good_}}); }),
              HasSubstr("wanted a tensor that is in no group, got one of group 0"));
  EXPECT_THAT(message_of<std::invalid_argument>([&] { optimizer.add_group({{"good", other}}); }),
              HasSubstr("got two named 'good'"));
  EXPECT_THAT(message_of<std::invalid_argument>(
                  [&] { optimizer.add_group({{"other", other}}, {{"learning_rate", -1.0}}); }),
              HasSubstr("wanted learning_rate at least 0"));
  EXPECT_THAT(message_of<std::invalid_argument>(
                  [&] { optimizer.add_group({{"other", other}}, {{"learning_rte", 1.0}}); }),
              HasSubstr("'learning_rate'"));
  EXPECT_THAT(
      message_of<std::invalid_argument>([&] {
        optimizer.add_param_group({{other}, std::make_unique<::torch::optim::SGDOptions>(0.1)});
      }),
      HasSubstr("options of another optimizer"));
  EXPECT_EQ(optimizer.parameter_names(), std::vector<std::string>{"good"});
  EXPECT_EQ(optimizer.param_groups().size(), 1U);
  optimizer.add_group({{"other", other}});
  optimizer.step();
  at::Tensor& listed = optimizer.param_groups()[1].params()[0];
  listed = tensor({1}, at::kFloat);  // a replaced tensor would not be trained
  EXPECT_THAT(message_of<std::invalid_argument>([&] { optimizer.step(); }),
              HasSubstr("group 1: wanted the 1 tensors that it was added with, got others"));
  listed = other;
  optimizer.step();
  optimizer.add_parameters({tensor({2}, at::kFloat)});
  EXPECT_THAT(message_of<std::invalid_argument>([&] { optimizer.step(); }),
              HasSubstr("added by add_group"));
}

class TorchStepRefusals : public TorchRefusals {
 protected:
  void expect_refusal(const std::function<void()>& spoil, const std::string& message) {
    const at::Tensor first = tensor({1, 2, 3}, at::kFloat);
    bad_ = tensor({4, 5, 6}, at::kFloat);
    torch::Optimizer optimizer({{"first", first}, {"bad", bad_}});
    test::set_gradient(first, at::ones_like(first));
    test::set_gradient(bad_, at::ones_like(bad_));
    optimizer.step();
    const std::string before = optimizer.save_bytes();
    const at::Tensor value = first.detach().clone();
    spoil();
    EXPECT_THAT(message_of<std::invalid_argument>([&] { optimizer.step(); }),
                AllOf(HasSubstr("'bad'"), HasSubstr(message)));
    EXPECT_TRUE(test::same_bits(first, value));
    EXPECT_EQ(optimizer.save_bytes(), before);
  }

  at::Tensor bad_;
};
SING_ON_DEVICES(TorchStepRefusals);

TEST_P(TorchStepRefusals, WhateverBecameOfAParameterOrItsGradient) {
  const auto on = at::device(device_);
  expect_refusal([&] { bad_.set_data(at::zeros({4}, on)); }, "got float32 on");
  expect_refusal([&] { bad_.set_data(bad_.detach().to(at::kDouble)); },
                 "as when it was added, got float64");
  expect_refusal([&] { bad_.mutable_grad() = bad_.grad().to_sparse(); }, "sparse");
}

TEST_P(TorchStepRefusals, NonFiniteGradientsUnderThrow) {
  Options options;
  options.non_finite = NonFinite::kThrow;
  torch::Optimizer optimizer({{"first", good_}}, options);
  test::set_gradient(good_, at::full_like(good_, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_THAT(message_of<NonFiniteError>([&] {
                optimizer.step();
                optimizer.status();
              }),
              HasSubstr("'first'"));
  EXPECT_TRUE(at::equal(good_.detach().cpu(), at::tensor({1.0F, 2.0F, 3.0F})));
}

TEST_P(TorchRefusals, OfStandardize) {
  const at::Tensor bad = at::zeros({2, 1}, at::device(device_)).expand({2, 5});
  torch::Standardizer standardizer;
  EXPECT_THAT(
      message_of<std::invalid_argument>([&] { standardizer.standardize_gradients_({{"g", bad}}); }),
      AllOf(HasSubstr("'g'"), HasSubstr("overlaps")));
  EXPECT_THROW(torch::standardized({at::zeros({2}, at::kLong)}), std::invalid_argument);
}

}  // namespace
}  // namespace sing
