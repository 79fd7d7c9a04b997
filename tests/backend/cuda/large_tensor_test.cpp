// Checks a tensor with more elements than a 31-bit index can address.
#include <algorithm>

#include "tests/backend/cuda/cuda_fixture.hpp"
#include "tests/support/device_tensor.hpp"

namespace sing::test {
namespace {

using LargeTensor = CudaTest;

constexpr std::uint16_t kOne = 0x3f80;  // bfloat16
constexpr std::uint16_t kMinusOne = 0xbf80;
constexpr std::uint16_t kHalf = 0x3f00;
constexpr std::uint16_t kMinusHalf = 0xbf00;

TEST_F(LargeTensor, EveryElementIsUpdatedOnce) {
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  const std::int64_t size = (std::int64_t{1} << 31) + 3;
  if (free_bytes < static_cast<std::size_t>(size) * 5) {
    GTEST_SKIP() << "wanted 10.7 GB of free device memory, got " << free_bytes;
  }
  const std::shared_ptr<Backend> backend = make();
  const auto bytes = static_cast<std::size_t>(size) * 2;
  const auto parameter = backend->allocate(bytes);
  const auto gradient = backend->allocate(bytes);
  const auto tensor_progress = backend->allocate(sizeof(TensorProgress));
  const auto group_progress = backend->allocate(sizeof(GroupProgress));
  const auto progress = backend->allocate(sizeof(OptimizerProgress));

  // All gradients are 1 except for −1 at the very end, so that a wrong index there is detected.
  const std::size_t piece = std::size_t{1} << 26;
  std::vector<std::uint16_t> host(piece, kOne);
  auto* gradients = static_cast<std::uint16_t*>(gradient.get());
  for (std::size_t at = 0; at < static_cast<std::size_t>(size); at += piece) {
    const std::size_t count = std::min(piece, static_cast<std::size_t>(size) - at);
    backend->write(gradients + at, host.data(), count * 2);
  }
  const std::uint16_t end[3] = {kMinusOne, kMinusOne, kMinusOne};
  backend->write(gradients + (size - 3), end, sizeof(end));

  GroupStep group;
  // Normalized gradients are ±1/√n, so the step is ∓1/2.
  group.rule = Sgd{.learning_rate = 0.5 * std::sqrt(static_cast<double>(size))};
  group.progress = static_cast<GroupProgress*>(group_progress.get());
  TensorStep tensor;
  tensor.layout = make_layout(std::vector<std::int64_t>{size}, 0);
  tensor.dtype = Dtype::kBFloat16;
  tensor.gradient_dtype = Dtype::kBFloat16;
  tensor.parameter = parameter.get();
  tensor.gradient = gradient.get();
  tensor.progress = static_cast<TensorProgress*>(tensor_progress.get());
  backend->step({.groups = {&group, 1},
                 .tensors = {&tensor, 1},
                 .progress = static_cast<OptimizerProgress*>(progress.get()),
                 .version = 1});

  const auto* results = static_cast<const std::uint16_t*>(parameter.get());
  for (std::size_t at = 0; at < static_cast<std::size_t>(size); at += piece) {
    const std::size_t count = std::min(piece, static_cast<std::size_t>(size) - at);
    backend->read(host.data(), results + at, count * 2);
    const bool last = at + count == static_cast<std::size_t>(size);
    const auto stop = host.begin() + static_cast<std::ptrdiff_t>(last ? count - 3 : count);
    ASSERT_EQ(std::find_if(host.begin(), stop, [](std::uint16_t v) { return v != kMinusHalf; }),
              stop);
    if (last) {
      EXPECT_TRUE(std::all_of(stop, stop + 3, [](std::uint16_t v) { return v == kHalf; }));
    }
  }
}

}  // namespace
}  // namespace sing::test
