// Checks the recorded computation of gradients: one graph for each shape, in shared memory.
#include "lab/loop/gradient_pass.hpp"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace sing::lab::loop {
namespace {

// Two matrices with dropout between them, and batches of several lengths.
class Passes {
 public:
  Passes(const at::Device& device, bool record)
      : parameters_(
            {parameter({8, 16}, device), parameter({16, 4}, device), parameter({3}, device)}),
        pass(
            device, parameters_,
            [this](const std::vector<task::Batch>& parts) {
              for (const at::Tensor& each : parameters_) {
                each.mutable_grad() = at::Tensor();
              }
              const at::Tensor x = parts[0][0].to(parameters_[0].device());
              const at::Tensor hidden =
                  at::dropout(at::gelu(x.matmul(parameters_[0])), 0.3, /*train=*/true);
              const at::Tensor loss = hidden.matmul(parameters_[1]).square().mean();
              loss.backward();
              return loss.detach();
            },
            record) {}

  // The loss and the gradients; the last parameter has none.
  std::vector<at::Tensor> run(std::int64_t rows, double value) {
    const at::Tensor x = at::linspace(-1, value, rows * 8).view({rows, 8});
    std::vector<at::Tensor> results = {pass.run({{x}}).clone()};
    for (const at::Tensor& each : parameters_) {
      results.push_back(each.grad().defined() ? each.grad().clone() : each.grad());
    }
    return results;
  }

 private:
  static at::Tensor parameter(at::IntArrayRef shape, const at::Device& device) {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(7);
    return at::randn(shape, generator).to(device).requires_grad_();
  }

  std::vector<at::Tensor> parameters_;

 public:
  GradientPass pass;
};

void expect_same(const std::vector<at::Tensor>& one, const std::vector<at::Tensor>& other) {
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    ASSERT_EQ(one[i].defined(), other[i].defined()) << i;
    if (one[i].defined()) {
      EXPECT_TRUE(at::equal(one[i], other[i])) << i;
    }
  }
}

class GradientPassOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!::torch::cuda::is_available()) {
      GTEST_SKIP() << "no CUDA device";
    }
    stream_.reset_stream(c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(device_));
  }

  at::Device device_ = at::Device(at::kCUDA, 0);
  c10::OptionalStreamGuard stream_;
};

TEST(GradientPass, ACpuRecordsNothing) {
  Passes passes(at::kCPU, /*record=*/true);
  for (int step = 0; step < 6; ++step) {
    EXPECT_FALSE(passes.run(4, step)[3].defined());
  }
  EXPECT_EQ(passes.pass.graph_count(), 0);
}

// The same random numbers are drawn, whatever shape comes when.
TEST_F(GradientPassOnGpu, GraphsOfSeveralShapesGiveTheBitsOfTheirSteps) {
  std::vector<std::vector<at::Tensor>> results[2];
  for (const bool record : {false, true}) {
    ::torch::manual_seed(11);
    Passes passes(device_, record);
    for (int step = 0; step < 40; ++step) {
      const std::int64_t rows[] = {32, 7, 32, 100, 7};
      results[record].push_back(passes.run(rows[step % 5], step * 0.1));
    }
    EXPECT_EQ(passes.pass.graph_count(), record ? 3 : 0);
  }
  for (std::size_t step = 0; step < results[0].size(); ++step) {
    SCOPED_TRACE(step);
    expect_same(results[1][step], results[0][step]);
  }
}

TEST_F(GradientPassOnGpu, ShapesBeyondTheLimitAreNotRecorded) {
  Passes recorded(device_, /*record=*/true);
  Passes plain(device_, /*record=*/false);
  const auto shapes = static_cast<std::int64_t>(GradientPass::kMostGraphs) + 3;
  for (int round = 0; round < 5; ++round) {
    for (std::int64_t rows = 1; rows <= shapes; ++rows) {
      ::torch::manual_seed(static_cast<std::uint64_t>(rows));
      const std::vector<at::Tensor> result = recorded.run(rows, round);
      ::torch::manual_seed(static_cast<std::uint64_t>(rows));
      expect_same(result, plain.run(rows, round));
    }
  }
  EXPECT_EQ(recorded.pass.graph_count(), GradientPass::kMostGraphs);
}

}  // namespace
}  // namespace sing::lab::loop
