// Checks Muon against steps computed by hand, on every backend.
#include "sing/rule/muon.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sing/backend/reference/matrix_product.hpp"
#include "sing/base/message.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/random_values.hpp"
#include "tests/support/trajectory.hpp"

namespace sing {
namespace {

using test::bare_rule;
using test::expect_values;
using test::kHandTolerance;
using test::Trajectory;
using Shape = std::vector<std::int64_t>;

Muon short_muon() {
  return {.learning_rate = 0.1, .momentum = 0.5, .nesterov = false, .weight_decay = 0};
}

double iterated(double x, int steps) {
  const Muon rule;
  for (int step = 0; step < steps; ++step) {
    x = rule.newton_a * x + rule.newton_b * std::pow(x, 3) + rule.newton_c * std::pow(x, 5);
  }
  return x;
}

class MuonSteps : public test::BackendTest {};
SING_ON_BACKENDS(MuonSteps, test::backend_kinds());

// For a matrix with one entry per row and column, the iteration acts on its entries: 3/5 and 4/5.
TEST_P(MuonSteps, AWideMatrix) {
  Trajectory path(backend_, bare_rule(short_muon()), {2, 3}, test::Values(6));
  expect_values(path.take({0, 6, 0, 0, 0, -8}),
                {0, -0.1 * iterated(0.6, 5), 0, 0, 0, 0.1 * iterated(0.8, 5)}, kHandTolerance);
  expect_values(path.state(0), {0, 3, 0, 0, 0, -4}, kHandTolerance);
  EXPECT_EQ(path.optimizer().state(0).size(), 1U);
}

// The ratio of rows to columns is 3/2.
TEST_P(MuonSteps, ATallMatrixHasALargerRate) {
  Trajectory path(backend_, bare_rule(short_muon()), {3, 2}, test::Values(6));
  const double rate = 0.1 * std::sqrt(1.5);
  expect_values(path.take({6, 0, 0, 8, 0, 0}),
                {-rate * iterated(0.6, 5), 0, 0, -rate * iterated(0.8, 5), 0, 0}, kHandTolerance);
}

// m is 3, then 3/2 + 4 = 5.5; the other entry is −4 · ½ + 2 = 0, so a single entry is left, with
// norm 1.
TEST_P(MuonSteps, MomentumGoesOn) {
  Trajectory path(backend_, bare_rule(short_muon()), {2, 2}, test::Values(4));
  path.take({6, 0, 0, -8});
  const test::Values before = path.take({8, 0, 0, 4});
  expect_values(path.state(0), {5.5, 0, 0, 0}, kHandTolerance);
  const double first = 0.1 * iterated(0.6, 5);
  expect_values(before, {-first - 0.1 * iterated(1, 5), 0, 0, 0.1 * iterated(0.8, 5)},
                kHandTolerance);
}

// u = g/2 + m/2 with m = g/2: the direction is the same.
TEST_P(MuonSteps, Nesterov) {
  Muon rule = short_muon();
  rule.nesterov = true;
  rule.newton_steps = 0;
  Trajectory path(backend_, bare_rule(rule), {1, 2}, {0, 0});
  path.take({2, 0});  // m = (1, 0)
  // m = (1/2, 1), u = (0, 2)/2 + m/2 = (1/4, 3/2).
  const double norm = std::hypot(0.25, 1.5);
  expect_values(path.take({0, 2}), {-0.1 - 0.1 * 0.25 / norm, -0.1 * 1.5 / norm}, kHandTolerance);
}

// The rate is multiplied by 0.2 √3, and p shrinks by 0.1 · 0.5 of its size.
TEST_P(MuonSteps, TheOtherRateAndDecay) {
  Muon rule = short_muon();
  rule.rate_adjustment = RateAdjustment::kMatchRmsAdamw;
  rule.weight_decay = 0.5;
  Trajectory path(backend_, bare_rule(rule), {1, 3}, {1, 1, 1});
  expect_values(path.take({0, 7, 0}), {0.95, 0.95 - 0.02 * std::sqrt(3.0) * iterated(1, 5), 0.95},
                kHandTolerance);
}

// A convolution is the matrix of its filters: [2, 3·1·1] here.
TEST_P(MuonSteps, FiltersAreRows) {
  Trajectory path(backend_, bare_rule(short_muon()), {2, 3, 1, 1}, test::Values(6));
  expect_values(path.take({0, 6, 0, 0, 0, -8}),
                {0, -0.1 * iterated(0.6, 5), 0, 0, 0, 0.1 * iterated(0.8, 5)}, kHandTolerance);
}

TEST_P(MuonSteps, AZeroMatrixStaysWhereItIs) {
  Trajectory path(backend_, bare_rule(short_muon()), {2, 2}, {1, 2, 3, 4});
  expect_values(path.take({0, 0, 0, 0}), {1, 2, 3, 4}, 0);
}

// The first step of AdamW is the rate times the negative sign of the gradient.
TEST_P(MuonSteps, VectorsTakeAdamW) {
  Trajectory path(backend_, bare_rule(short_muon()), {2}, {0, 0});
  expect_values(path.take({3, -4}), {-0.1, 0.1}, 1e-9);
  EXPECT_EQ(path.optimizer().state(0).size(), 2U);
  expect_values(path.state(0), {0.3, -0.4}, kHandTolerance);
}

TEST_P(MuonSteps, MatricesTakeAdamWUnlessOrthogonalized) {
  Muon rule = short_muon();
  rule.orthogonalize = false;
  Trajectory path(backend_, bare_rule(rule), {1, 2}, {0, 0});
  expect_values(path.take({3, -4}), {-0.1, 0.1}, 1e-9);
  EXPECT_EQ(path.optimizer().state(0).size(), 2U);
}

// Takes the same step with the caller's products and with the library's own.
std::vector<MatrixProduct> products_of(const Shape& shape, const test::Values& gradient) {
  std::vector<MatrixProduct> products;
  const auto multiply = [&](const MatrixProduct& product) {
    products.push_back(product);
    multiply_singly(product);
  };
  const std::shared_ptr<Backend> theirs = make_cpu_backend({.multiply = multiply});
  const std::shared_ptr<Backend> ours = make_cpu_backend({});
  const test::Values start(gradient.size());
  Trajectory with_theirs(theirs, bare_rule(short_muon()), shape, start);
  Trajectory with_ours(ours, bare_rule(short_muon()), shape, start);
  expect_values(with_theirs.take(gradient), with_ours.take(gradient), 1e-13);
  return products;
}

// Each iteration has three products: X Xᵀ, A A and P X.
TEST(MuonProducts, MayBeTheCallers) {
  const std::vector<MatrixProduct> products = products_of({2, 2}, {1, -2, 3, 4});
  ASSERT_EQ(products.size(), 15U);
  EXPECT_TRUE(products[0].is_symmetric);
  EXPECT_TRUE(products[1].is_symmetric);
  EXPECT_FALSE(products[2].is_symmetric);
  EXPECT_EQ(products[1].alpha, 2.0315);
  EXPECT_EQ(products[1].beta, 1);  // for a I + b A
}

// Two products of the whole matrix serve three iterations, and two more serve the other two.
TEST(MuonProducts, AreOfSmallSquaresWhereTheMatrixIsLong) {
  for (const Shape& shape : {Shape{2, 3}, Shape{3, 2}}) {
    const std::vector<MatrixProduct> products = products_of(shape, {1, -2, 3, 4, 5, -6});
    ASSERT_EQ(products.size(), 18U);
    for (std::size_t i = 0; i < products.size(); ++i) {
      const bool starts = i == 0 || i == 11;
      const bool ends = i == 10 || i == 17;
      EXPECT_EQ(products[i].rows, ends ? shape[0] : 2) << i;
      EXPECT_EQ(products[i].columns, ends ? shape[1] : 2) << i;
      EXPECT_EQ(products[i].inner, starts ? 3 : 2) << i;
      EXPECT_EQ(products[i].is_symmetric, !ends) << i;
    }
  }
}

// The reference iterates on the matrix itself.
TEST(MuonProducts, BothFormsAgreeForEveryNumberOfIterations) {
  for (const Shape& shape : {Shape{4, 6}, Shape{4, 5}, Shape{31, 70}, Shape{70, 31}}) {
    const test::Values gradient = test::random_values(3, shape[0] * shape[1]);
    for (std::int64_t steps = 0; steps <= 11; ++steps) {
      SCOPED_TRACE(fmt::format("{} x {}, {} iterations", shape[0], shape[1], steps));
      Muon rule = short_muon();
      rule.newton_steps = steps;
      const test::Values start(gradient.size());
      Trajectory oracle(make_reference_backend(), bare_rule(rule), shape, start);
      Trajectory path(make_cpu_backend({}), bare_rule(rule), shape, start);
      expect_values(path.take(gradient), oracle.take(gradient), 1e-12);
    }
  }
}

// The matrix has more columns than one panel of the library's own products.
TEST(MuonProducts, OfLargeSquares) {
  const Shape shape{300, 460};
  const test::Values gradient = test::random_values(4, shape[0] * shape[1]);
  const test::Values start(gradient.size());
  Trajectory oracle(make_reference_backend(), bare_rule(short_muon()), shape, start);
  Trajectory path(make_cpu_backend({}), bare_rule(short_muon()), shape, start);
  expect_values(path.take(gradient), oracle.take(gradient), 1e-12);
}

// One direction is a thousand times as strong as all others, which is common in gradients: errors
// of the others are multiplied by 3.4445 per iteration. In bfloat16 they would be lost.
TEST(MuonProducts, OfANearlySingularMatrixInSinglePrecision) {
  const Shape shape{48, 150};
  test::Values gradient(static_cast<std::size_t>(shape[0] * shape[1]));
  const test::Values left = test::random_values(5, shape[0]);
  const test::Values right = test::random_values(6, shape[1]);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] =
        left[i / right.size()] * right[i % right.size()] + 1e-3 * test::random_value(7, i);
    gradient[i] = static_cast<float>(gradient[i]);
  }
  Muon rule = short_muon();
  rule.learning_rate = 1;
  const test::Values start(gradient.size());
  Trajectory oracle(make_reference_backend(), bare_rule(rule), shape, start);
  Trajectory path(make_cpu_backend({}), bare_rule(rule), shape, start, Dtype::kFloat32);
  // The bound is 485 roundings of 6e-8.
  expect_values(path.take(gradient), oracle.take(gradient), 3e-5);
}

}  // namespace
}  // namespace sing
