// Defines the base of tests that need a CUDA device and their own stream.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <memory>

#include "sing/backend/cuda/step_tuning.hpp"

namespace sing::test {

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_cuda_available()) {
      GTEST_SKIP() << "no CUDA device";
    }
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }

  void TearDown() override {
    if (stream_ != nullptr) {
      EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
      EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    }
  }

  std::shared_ptr<Backend> make(const cuda::StepTuning& tuning = {}) const {
    return cuda::make_tuned_cuda_backend({.device = 0, .stream = stream_}, tuning);
  }

  cudaStream_t stream_ = nullptr;
};

}  // namespace sing::test
