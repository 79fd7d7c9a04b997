// Checks the NCCL adapter with a communicator of one process. Skipped without a device.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "adapters/nccl/sum_shards.hpp"
#include "sing/optim/optimizer.hpp"
#include "tests/support/device_tensor.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/random_values.hpp"

namespace sing {
namespace {

class NcclShards : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_cuda_available()) {
      GTEST_SKIP() << "no CUDA device";
    }
    const int device = 0;
    ASSERT_EQ(ncclCommInitAll(&communicator_, 1, &device), ncclSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }

  void TearDown() override {
    if (communicator_ != nullptr) {
      EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
      EXPECT_EQ(ncclCommDestroy(communicator_), ncclSuccess);
      EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    }
  }

  ncclComm_t communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

// One process, which has all rows of the whole tensor.
struct Alone {
  Alone(cudaStream_t stream, SumShardsOnDevice sum_shards)
      : backend(make_cuda_backend({.device = 0, .stream = stream})),
        parameter(backend, Dtype::kFloat32, {40, 300}, test::random_values(1, 12'000)),
        gradient(backend, Dtype::kFloat32, {40, 300}) {
    Parameter described = parameter.parameter("w", gradient);
    described.shard =
        Shard{.whole_shape = {40, 300}, .offset = {0, 0}, .cut_axes = {1}, .sum_group = 0};
    Options options;
    options.rule = Lamb{};
    optimizer = std::make_unique<Optimizer>(std::vector{described}, options, backend);
    optimizer->set_sum_shards_on_device(std::move(sum_shards));
  }

  void set_gradient(int step) {
    gradient.set(test::random_values(2 + static_cast<std::uint64_t>(step), 12'000));
  }

  std::shared_ptr<Backend> backend;
  test::DeviceTensor parameter, gradient;
  std::unique_ptr<Optimizer> optimizer;
};

TEST_F(NcclShards, TheSumOfOneProcessIsItsOwnInReplaysToo) {
  Alone by_nccl(stream_, nccl::sum_over({communicator_}));
  Alone by_nothing(stream_, [](double*, std::size_t, std::int32_t, void*) {});
  cudaGraphExec_t executable = nullptr;
  for (int step = 0; step < 6; ++step) {
    for (Alone* each : {&by_nccl, &by_nothing}) {
      each->set_gradient(step);
    }
    by_nothing.optimizer->step();
    if (executable == nullptr) {
      by_nccl.optimizer->step();
      cudaGraph_t graph = nullptr;
      ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
      by_nccl.optimizer->step();
      ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
      ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
      ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    } else {
      ASSERT_EQ(cudaGraphLaunch(executable, stream_), cudaSuccess);
    }
    EXPECT_EQ(by_nccl.parameter.bytes(), by_nothing.parameter.bytes()) << step;
  }
  // NCCL needs its graphs to be gone before the communicator is.
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
}

TEST_F(NcclShards, AGroupWithoutACommunicatorIsRefused) {
  Alone alone(stream_, nccl::sum_over({}));
  const std::string before = alone.parameter.bytes();
  EXPECT_EQ(test::message_of<std::invalid_argument>([&] { alone.optimizer->step(); }),
            "[nccl] wanted a sum group with one of 0 communicators, got group 0");
  EXPECT_EQ(alone.parameter.bytes(), before);
}

}  // namespace
}  // namespace sing
