// Checks the alignments, types, axes and memory of tensors on the CUDA backend.
#include "sing/base/message.hpp"
#include "tests/backend/cuda/cuda_fixture.hpp"
#include "tests/backend/cuda/step_list.hpp"
#include "tests/support/message_of.hpp"

namespace sing::test {
namespace {

class Layouts : public CudaTest {
 protected:
  // Takes the same steps on both backends and compares within `bound`.
  void expect_agreement(const std::vector<Shape>& shapes, const ListTypes& types,
                        const GroupStep& group, std::size_t offset, double bound) {
    StepList list(make(), shapes, types, group, offset);
    StepList reference(make_reference_backend(), shapes, types, group, offset);
    for (int step = 0; step < 4; ++step) {
      list.set_gradients(step);
      reference.set_gradients(step);
      list.step();
      reference.step();
    }
    EXPECT_LE(worst_difference(list, reference), bound);
    EXPECT_TRUE(list.sentinels_intact());
    EXPECT_EQ(list.group_steps(), 4);
  }
};

// A step moves a parameter by at most 3 learning rates of 1e-2. Float32 arithmetic adds 2 ulp in
// each of about ten operations, and the parameter is rounded to its type once per step and once at
// the start.
double bound_of(Dtype parameter) {
  const double rounding = parameter == Dtype::kBFloat16  ? 0x1p-8
                          : parameter == Dtype::kFloat16 ? 0x1p-11
                                                         : 0x1p-24;
  return parameter == Dtype::kFloat64 ? 1e-14 : 4 * (3 * 1e-2 * 0x1p-19 + rounding);
}

TEST_F(Layouts, AgreeForEveryOffsetAndType) {
  const std::vector<Shape> shapes = {{3, 7}, {12, 64}, {64, 27},   {40, 1536},
                                     {1001}, {20'001}, {3, 20'000}};
  for (const ListTypes& types :
       {ListTypes{}, ListTypes{Dtype::kFloat64, Dtype::kFloat64},
        ListTypes{Dtype::kBFloat16, Dtype::kBFloat16}, ListTypes{Dtype::kFloat16, Dtype::kFloat32},
        ListTypes{Dtype::kFloat32, Dtype::kFloat16, false, true},
        ListTypes{Dtype::kBFloat16, Dtype::kBFloat16, true}}) {
    for (std::size_t offset = 0; offset < 8; ++offset) {
      SCOPED_TRACE(fmt::format("{} with {}, offset {}", name_of(types.parameter),
                               name_of(types.gradient), offset));
      expect_agreement(shapes, types, soft_adamw(), offset, bound_of(types.parameter));
    }
  }
}

// The rows share a warp: every number of lanes per row, idle lanes, and partly filled chunks.
TEST_F(Layouts, AgreeForShortRows) {
  std::vector<Shape> shapes;
  for (const std::int64_t length : {1, 2, 4, 6, 8, 12, 20, 28, 32, 36, 52, 60, 64, 68}) {
    shapes.push_back({301, length});
  }
  for (const ListTypes& types : {ListTypes{}, ListTypes{Dtype::kFloat64, Dtype::kFloat64},
                                 ListTypes{Dtype::kBFloat16, Dtype::kBFloat16}}) {
    SCOPED_TRACE(name_of(types.parameter));
    expect_agreement(shapes, types, soft_adamw(), 0, bound_of(types.parameter));
  }
}

TEST_F(Layouts, AgreeWhenCentralizationIsTurnedOffBetweenSteps) {
  const std::vector<Shape> shapes = {{40, 384}, {3, 20'000}, {50}};
  StepList list(make(), shapes, {}, soft_adamw());
  StepList reference(make_reference_backend(), shapes, {}, soft_adamw());
  for (StepList* each : {&list, &reference}) {
    for (const bool centralize : {true, false, true}) {
      each->group().standardize.centralize = centralize;
      each->set_gradients(centralize ? 1 : 2);
      each->step();
    }
  }
  EXPECT_LE(worst_difference(list, reference), bound_of(Dtype::kFloat32));
}

TEST_F(Layouts, AgreeForEveryCentralizedAxis) {
  for (const std::int64_t axis : {0, 1}) {
    GroupStep group = soft_adamw();
    group.standardize.centralize_axis = axis;
    SCOPED_TRACE(fmt::format("axis {}", axis));
    expect_agreement({{5, 3}, {40, 70}, {300, 333}, {6, 40, 5, 5}, {2000, 33}, {7}}, {}, group, 0,
                     bound_of(Dtype::kFloat32));
  }
}

// The sums of a row are taken about the mean of its first elements, which differ by 8 from the
// others here.
TEST_F(Layouts, AgreeForRowsThatBeginFarFromTheirMean) {
  const std::vector<Shape> shapes = {{40, 5'000}, {70, 700}, {3, 20'000}};
  StepList list(make(), shapes, {}, soft_adamw());
  StepList reference(make_reference_backend(), shapes, {}, soft_adamw());
  for (StepList* each : {&list, &reference}) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto length = static_cast<std::size_t>(shapes[i][1]);
      std::vector<double> values = random_values(i, each->gradients()[i].size());
      for (std::size_t k = 0; k < values.size(); ++k) {
        values[k] += k % length < 512 ? 8 : 0;
      }
      each->gradients()[i].set(values);
    }
    each->step();
  }
  EXPECT_LE(worst_difference(list, reference), bound_of(Dtype::kFloat32));
}

TEST_F(Layouts, AgreeForFactoredMoments) {
  GroupStep group = soft_adamw();
  group.rule = AdaFactor{.learning_rate = 1e-2, .weight_decay = 1e-2, .softplus_beta = 50};
  expect_agreement({{5, 3}, {300, 333}, {16, 8, 3, 3}, {2, 3, 200, 40}, {20'001}, {1, 700}}, {},
                   group, 0, bound_of(Dtype::kFloat32));
}

TEST_F(Layouts, MixedRulesAndTypesShareAStep) {
  const std::shared_ptr<Backend> backend = make();
  StepList list(backend, {{40, 384}, {9}, {70, 30}}, {}, soft_adamw());
  list.set_gradients(0);
  std::vector<GroupStep> groups(2, list.group());
  const auto second = backend->allocate(sizeof(GroupProgress));
  groups[1].rule = Sgd{.learning_rate = 1e-2};
  groups[1].lookahead.reset();
  groups[1].progress = static_cast<GroupProgress*>(second.get());
  StepRequest request = list.request();
  request.groups = groups;
  list.tensors()[2].group = 1;
  backend->step(request);
  GroupProgress progress;
  backend->read(&progress, second.get(), sizeof(progress));
  EXPECT_EQ(progress.steps, 1);
  EXPECT_EQ(list.group_steps(), 1);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(list.tensor_progress(i).steps, 1);
  }
}

TEST_F(Layouts, RefuseAFloat64GradientOfAFloat32Parameter) {
  StepList list(make(), {{3, 4}}, {}, soft_adamw());
  list.tensors()[0].gradient_dtype = Dtype::kFloat64;
  const std::string message = message_of<std::invalid_argument>([&] { list.step(); });
  EXPECT_NE(message.find("got float32 with a gradient of float64 for tensor 0"), std::string::npos);
}

TEST_F(Layouts, RunningOutOfMemoryChangesNothing) {
  const std::shared_ptr<Backend> backend = make();
  StepList list(backend, {{40, 384}}, {}, soft_adamw());
  list.set_gradients(0);
  list.step();
  const std::string before = list.bytes();
  const std::size_t bytes = std::size_t{1} << 50;
  const std::string message = message_of<CudaError>([&] { backend->allocate(bytes); });
  EXPECT_NE(message.find(fmt::format("wanted {} bytes", bytes)), std::string::npos);
  EXPECT_EQ(list.bytes(), before);
  list.step();
  EXPECT_EQ(list.tensor_progress(0).steps, 2);
}

TEST_F(Layouts, ScratchIsFourBytesPerRowAndLittleElse) {
  const std::shared_ptr<Backend> backend = make();
  const Shape shape{40'000, 200};
  StepList list(backend, {shape}, {}, soft_adamw());
  list.step();
  // Each item has 16 bytes, one per tile (512 elements or more) and one per chunk (20 rows). Each
  // chunk also needs 32 bytes for its sums and a share of its family's 36 bytes.
  const std::size_t tiles = static_cast<std::size_t>(product(shape)) / 512;
  const std::size_t chunks = 40'000 / 20;
  EXPECT_LE(backend->scratch_bytes(), 4 * 40'000 + 16 * tiles + 49 * chunks + 8192);
}

}  // namespace
}  // namespace sing::test
