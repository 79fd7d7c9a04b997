// Checks which tensors of another library can serve as a parameter or as its gradient.
#include "adapters/tensor/tensor_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.hpp"

namespace sing {
namespace {

using test::message_of;
using ::testing::StartsWith;
using Shape = std::vector<std::int64_t>;

const Shape kSizes = {3, 4};
const Shape kStrides = {4, 1};
const Shape kTurned = {1, 3};
const std::string kWho = "[test] gradient of 'w': ";
constexpr Subject kSubject = {.where = "test", .role = "gradient of", .name = "w"};

TensorView view(Dtype dtype = Dtype::kFloat32) {
  return {.device = Device{}, .dtype = dtype, .sizes = kSizes, .strides = kStrides};
}

std::string refusal(const TensorView& gradient, Dtype parameter = Dtype::kFloat32,
                    Elsewhere elsewhere = Elsewhere::kRefused) {
  const TensorFacts facts = facts_of_parameter(view(parameter), kSubject);
  return message_of<std::invalid_argument>(
      [&] { check_gradient(gradient, facts, kSubject, elsewhere); });
}

TEST(TensorView, ParametersAreStridedFloatingAndOnAKnownDevice) {
  const auto refusal_of = [](TensorView tensor) {
    return message_of<std::invalid_argument>([&] { facts_of_parameter(tensor, kSubject); });
  };
  EXPECT_EQ(refusal_of({.is_strided = false}), kWho + "wanted a dense tensor, got a sparse one");
  TensorView tensor = view();
  tensor.dtype.reset();
  EXPECT_THAT(refusal_of(tensor), StartsWith(kWho + "wanted float32, float64"));
  tensor = view();
  tensor.device.reset();
  EXPECT_THAT(refusal_of(tensor), StartsWith(kWho + "wanted a CPU or CUDA device"));
}

TEST(TensorView, GradientsHaveTheShapeTheDeviceAndATypeThatFits) {
  const Shape other = {4, 3};
  TensorView gradient = view();
  gradient.sizes = other;
  EXPECT_EQ(refusal(gradient), kWho + "wanted shape [3, 4], got [4, 3]");
  EXPECT_EQ(refusal({.is_strided = false}), kWho + "wanted a dense tensor, got a sparse one");
  EXPECT_EQ(refusal(view(Dtype::kFloat64)),
            kWho + "wanted a type that a float32 parameter takes, got float64");
  EXPECT_EQ(refusal(view(Dtype::kFloat16), Dtype::kFloat64),
            kWho + "wanted a type that a float64 parameter takes, got float16");
  gradient = view();
  gradient.dtype.reset();
  EXPECT_THAT(refusal(gradient), StartsWith(kWho + "wanted float32"));
  gradient = view();
  gradient.device = Device{.type = DeviceType::kCuda, .index = 1};
  EXPECT_EQ(refusal(gradient), kWho + "wanted a tensor on cpu, got one on cuda:1");
  gradient.device.reset();
  EXPECT_EQ(refusal(gradient), kWho + "wanted a tensor on cpu, got one on another device");
  const TensorFacts facts = facts_of_parameter(view(), kSubject);
  EXPECT_NO_THROW(check_gradient(gradient, facts, kSubject, Elsewhere::kAllowed));
  EXPECT_NO_THROW(check_gradient(view(Dtype::kBFloat16), facts, kSubject));
}

TEST(TensorView, ACopyIsNeededWhereElementsLieElsewhere) {
  const TensorFacts facts = facts_of_parameter(view(), kSubject);
  EXPECT_TRUE(lies_alike(view(), facts));
  TensorView turned = view();
  turned.strides = kTurned;
  EXPECT_FALSE(lies_alike(turned, facts));
  TensorView away = view();
  away.device = Device{.type = DeviceType::kCuda, .index = 0};
  EXPECT_FALSE(lies_alike(away, facts));
}

TEST(TensorView, AParameterIsWatchedForChanges) {
  const TensorFacts facts = facts_of_parameter(view(), kSubject);
  EXPECT_NO_THROW(check_unchanged(view(), facts, kSubject));
  EXPECT_THROW(check_unchanged(view(Dtype::kFloat16), facts, kSubject), std::invalid_argument);
  TensorView turned = view();
  turned.strides = kTurned;
  EXPECT_EQ(message_of<std::invalid_argument>([&] { check_unchanged(turned, facts, kSubject); }),
            kWho +
                "wanted float32 on cpu with shape [3, 4] and strides [4, 1], as when it was added, "
                "got float32 on cpu with shape [3, 4] and strides [1, 3]");
}

}  // namespace
}  // namespace sing
