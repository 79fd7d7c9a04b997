// Checks steps of tensors of every size up to slightly more than two vectors, at every
// misalignment, with sentinels around parameter, gradient and state.
#include <gtest/gtest.h>

#include <array>

#include "sing/base/message.hpp"
#include "tests/contract/agreement.hpp"
#include "tests/contract/rule_variants.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/device_tensor.hpp"
#include "tests/support/random_values.hpp"
#include "tests/support/same_bytes.hpp"

namespace sing {
namespace {

using test::DeviceTensor;
using test::Types;

constexpr std::int64_t kVector = 64;  // elements; no backend loads more of any type at once
constexpr std::int64_t kLargestSize = 2 * kVector + 3;

// Holds all memory of one parameter's step, each array with its own offset.
class RawTensor {
 public:
  RawTensor(const std::shared_ptr<Backend>& backend, const Types& types,
            const std::vector<std::int64_t>& shape, std::size_t offset)
      : backend_(backend),
        parameter_(backend, types.parameter, shape, offset),
        gradient_(backend, types.gradient, shape, (offset + 1) % 4),
        slow_(backend, state_dtype(types.parameter), shape, (offset + 2) % 4),
        master_(backend, Dtype::kFloat32, shape, (offset + 3) % 4),
        progress_(backend->allocate(sizeof(TensorProgress))) {
    const auto size = static_cast<std::uint64_t>(parameter_.size());
    parameter_.set(test::random_values(size, parameter_.size()));
    gradient_.set(test::random_values(size + 500, gradient_.size()));
    step.layout = make_layout(shape, 0);
    step.dtype = types.parameter;
    step.gradient_dtype = types.gradient;
    step.state = types.state;
    step.parameter = parameter_.data();
    step.gradient = gradient_.data();
    step.slow = slow_.data();
    step.master = types.master ? static_cast<float*>(master_.data()) : nullptr;
    step.progress = static_cast<TensorProgress*>(progress_.get());
  }

  void add_slots(const Rule& rule, const std::vector<std::int64_t>& shape, std::size_t offset) {
    std::visit(
        [&](const auto& each) {
          slots_.reserve(std::size(each.kSlots));
          for (std::size_t k = 0; k < std::size(each.kSlots); ++k) {
            if (!each.uses_slot(k, step.layout.factored())) {
              continue;
            }
            slots_.emplace_back(backend_, slot_dtype(each.kSlots[k], step.state, step.dtype),
                                shape_of(each.kSlots[k].shape, shape), (offset + k) % 4);
            step.slots[k] = slots_.back().data();
          }
        },
        rule);
  }

  void expect_sentinels() const {
    EXPECT_TRUE(parameter_.sentinels_intact()) << "parameter";
    EXPECT_TRUE(gradient_.sentinels_intact()) << "gradient";
    EXPECT_TRUE(slow_.sentinels_intact()) << "slow";
    EXPECT_TRUE(master_.sentinels_intact()) << "master";
    for (const DeviceTensor& slot : slots_) {
      EXPECT_TRUE(slot.sentinels_intact()) << "slot";
    }
  }

  const DeviceTensor& parameter() const { return parameter_; }
  const DeviceTensor& gradient() const { return gradient_; }
  std::vector<std::string> bytes() const {
    std::vector<std::string> all{parameter_.bytes(), slow_.bytes(), master_.bytes()};
    for (const DeviceTensor& slot : slots_) {
      all.push_back(slot.bytes());
    }
    return all;
  }

  TensorStep step;

 private:
  std::shared_ptr<Backend> backend_;
  DeviceTensor parameter_, gradient_, slow_, master_;
  std::vector<DeviceTensor> slots_;
  std::shared_ptr<void> progress_;
};

// Takes two steps (the second merges) of all sizes in one list.
std::vector<RawTensor> run(const std::shared_ptr<Backend>& backend, const Rule& rule,
                           const Types& types, std::size_t offset, bool matrices) {
  std::vector<RawTensor> tensors;
  std::vector<TensorStep> steps;
  for (std::int64_t size = 0; size <= kLargestSize; ++size) {
    const std::vector<std::int64_t> shape =
        matrices ? std::vector<std::int64_t>{3, size} : std::vector<std::int64_t>{size};
    tensors.emplace_back(backend, types, shape, offset).add_slots(rule, shape, offset);
    steps.push_back(tensors.back().step);
  }
  const auto group_progress = backend->allocate(sizeof(GroupProgress));
  const auto progress = backend->allocate(sizeof(OptimizerProgress));
  GroupStep group;
  group.rule = rule;
  group.lookahead = Lookahead{.period = 2};
  group.progress = static_cast<GroupProgress*>(group_progress.get());
  const std::array groups{group};
  StepRequest request;
  request.groups = groups;
  request.tensors = steps;
  request.progress = static_cast<OptimizerProgress*>(progress.get());
  static std::uint64_t next_version = 1;
  request.version = next_version++;
  backend->step(request);
  backend->step(request);
  return tensors;
}

void expect_agreement(const RawTensor& actual, const RawTensor& expected, const std::string& what) {
  const std::int64_t size = expected.parameter().size();
  const std::vector<double> start = test::random_values(static_cast<std::uint64_t>(size), size);
  const std::vector<double> wanted = expected.parameter().values();
  const test::Agreement agreement{expected.step.dtype, 2,
                                  2 * test::largest_difference(start, wanted)};
  test::expect_close(actual.parameter().values(), wanted, agreement, what);
  EXPECT_TRUE(test::same_bytes(actual.gradient().bytes(), expected.gradient().bytes())) << what;
}

class Alignment : public test::BackendTest {};
SING_ON_BACKENDS(Alignment, test::backend_kinds());

TEST_P(Alignment, NoSizeOrOffsetWritesOutsideItsArrays) {
  const Types kinds[] = {{Dtype::kFloat32, Dtype::kFloat32},
                         {Dtype::kFloat64, Dtype::kFloat64},
                         {Dtype::kBFloat16, Dtype::kFloat32, true},
                         {Dtype::kFloat16, Dtype::kFloat16},
                         {Dtype::kFloat32, Dtype::kFloat32, false, StateType::kBFloat16}};
  for (const test::RuleVariant& variant : test::all_rules()) {
    for (const Types& types : kinds) {
      if (types.state == StateType::kBFloat16 && backend_->device().type != DeviceType::kCpu) {
        continue;
      }
      for (const bool matrices : {false, true}) {
        std::vector<std::vector<std::string>> aligned;
        for (std::size_t offset = 0; offset < 4; ++offset) {
          SCOPED_TRACE(fmt::format("{}, {}, offset {}", variant.name, types.name(), offset));
          const std::vector<RawTensor> tensors =
              run(GetParam().make(), variant.rule, types, offset, matrices);
          for (std::size_t size = 0; size < tensors.size(); ++size) {
            SCOPED_TRACE(fmt::format("size {}", size));
            tensors[size].expect_sentinels();
            if (offset == 0) {
              aligned.push_back(tensors[size].bytes());
            } else if (backend_->device().type == DeviceType::kCpu) {
              // A GPU may group the elements of a sum by their addresses; a CPU never does.
              ASSERT_TRUE(test::same_bytes(tensors[size].bytes(), aligned[size]));
            }
          }
        }
      }
    }
  }
}

// Checks that the results of the aligned arrays are right, too.
TEST_P(Alignment, EverySizeAgreesWithTheReference) {
  const Types types{Dtype::kFloat32, Dtype::kFloat32};
  for (const test::RuleVariant& variant : test::all_rules()) {
    for (const bool matrices : {false, true}) {
      const auto expected = run(make_reference_backend(), variant.rule, types, 0, matrices);
      for (std::size_t offset = 0; offset < 4; ++offset) {
        SCOPED_TRACE(fmt::format("{}, offset {}", variant.name, offset));
        const auto actual = run(backend_, variant.rule, types, offset, matrices);
        for (std::size_t size = 0; size < actual.size(); ++size) {
          expect_agreement(actual[size], expected[size], fmt::format("size {}", size));
        }
      }
    }
  }
}

}  // namespace
}  // namespace sing
