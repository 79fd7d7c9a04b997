// Checks on every backend what the four policies for non-finite gradients change and what they do
// not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sing/base/message.hpp"
#include "sing/optim/optimizer.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/device_tensor.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/same_bytes.hpp"

namespace sing {
namespace {

using test::DeviceTensor;
using test::message_of;
using test::same_bytes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Numbers = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Has three tensors, the middle one large enough to be processed in pieces.
class ThreeTensors {
 public:
  ThreeTensors(const std::shared_ptr<Backend>& backend, NonFinite policy) : backend_(backend) {
    Options options;
    options.non_finite = policy;
    options.lookahead = Lookahead{.period = 2, .alpha = 0.25};
    std::vector<Parameter> list;
    parameters_.reserve(3);
    gradients_.reserve(3);
    for (const std::int64_t size : {3, 70'000, 5}) {
      const Numbers start(static_cast<std::size_t>(size), 1.0);
      parameters_.emplace_back(backend, Dtype::kFloat32, std::vector<std::int64_t>{size}, start);
      gradients_.emplace_back(backend, Dtype::kFloat32, std::vector<std::int64_t>{size}, start);
      list.push_back(parameters_.back().parameter(fmt::format("size {}", size), gradients_.back()));
    }
    optimizer_ = std::make_unique<Optimizer>(list, options, backend);
  }

  // Puts one NaN at the end of the gradients of these tensors; all other elements are 1.
  void spoil(const std::vector<std::size_t>& tensors) {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      Numbers values(static_cast<std::size_t>(gradients_[i].size()), 1.0);
      if (std::find(tensors.begin(), tensors.end(), i) != tensors.end()) {
        values.back() = kNan;
      }
      gradients_[i].set(values);
    }
  }

  std::vector<std::string> everything() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      all.push_back(parameters_[i].bytes());
      for (const StateTensor& tensor : optimizer_->state(i)) {
        std::string bytes(static_cast<std::size_t>(product(tensor.shape)) * size_of(tensor.dtype),
                          '\0');
        backend_->read(bytes.data(), tensor.memory.get(), bytes.size());
        all.push_back(std::move(bytes));
      }
      all.push_back(std::to_string(optimizer_->tensor_progress()[i].steps));
    }
    return all;
  }

  DeviceTensor& parameter(std::size_t i) { return parameters_[i]; }
  Optimizer& optimizer() { return *optimizer_; }

  // Takes a step and waits for its error, if any.
  void step() {
    optimizer_->step();
    optimizer_->status();
  }

 private:
  std::shared_ptr<Backend> backend_;
  std::vector<DeviceTensor> parameters_;
  std::vector<DeviceTensor> gradients_;
  std::unique_ptr<Optimizer> optimizer_;
};

class NonFinitePolicy : public test::BackendTest {};
SING_ON_BACKENDS(NonFinitePolicy, test::backend_kinds());

TEST_P(NonFinitePolicy, SkipTensorLeavesThatTensorAlone) {
  for (const std::size_t bad : {0U, 1U, 2U}) {
    ThreeTensors model(backend_, NonFinite::kSkipTensor);
    model.step();
    const std::string before = model.parameter(bad).bytes();
    const std::string other = model.parameter((bad + 1) % 3).bytes();
    model.spoil({bad});
    model.step();
    EXPECT_TRUE(same_bytes(model.parameter(bad).bytes(), before));
    EXPECT_FALSE(same_bytes(model.parameter((bad + 1) % 3).bytes(), other));
    const auto progress = model.optimizer().tensor_progress();
    EXPECT_EQ(progress[bad].steps, 1);
    EXPECT_EQ(progress[bad].non_finite, 1);
    EXPECT_EQ(progress[(bad + 1) % 3].steps, 2);
    EXPECT_EQ(progress[(bad + 1) % 3].non_finite, 0);
    EXPECT_EQ(model.optimizer().status().skipped_tensors, 1);
    EXPECT_EQ(model.optimizer().status().skipped_steps, 0);
  }
}

TEST_P(NonFinitePolicy, SkipTensorCountsEachTensor) {
  ThreeTensors model(backend_, NonFinite::kSkipTensor);
  model.spoil({0, 1, 2});
  model.step();
  EXPECT_EQ(model.optimizer().status().skipped_tensors, 3);
  model.spoil({1, 2});
  model.step();
  EXPECT_EQ(model.optimizer().status().skipped_tensors, 5);
  EXPECT_EQ(model.optimizer().tensor_progress()[1].non_finite, 2);
}

// This includes the counters: after a skipped step everything continues as if the step had not been
// requested, LookAhead's merge in particular.
TEST_P(NonFinitePolicy, SkipStepChangesNothing) {
  for (const std::size_t bad : {0U, 1U, 2U}) {
    ThreeTensors model(backend_, NonFinite::kSkipStep);
    ThreeTensors untroubled(backend_, NonFinite::kSkipStep);
    model.step();
    const auto before = model.everything();
    model.spoil({bad});
    model.step();
    EXPECT_TRUE(same_bytes(model.everything(), before)) << bad;
    EXPECT_EQ(model.optimizer().status().skipped_steps, 1);
    EXPECT_EQ(model.optimizer().status().skipped_tensors, 0);
    model.spoil({});
    untroubled.step();
    for (int step = 0; step < 3; ++step) {
      model.step();
      untroubled.step();
      EXPECT_TRUE(same_bytes(model.everything(), untroubled.everything())) << bad;
    }
  }
}

TEST_P(NonFinitePolicy, SkipStepBeforeTheFirstUpdateKeepsTheStart) {
  ThreeTensors model(backend_, NonFinite::kSkipStep);
  model.spoil({2});
  model.step();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(model.optimizer().tensor_progress()[i].steps, 0);
    for (const double value : model.parameter(i).values()) {
      ASSERT_EQ(value, 1);
    }
  }
}

TEST_P(NonFinitePolicy, ThrowNamesTheFirstTensorAndChangesNothing) {
  ThreeTensors model(backend_, NonFinite::kThrow);
  model.step();
  const auto before = model.everything();
  model.spoil({1, 2});
  EXPECT_THAT(message_of<NonFiniteError>([&] { model.step(); }),
              AllOf(HasSubstr("[optimizer]"), HasSubstr("'size 70000'"), HasSubstr("(70000)")));
  EXPECT_TRUE(same_bytes(model.everything(), before));
  model.spoil({});
  EXPECT_NO_THROW(model.step()) << "one error is thrown once";
  EXPECT_FALSE(same_bytes(model.everything(), before));
}

TEST_P(NonFinitePolicy, AChangeToThrowDoesNotThrowForEarlierSteps) {
  for (const NonFinite earlier :
       {NonFinite::kSkipTensor, NonFinite::kSkipStep, NonFinite::kPassThrough}) {
    SCOPED_TRACE(name_of(earlier));
    ThreeTensors model(backend_, earlier);
    model.spoil({1});
    model.step();
    model.optimizer().set_non_finite(NonFinite::kThrow);
    model.spoil({});
    EXPECT_NO_THROW(model.step());
    model.spoil({2});
    const auto before = model.everything();
    EXPECT_THAT(message_of<NonFiniteError>([&] { model.step(); }), HasSubstr("'size 5'"));
    EXPECT_TRUE(same_bytes(model.everything(), before));
  }
}

TEST_P(NonFinitePolicy, ThrowKeepsTheCountsOfSkippedStepsAndTensors) {
  ThreeTensors model(backend_, NonFinite::kSkipTensor);
  model.spoil({0, 1});
  model.step();
  model.optimizer().set_non_finite(NonFinite::kSkipStep);
  model.step();
  model.optimizer().set_non_finite(NonFinite::kThrow);
  EXPECT_THROW(model.step(), NonFiniteError);
  model.optimizer().set_non_finite(NonFinite::kSkipStep);
  EXPECT_EQ(model.optimizer().status().skipped_tensors, 2);
  EXPECT_EQ(model.optimizer().status().skipped_steps, 2);
}

TEST_P(NonFinitePolicy, PassThroughAppliesGradientsAsTheyAre) {
  ThreeTensors model(backend_, NonFinite::kPassThrough);
  model.spoil({0});
  model.step();
  for (const double value : model.parameter(0).values()) {
    EXPECT_TRUE(std::isnan(value));  // the norm of the tensor is NaN
  }
  EXPECT_EQ(model.optimizer().tensor_progress()[0].steps, 1);
  EXPECT_EQ(model.optimizer().tensor_progress()[0].non_finite, 1);
  EXPECT_TRUE(std::isfinite(model.parameter(1).values()[0]));
  EXPECT_EQ(model.optimizer().status().skipped_tensors, 0);
  EXPECT_EQ(model.optimizer().status().skipped_steps, 0);
}

// Without centralization and normalization, an element does not affect any other.
TEST_P(NonFinitePolicy, PassThroughOfAPlainRuleSpoilsOneElement) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const std::int64_t size : {3, 70'000}) {
    for (const double bad : {kNan, kInfinity}) {
      const Numbers start(static_cast<std::size_t>(size), 1.0);
      Numbers values(start);
      values[1] = bad;
      const std::vector<std::int64_t> shape{size};
      const DeviceTensor parameter(backend_, Dtype::kFloat32, shape, start);
      const DeviceTensor gradient(backend_, Dtype::kFloat32, shape, values);
      Optimizer optimizer({parameter.parameter("one", gradient)},
                          {.standardize = {.centralize = false, .normalize = Normalize::kOff},
                           .rule = Sgd{.learning_rate = 0.25},
                           .lookahead = std::nullopt,
                           .non_finite = NonFinite::kPassThrough},
                          backend_);
      optimizer.step();
      EXPECT_EQ(optimizer.tensor_progress()[0].non_finite, 1);
      EXPECT_FALSE(std::isfinite(optimizer.gradient_norms()[0]));
      const Numbers stepped = parameter.values();
      EXPECT_FALSE(std::isfinite(stepped[1]));
      EXPECT_EQ(stepped[0], 0.75);
      EXPECT_EQ(stepped.back(), 0.75);
    }
  }
}

// The update itself measures in this case; 70 000 elements are processed in pieces, 5 are not.
TEST_P(NonFinitePolicy, PassThroughOfAPlainRuleStillMeasures) {
  for (const std::int64_t size : {5, 70'000}) {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16, Dtype::kFloat64}) {
      const Numbers values(static_cast<std::size_t>(size), 0.5);
      const std::vector<std::int64_t> shape{size};
      const DeviceTensor parameter(backend_, dtype, shape, values);
      const DeviceTensor gradient(backend_, dtype, shape, values);
      Optimizer optimizer({parameter.parameter("one", gradient)},
                          {.standardize = {.centralize = false, .normalize = Normalize::kOff},
                           .rule = AdamW{},
                           .non_finite = NonFinite::kPassThrough},
                          backend_);
      optimizer.step(/*loss_scale=*/4);
      EXPECT_NEAR(optimizer.gradient_norms()[0] / std::sqrt(static_cast<double>(size) / 64), 1,
                  1e-6);
      EXPECT_EQ(optimizer.tensor_progress()[0].non_finite, 0);
    }
  }
}

TEST_P(NonFinitePolicy, FiniteGradientsAreNeverSkippedUnderAnyPolicy) {
  for (const NonFinite policy :
       {NonFinite::kSkipTensor, NonFinite::kSkipStep, NonFinite::kThrow, NonFinite::kPassThrough}) {
    ThreeTensors model(backend_, policy);
    EXPECT_NO_THROW(model.step());
    EXPECT_EQ(model.optimizer().status().skipped_steps, 0);
    EXPECT_EQ(model.optimizer().status().skipped_tensors, 0);
    EXPECT_EQ(model.optimizer().tensor_progress()[1].non_finite, 0);
  }
}

}  // namespace
}  // namespace sing
