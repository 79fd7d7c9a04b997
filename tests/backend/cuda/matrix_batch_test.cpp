// Checks batches of matrices of one shape, which are orthogonalized together.
#include <limits>
#include <set>

#include "sing/backend/cuda/plan/work_plan.hpp"
#include "sing/base/message.hpp"
#include "tests/backend/cuda/cuda_fixture.hpp"
#include "tests/backend/cuda/step_list.hpp"

namespace sing::test {
namespace {

using cuda::Launch;
using cuda::WorkPlan;

WorkPlan plan_of(const std::vector<Shape>& shapes, std::vector<GroupStep> groups,
                 const std::vector<std::size_t>& group_of, std::int64_t matrix_bytes) {
  std::vector<TensorStep> tensors;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    tensors.emplace_back().layout = make_layout(shapes[i], 0);
    tensors.back().group = group_of[i];
  }
  return cuda::make_work_plan({.groups = groups, .tensors = tensors, .version = 1},
                              {.matrix_bytes = matrix_bytes});
}

// Returns how many matrices each launch orthogonalizes.
std::vector<std::int64_t> counts_of(const WorkPlan& plan) {
  std::vector<std::int64_t> counts;
  for (const Launch& launch : plan.launches) {
    if (launch.matrices) {
      counts.push_back(launch.matrices->shape.count);
    }
  }
  return counts;
}

GroupStep muon_group(std::int64_t newton_steps = 5) {
  GroupStep group;
  group.rule = Muon{.learning_rate = 1e-2, .newton_steps = newton_steps};
  return group;
}

// {4, 2, 3} is a 4 by 6 matrix; the third group has a different polynomial.
TEST(MatrixBatchPlan, ShareALaunchAcrossOtherTensors) {
  const WorkPlan plan =
      plan_of({{4, 6}, {6, 4}, {6}, {4, 6}, {4, 2, 3}, {4, 6}, {0, 6}},
              {muon_group(), muon_group(), muon_group(4)}, {0, 0, 0, 1, 0, 2, 0}, 1 << 20);
  EXPECT_EQ(counts_of(plan), (std::vector<std::int64_t>{3, 1, 1}));
  std::vector<std::int64_t> begins;
  for (const std::size_t matrix : {0, 1, 3, 4, 5}) {
    begins.push_back(plan.tensors[matrix].matrix_begin);
  }
  EXPECT_EQ(begins, (std::vector<std::int64_t>{0, 0, 24, 48, 0}));
}

// A 4 by 6 matrix, its successor and four 4 by 4 squares have 112 floats.
TEST(MatrixBatchPlan, TakeNoMoreMemoryThanAllowedUnlessOneNeedsIt) {
  const std::vector<Shape> shapes(5, {4, 6});
  const auto plan = [&](std::int64_t bytes) {
    return plan_of(shapes, {muon_group()}, std::vector<std::size_t>(5), bytes);
  };
  EXPECT_EQ(counts_of(plan(2 * 448)), (std::vector<std::int64_t>{2, 2, 1}));
  EXPECT_EQ(plan(2 * 448).matrix_bytes, 2U * 448);
  EXPECT_EQ(plan(2 * 448).tensors[3].matrix_begin, 24);
  EXPECT_EQ(counts_of(plan(2 * 448 - 1)), std::vector<std::int64_t>(5, 1));
  EXPECT_EQ(plan(0).matrix_bytes, 448U);
}

// Returns one line per launch that writes, multiplies or applies matrices, with the tensors
// involved.
std::vector<std::string> matrix_work(const WorkPlan& plan) {
  std::vector<std::string> work;
  for (const Launch& launch : plan.launches) {
    if (launch.matrices) {
      work.push_back(fmt::format("orthogonal {}", launch.matrices->shape.count));
    }
    for (const auto& [kind, name] : {std::pair(cuda::WorkKind::kMatrixInput, "input"),
                                     std::pair(cuda::WorkKind::kApply, "apply")}) {
      std::set<std::uint32_t> tensors;
      for (std::int64_t i = launch.begin; i < launch.end; ++i) {
        const cuda::WorkItem& item = plan.items[static_cast<std::size_t>(i)];
        if (item.kind == kind) {
          tensors.insert(item.tensor);
        }
      }
      std::string line = name;
      for (const std::uint32_t tensor : tensors) {
        line += fmt::format(" {}", tensor);
      }
      if (!tensors.empty()) {
        work.push_back(line);
      }
    }
  }
  return work;
}

TEST(MatrixBatchPlan, AreAppliedBeforeTheirMemoryIsTakenAgain) {
  const WorkPlan plan =
      plan_of({{40, 60}, {60, 40}, {40, 60}}, {muon_group()}, std::vector<std::size_t>(3), 1 << 20);
  EXPECT_EQ(matrix_work(plan), (std::vector<std::string>{"input 0 2", "orthogonal 2", "apply 0 2",
                                                         "input 1", "orthogonal 1", "apply 1"}));
}

class MatrixBatch : public CudaTest {};

// Tensor 4 has no gradient in one step, and tensor 2 has a non-finite gradient in another. A step
// is 1e-2 times the orthogonal matrix, whose elements stay below 1.3, times up to 3 if the matrix
// is tall; float32 iterations are off by at most 2e-4 of that (docs/algorithm.md).
TEST_F(MatrixBatch, AgreeWithTheReference) {
  const std::vector<Shape> shapes = {{24, 40}, {40, 24}, {24, 40}, {7},    {24, 8, 5},
                                     {30, 31}, {24, 40}, {30, 31}, {1, 9}, {9, 1}};
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64}) {
    // The memory is enough for all matrices at once, for two 30 by 31 matrices with their
    // successors and squares, or for one at a time.
    const auto two = static_cast<std::int64_t>(2 * size_of(dtype) * (2 * 30 * 31 + 4 * 30 * 30));
    for (const std::int64_t bytes : {std::int64_t{1} << 20, two, std::int64_t{0}}) {
      SCOPED_TRACE(fmt::format("{}, {} bytes", name_of(dtype), bytes));
      StepList list(make({.matrix_bytes = bytes}), shapes, {dtype, dtype}, muon_group());
      StepList reference(make_reference_backend(), shapes, {dtype, dtype}, muon_group());
      for (int step = 0; step < 4; ++step) {
        for (StepList* each : {&list, &reference}) {
          each->set_gradients(step);
          if (step == 2) {
            each->poison(2, 5, std::numeric_limits<double>::quiet_NaN());
          }
          void* const gradient = each->gradients()[4].data();
          each->tensors()[4].gradient = step == 1 ? nullptr : gradient;
          each->step();
        }
      }
      const double bound = dtype == Dtype::kFloat64 ? 1e-12 : 4 * 1e-2 * 1.3 * 3 * 2e-4;
      EXPECT_LE(worst_difference(list, reference), bound);
      EXPECT_TRUE(list.sentinels_intact());
      EXPECT_EQ(list.tensor_progress(2).steps, 3);
      EXPECT_EQ(list.tensor_progress(4).steps, 3);
      EXPECT_EQ(list.tensor_progress(6).steps, 4);
    }
  }
}

}  // namespace
}  // namespace sing::test
