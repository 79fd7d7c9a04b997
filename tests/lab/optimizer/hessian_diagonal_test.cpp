// Checks the Hessian's diagonal on functions whose Hessian is known, and training with it.
#include "lab/optimizer/hessian_diagonal.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/lab/training/tiny_run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing {
namespace {

using lab::optimizer::HessianDiagonal;

at::Tensor parameter(std::initializer_list<std::int64_t> shape) {
  return at::ones(at::IntArrayRef(shape), at::kDouble).requires_grad_(true);
}

// ½ Σ aᵢ xᵢ² has the gradient a x and the diagonal a; its Hessian is diagonal, so any signs give
// |a|.
TEST(HessianDiagonal, IsExactWhereTheHessianIsDiagonal) {
  const at::Tensor x = parameter({3});
  const at::Tensor a = at::tensor({2.0, -3.0, 0.5}, at::kDouble);
  for (const std::int64_t step : {0, 1}) {
    x.mutable_grad() = at::Tensor();
    HessianDiagonal hessian({x}, 7, step);
    hessian.backward((a * x * x).sum() / 2);
    EXPECT_TRUE(at::allclose(x.grad(), a, 1e-14));
    EXPECT_TRUE(at::allclose(hessian.diagonal()[0], a.abs(), 1e-14));
    EXPECT_FALSE(x.grad().requires_grad());
  }
}

// For xy + x², H = [2 1; 1 0], so |H z| is (3, 1) or (1, 1) with equal probability.
TEST(HessianDiagonal, SignsComeFromSeedAndStep) {
  const at::Tensor x = parameter({1});
  const at::Tensor y = parameter({1});
  const auto of_step = [&](std::uint64_t seed, std::int64_t step) {
    HessianDiagonal hessian({x, y}, seed, step);
    hessian.backward((x * y + x * x).sum());
    EXPECT_EQ(hessian.diagonal()[1].item<double>(), 1);
    return hessian.diagonal()[0].item<double>();
  };
  int threes = 0;
  for (std::int64_t step = 0; step < 64; ++step) {
    const double found = of_step(1, step);
    EXPECT_TRUE(found == 1 || found == 3) << found;
    EXPECT_EQ(found, of_step(1, step));
    threes += found == 3 ? 1 : 0;
  }
  EXPECT_GT(threes, 16);
  EXPECT_LT(threes, 48);
}

TEST(HessianDiagonal, PartsOfABatchAddUpBeforeTheSignIsDropped) {
  const at::Tensor x = parameter({2});
  HessianDiagonal hessian({x}, 3, 0);
  hessian.backward((x * x).sum() * 2);
  hessian.backward(-(x * x).sum());
  EXPECT_TRUE(at::allclose(x.grad(), at::full({2}, 2.0, at::kDouble), 1e-14));
  EXPECT_TRUE(at::allclose(hessian.diagonal()[0], at::full({2}, 2.0, at::kDouble), 1e-14));
}

// A filter's window of 1, 2, 3, 4 has mean 2.5.
TEST(HessianDiagonal, TheWindowOfAFilterIsAveraged) {
  const at::Tensor x = parameter({2, 1, 2, 2});
  const at::Tensor a = at::arange(1, 5, at::kDouble).view({1, 1, 2, 2});
  HessianDiagonal hessian({x}, 3, 0);
  hessian.backward((a * x * x).sum() / 2);
  EXPECT_TRUE(at::allclose(hessian.diagonal()[0], at::full({2, 1, 2, 2}, 2.5, at::kDouble)));
}

TEST(HessianDiagonal, AStraightLossHasNone) {
  const at::Tensor x = parameter({2});
  const at::Tensor unused = parameter({2});
  HessianDiagonal hessian({x, unused}, 3, 0);
  hessian.backward(x.sum());
  EXPECT_EQ(hessian.diagonal()[0].abs().sum().item<double>(), 0);
  EXPECT_FALSE(unused.grad().defined());
}

// The training of these three rules differs from the others: a second backward pass, an average
// that is evaluated, matrix products.
TEST(TrainWithCurvature, TheLossFalls) {
  for (const std::string name : {"adahessian", "schedule_free_adamw", "muon"}) {
    const test::TemporaryFolder folder;
    const test::Outcome outcome = test::run_sing(test::tiny_run(
        folder.path() / "run",
        {"--optimizer", name, "--steps", "24", "--log-steps", "1", "--learning-rate", "2e-2"}));
    ASSERT_EQ(outcome.code, 0) << outcome.error;
    std::vector<double> losses;
    for (const nlohmann::json& line : test::metrics_of(folder.path() / "run")) {
      if (line.contains("learning_rate")) {
        losses.push_back(line.at("loss").get<double>());
      }
    }
    ASSERT_EQ(losses.size(), 24U) << name;
    EXPECT_LT(losses.back(), 0.9 * losses.front()) << name;
  }
}

}  // namespace
}  // namespace sing
