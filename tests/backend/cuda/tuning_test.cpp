// Checks that tiles and order change no bit of a step, and that chunks change only the rounding.
#include <cmath>

#include "sing/backend/cuda/kernel/device_records.hpp"
#include "tests/backend/cuda/cuda_fixture.hpp"
#include "tests/backend/cuda/step_list.hpp"

namespace sing::test {
namespace {

class Tunings : public CudaTest {
 protected:
  static std::string run(const std::shared_ptr<Backend>& backend,
                         NonFinite policy = NonFinite::kSkipTensor) {
    StepList list(backend, mixed_shapes(), {}, soft_adamw());
    list.non_finite = policy;
    for (int step = 0; step < 4; ++step) {
      list.set_gradients(step);
      list.step();
    }
    return list.bytes();
  }
};

TEST_F(Tunings, GiveTheSameBitsForEveryWindow) {
  const std::string expected = run(make());
  for (const std::int64_t window : {1 << 16, 1 << 20, 1 << 30}) {
    for (const std::int64_t beyond : {0, 1 << 16, 1 << 30}) {
      EXPECT_EQ(run(make({.window_bytes = window, .beyond_bytes = beyond})), expected)
          << "window " << window << ", beyond " << beyond;
    }
  }
}

// The policy skip_step measures in one launch and applies in another.
TEST_F(Tunings, GiveTheSameBitsInTwoLaunchesAsInOne) {
  EXPECT_EQ(run(make(), NonFinite::kSkipStep), run(make()));
}

TEST_F(Tunings, GiveTheSameBitsForEveryTile) {
  const std::string expected = run(make());
  for (const std::int64_t tile : {128, 512, 4096}) {
    EXPECT_EQ(run(make({.tile_elements = tile, .small_elements = tile})), expected) << tile;
  }
}

TEST_F(Tunings, GiveTheSameBitsEveryRun) {
  const std::string expected = run(make());
  for (int repeat = 0; repeat < 5; ++repeat) {
    EXPECT_EQ(run(make()), expected);
  }
}

TEST_F(Tunings, AgreeWithTheReferenceForEveryChunkAndTileSize) {
  StepList reference(make_reference_backend(), mixed_shapes(), {}, soft_adamw());
  for (int step = 0; step < 4; ++step) {
    reference.set_gradients(step);
    reference.step();
  }
  for (const std::int64_t chunk : {1, 512, 1000, 4096, 16384}) {
    for (const std::int64_t tile : {4, 128, 1024, 16384}) {
      StepList list(make({.chunk_elements = chunk, .tile_elements = tile, .small_elements = tile}),
                    mixed_shapes(), {}, soft_adamw());
      for (int step = 0; step < 4; ++step) {
        list.set_gradients(step);
        list.step();
      }
      // A step moves a parameter by at most 3 learning rates (2 ulp of float in each of about ten
      // operations) and rounds a value of size up to 1.
      const double bound = 4 * (3 * 1e-2 * 0x1p-19 + 0x1p-24);
      EXPECT_LE(worst_difference(list, reference), bound)
          << "chunks of " << chunk << ", tiles of " << tile;
      EXPECT_TRUE(list.sentinels_intact());
    }
  }
}

// The counts are close to the 512 chunks that a warp loads at once, and to the size of a family.
TEST_F(Tunings, AddUpAnyNumberOfChunks) {
  std::vector<Shape> shapes;
  for (const std::int64_t chunks :
       {std::int64_t{2}, std::int64_t{31}, std::int64_t{33}, std::int64_t{511}, std::int64_t{512},
        std::int64_t{513}, cuda::kFamilyChunks - 1, cuda::kFamilyChunks, cuda::kFamilyChunks + 1,
        2 * cuda::kFamilyChunks + 1}) {
    shapes.push_back({chunks, 8});
  }
  StepList list(make({.chunk_elements = 8}), shapes, {}, soft_adamw());
  StepList reference(make_reference_backend(), shapes, {}, soft_adamw());
  for (StepList* each : {&list, &reference}) {
    each->set_gradients(0);
    each->step();
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const double wanted = reference.tensor_progress(i).gradient_norm;
    // Rows of 8 are summed in float; a missing chunk changes the norm by about 1 part in 4098.
    EXPECT_NEAR(list.tensor_progress(i).gradient_norm, wanted, 8 * 0x1p-23 * wanted)
        << shapes[i][0] << " chunks";
  }
}

// The last warp of a step counts for 32 groups at a time.
TEST_F(Tunings, EveryOneOfManyGroupsCountsItsSteps) {
  constexpr std::size_t kGroups = 70;
  const std::shared_ptr<Backend> backend = make();
  StepList list(backend, std::vector<Shape>(kGroups, {5}), {}, soft_adamw());
  const std::shared_ptr<void> memory = backend->allocate(sizeof(GroupProgress) * kGroups);
  std::vector<GroupStep> groups(kGroups, list.group());
  for (std::size_t i = 0; i < kGroups; ++i) {
    groups[i].progress = static_cast<GroupProgress*>(memory.get()) + i;
    list.tensors()[i].group = i;
  }
  StepRequest request = list.request();
  request.groups = groups;
  for (int step = 0; step < 2; ++step) {
    list.set_gradients(step);
    backend->step(request);
  }
  std::vector<GroupProgress> progress(kGroups);
  backend->read(progress.data(), memory.get(), sizeof(GroupProgress) * kGroups);
  for (std::size_t i = 0; i < kGroups; ++i) {
    EXPECT_EQ(progress[i].steps, 2) << "group " << i;
  }
}

TEST_F(Tunings, RunOnTwoStreamsAtOnce) {
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  {
    const std::string expected = run(make());
    StepList a(make(), mixed_shapes(), {}, soft_adamw());
    StepList b(cuda::make_tuned_cuda_backend({.device = 0, .stream = other}, {}), mixed_shapes(),
               {}, soft_adamw());
    for (int step = 0; step < 4; ++step) {
      a.set_gradients(step);
      b.set_gradients(step);
      a.step();
      b.step();
    }
    EXPECT_EQ(a.bytes(), expected);
    EXPECT_EQ(b.bytes(), expected);
  }
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(Tunings, ServeOneHundredThousandTensors) {
  constexpr std::size_t kCount = 100'000;
  const std::shared_ptr<Backend> backend = make();
  // All tensors share one array of each kind, because separate allocations would test the driver.
  constexpr std::size_t kSize = 8;
  const std::vector<double> values = random_values(1, kCount * kSize);
  const Shape flat{static_cast<std::int64_t>(kCount * kSize)};
  DeviceTensor parameter(backend, Dtype::kFloat32, flat, values);
  DeviceTensor gradient(backend, Dtype::kFloat32, flat, values);
  const auto tensor_progress = backend->allocate(sizeof(TensorProgress) * kCount);
  const auto group_progress = backend->allocate(sizeof(GroupProgress));
  const auto progress = backend->allocate(sizeof(OptimizerProgress));
  GroupStep group;
  group.rule = Sgd{.learning_rate = 0.5};
  group.progress = static_cast<GroupProgress*>(group_progress.get());
  std::vector<TensorStep> tensors(kCount);
  const Shape shape{static_cast<std::int64_t>(kSize)};
  for (std::size_t i = 0; i < kCount; ++i) {
    tensors[i].layout = make_layout(shape, 0);
    tensors[i].parameter = static_cast<float*>(parameter.data()) + i * kSize;
    tensors[i].gradient = static_cast<float*>(gradient.data()) + i * kSize;
    tensors[i].progress = static_cast<TensorProgress*>(tensor_progress.get()) + i;
  }
  backend->step({.groups = {&group, 1},
                 .tensors = tensors,
                 .progress = static_cast<OptimizerProgress*>(progress.get()),
                 .version = 1});
  const std::vector<double> result = parameter.values();
  double worst = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    double squares = 0;
    for (std::size_t k = 0; k < kSize; ++k) {
      const auto g = static_cast<double>(static_cast<float>(values[i * kSize + k]));
      squares += g * g;
    }
    for (std::size_t k = 0; k < kSize; ++k) {
      const auto g = static_cast<double>(static_cast<float>(values[i * kSize + k]));
      const double expected = g - 0.5 * g / (std::sqrt(squares) + 1e-8);
      worst = std::max(worst, std::abs(result[i * kSize + k] - expected));
    }
  }
  EXPECT_LE(worst, 8 * 0x1p-24);  // a few roundings of numbers up to 1
  std::vector<TensorProgress> counters(kCount);
  backend->read(counters.data(), tensor_progress.get(), sizeof(TensorProgress) * kCount);
  for (const TensorProgress& each : counters) {
    ASSERT_EQ(each.steps, 1);
  }
}

}  // namespace
}  // namespace sing::test
