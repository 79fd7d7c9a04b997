// Checks steps over shards on a device: captured ones, and those that another process gives up.
// tests/contract/shard_test.cpp has the placements and the rules.
#include <limits>
#include <stdexcept>
#include <utility>

#include "sing/optim/optimizer.hpp"
#include "tests/backend/cuda/cuda_fixture.hpp"
#include "tests/contract/agreement.hpp"
#include "tests/contract/model.hpp"
#include "tests/contract/rule_variants.hpp"
#include "tests/support/message_of.hpp"

namespace sing::test {
namespace {

// A tensor of which two processes have equal halves along an axis, so that a sum over both is twice
// one's own.
struct Halves {
  Shape half;
  std::size_t axis;

  Shape whole() const {
    Shape shape = half;
    shape[axis] *= 2;
    return shape;
  }

  std::vector<double> twice(const std::vector<double>& values) const {
    std::int64_t inner = 1;  // elements of the half that follow one another in the whole
    for (std::size_t each = axis; each < half.size(); ++each) {
      inner *= half[each];
    }
    std::vector<double> all;
    for (auto run = values.begin(); run != values.end(); run += inner) {
      all.insert(all.end(), run, run + inner);
      all.insert(all.end(), run, run + inner);
    }
    return all;
  }

  std::vector<double> first_half(const std::vector<double>& values) const {
    const Region region{.part = half, .whole = whole(), .offset = Shape(half.size(), 0)};
    std::vector<double> part;
    for (std::int64_t i = 0; i < region.size(); ++i) {
      part.push_back(values[static_cast<std::size_t>(region.in_whole(i))]);
    }
    return part;
  }
};

// Rows in one chunk and in several, of whole packs and not, whole and cut.
std::vector<Halves> halves() {
  return {{{12, 64}, 0}, {{300, 333}, 0}, {{7}, 0},         {{20'001}, 0}, {{3, 20'000}, 0},
          {{12, 64}, 1}, {{40, 1536}, 1}, {{2, 17'003}, 1}, {{3, 5}, 1},   {{4, 3, 3, 3}, 1}};
}

std::vector<double> start_of(const Halves& each, std::size_t i) {
  return random_values(i, product(each.half));
}

std::vector<double> gradient_of(const Halves& each, std::size_t i, int step) {
  return well_conditioned_values(1000 + 100 * static_cast<std::uint64_t>(step) + i, each.half);
}

// One of the two processes, whose sums are twice its own values.
class OneOfTwo {
 public:
  OneOfTwo(std::shared_ptr<Backend> backend, const std::vector<Halves>& tensors,
           const Options& options)
      : backend_(std::move(backend)),
        tensors_(tensors),
        zeros_(backend_->allocate(kMostValues * sizeof(double))) {
    std::vector<Parameter> list;
    parameters_.reserve(tensors.size());
    gradients_.reserve(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      parameters_.emplace_back(backend_, Dtype::kFloat32, tensors[i].half, start_of(tensors[i], i));
      gradients_.emplace_back(backend_, Dtype::kFloat32, tensors[i].half);
      list.push_back(parameters_[i].parameter(std::to_string(i), gradients_[i]));
      list[i].shard = Shard{.whole_shape = tensors[i].whole(),
                            .offset = Shape(tensors[i].half.size(), 0),
                            .cut_axes = {static_cast<std::int64_t>(tensors[i].axis)},
                            .sum_group = static_cast<std::int32_t>(i % 2)};
    }
    optimizer_ = std::make_unique<Optimizer>(std::move(list), options, backend_);
    optimizer_->set_sum_shards_on_device(
        [this](double* values, std::size_t count, std::int32_t /*group*/, void* /*stream*/) {
          if (fails || count > kMostValues) {
            throw std::runtime_error("the other process is gone");
          }
          // values − (0 − values), on the backend's stream
          backend_->blend(values, Dtype::kFloat64, {values, Dtype::kFloat64, zeros_.get(), -1.0},
                          static_cast<std::int64_t>(count));
        });
  }

  void set_gradients(int step) {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      gradients_[i].set(gradient_of(tensors_[i], i, step));
    }
  }

  std::string bytes() const {
    std::string all;
    for (const DeviceTensor& each : parameters_) {
      all += each.bytes();
    }
    return all;
  }

  Optimizer& optimizer() { return *optimizer_; }
  DeviceTensor& parameter(std::size_t i) { return parameters_[i]; }
  DeviceTensor& gradient(std::size_t i) { return gradients_[i]; }
  bool fails = false;

 private:
  static constexpr std::size_t kMostValues = 1 << 17;  // the column sums of AdaFactor

  std::shared_ptr<Backend> backend_;
  std::vector<Halves> tensors_;
  std::shared_ptr<void> zeros_;
  std::vector<DeviceTensor> parameters_, gradients_;
  std::unique_ptr<Optimizer> optimizer_;
};

class CudaShards : public CudaTest {
 protected:
  void TearDown() override {
    if (graph_ != nullptr) {
      EXPECT_EQ(cudaGraphExecDestroy(graph_), cudaSuccess);
    }
    CudaTest::TearDown();
  }

  // The first call takes a step and captures the next; later ones replay it.
  void step_or_replay(OneOfTwo& process) {
    if (graph_ != nullptr) {
      ASSERT_EQ(cudaGraphLaunch(graph_, stream_), cudaSuccess);
      return;
    }
    process.optimizer().step();
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
    process.optimizer().step();
    ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&graph_, graph, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }

  void forget_graph() {
    if (graph_ != nullptr) {
      ASSERT_EQ(cudaGraphExecDestroy(std::exchange(graph_, nullptr)), cudaSuccess);
    }
  }

  cudaGraphExec_t graph_ = nullptr;
};

// Capturing refuses whatever waits for the device.
TEST_F(CudaShards, ReplayAsTheEagerStepsAndAsTheWholeTensorsForEveryRule) {
  constexpr int kSteps = 7;  // past a merge of LookAhead
  for (const RuleVariant& variant : all_rules()) {
    SCOPED_TRACE(variant.name);
    Options options;
    options.rule = variant.rule;
    const std::shared_ptr<Backend> backend = make();
    if (!backend->instead_of_shard(options.rule, true).empty()) {
      continue;
    }
    OneOfTwo eager(make(), halves(), options);
    OneOfTwo captured(backend, halves(), options);
    std::vector<Shape> shapes;
    for (const Halves& each : halves()) {
      shapes.push_back(each.whole());
    }
    Model whole(make(), shapes, {Dtype::kFloat32, Dtype::kFloat32}, options);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      whole.parameter(i).set(halves()[i].twice(start_of(halves()[i], i)));
    }
    std::vector<double> update(shapes.size());
    for (int step = 0; step < kSteps; ++step) {
      eager.set_gradients(step);
      captured.set_gradients(step);
      eager.optimizer().step();
      step_or_replay(captured);
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        whole.gradient(i).set(halves()[i].twice(gradient_of(halves()[i], i, step)));
      }
      std::vector<std::vector<double>> before;
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        before.push_back(whole.parameter(i).values());
      }
      whole.optimizer().step();
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        update[i] = std::max(update[i], largest_difference(before[i], whole.parameter(i).values()));
      }
    }
    EXPECT_EQ(eager.bytes(), captured.bytes());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      SCOPED_TRACE(i);
      // Both are within the bound of one step's difference from the exact one.
      const Agreement agreement{Dtype::kFloat32, 2 * kSteps, update[i], false};
      expect_close(captured.parameter(i).values(),
                   halves()[i].first_half(whole.parameter(i).values()), agreement, "parameter");
      EXPECT_TRUE(captured.parameter(i).sentinels_intact());
      const double norm = whole.optimizer().gradient_norms()[i];
      EXPECT_NEAR(captured.optimizer().gradient_norms()[i], norm, 128 * 0x1p-24 * norm);
      EXPECT_EQ(captured.optimizer().tensor_progress()[i].steps, kSteps);
    }
    forget_graph();
  }
}

TEST_F(CudaShards, PoliciesHoldInReplays) {
  for (const NonFinite policy : {NonFinite::kSkipTensor, NonFinite::kSkipStep}) {
    SCOPED_TRACE(name_of(policy));
    Options options;
    options.non_finite = policy;
    OneOfTwo eager(make(), halves(), options);
    OneOfTwo captured(make(), halves(), options);
    for (int step = 0; step < 4; ++step) {
      for (OneOfTwo* each : {&eager, &captured}) {
        each->set_gradients(step);
        if (step == 2) {
          std::vector<double> values = gradient_of(halves()[5], 5, step);
          values.back() = std::numeric_limits<double>::quiet_NaN();
          each->gradient(5).set(values);
        }
      }
      eager.optimizer().step();
      step_or_replay(captured);
    }
    const bool skips_step = policy == NonFinite::kSkipStep;
    EXPECT_EQ(captured.optimizer().status().skipped_tensors, skips_step ? 0 : 1);
    EXPECT_EQ(captured.optimizer().status().skipped_steps, skips_step ? 1 : 0);
    EXPECT_EQ(captured.optimizer().tensor_progress()[5].steps, 3);
    EXPECT_EQ(captured.optimizer().tensor_progress()[0].steps, skips_step ? 3 : 4);
    EXPECT_EQ(captured.bytes(), eager.bytes());
    forget_graph();
  }
}

TEST_F(CudaShards, AFailingSumLeavesTheStepUndone) {
  OneOfTwo failing(make(), halves(), {});
  OneOfTwo other(make(), halves(), {});
  for (OneOfTwo* each : {&failing, &other}) {
    each->set_gradients(0);
    each->optimizer().step();
    each->set_gradients(1);
  }
  const std::string before = failing.bytes();
  failing.fails = true;
  EXPECT_EQ(message_of<std::runtime_error>([&] { failing.optimizer().step(); }),
            "the other process is gone");
  EXPECT_EQ(failing.bytes(), before);
  failing.fails = false;
  failing.optimizer().step();
  other.optimizer().step();
  EXPECT_EQ(failing.bytes(), other.bytes());
  EXPECT_EQ(failing.optimizer().tensor_progress()[0].steps, 2);
}

}  // namespace
}  // namespace sing::test
