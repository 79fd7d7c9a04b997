// Checks the four policies for non-finite gradients against the reference.
#include <limits>

#include "sing/base/message.hpp"
#include "tests/backend/cuda/cuda_fixture.hpp"
#include "tests/backend/cuda/step_list.hpp"

namespace sing::test {
namespace {

class NonFinitePolicies : public CudaTest {
 protected:
  static std::vector<Shape> shapes() { return {{6}, {40, 384}, {9}, {300, 333}, {70}}; }

  // Tensors 2 and 3 each get a NaN and an infinity in the second of three steps.
  static void run(StepList& list, NonFinite policy) {
    list.non_finite = policy;
    for (int step = 0; step < 3; ++step) {
      list.set_gradients(step);
      if (step == 1) {
        list.poison(3, 99'899, std::numeric_limits<double>::infinity());
        list.poison(2, 8, std::numeric_limits<double>::quiet_NaN());
      }
      list.step();
    }
  }

  // Expects the reference's counts and, within `bound`, its parameters.
  void expect_as_the_reference(const cuda::StepTuning& tuning, const GroupStep& group,
                               NonFinite policy, double bound) {
    StepList list(make(tuning), shapes(), {}, group);
    StepList reference(make_reference_backend(), shapes(), {}, group);
    run(list, policy);
    run(reference, policy);
    EXPECT_EQ(list.progress().first_non_finite, 3);
    EXPECT_EQ(list.progress().first_non_finite, reference.progress().first_non_finite);
    EXPECT_EQ(list.progress().skipped_steps, reference.progress().skipped_steps);
    EXPECT_EQ(list.progress().skipped_tensors, reference.progress().skipped_tensors);
    EXPECT_EQ(list.group_steps(), reference.group_steps());
    for (std::size_t i = 0; i < shapes().size(); ++i) {
      EXPECT_EQ(list.tensor_progress(i).steps, reference.tensor_progress(i).steps);
      EXPECT_EQ(list.tensor_progress(i).non_finite, reference.tensor_progress(i).non_finite);
    }
    if (policy != NonFinite::kPassThrough) {
      EXPECT_LE(worst_difference(list, reference), bound);
    }
  }
};

constexpr NonFinite kPolicies[] = {NonFinite::kSkipTensor, NonFinite::kSkipStep, NonFinite::kThrow,
                                   NonFinite::kPassThrough};
constexpr double kThreeSteps = 3 * (3 * 1e-2 * 0x1p-19 + 0x1p-24);

// Two of the policies take one launch, the others two: the first launch measures, and the last one
// counts.
TEST_F(NonFinitePolicies, CountAndSkipAsTheReferenceDoes) {
  for (const NonFinite policy : kPolicies) {
    for (const std::int64_t window : {1 << 16, 20 << 20}) {
      SCOPED_TRACE(fmt::format("{}, window {}", name_of(policy), window));
      expect_as_the_reference({.window_bytes = window}, soft_adamw(), policy, kThreeSteps);
    }
  }
}

// This rule has a launch for its sums between measuring and applying.
TEST_F(NonFinitePolicies, CountAsTheReferenceDoesForARuleWithSumsOfItsOwn) {
  GroupStep group = soft_adamw();
  group.rule = Lamb{};
  for (const NonFinite policy : kPolicies) {
    SCOPED_TRACE(name_of(policy));
    expect_as_the_reference({}, group, policy, std::numeric_limits<double>::infinity());
  }
}

TEST_F(NonFinitePolicies, SkippingAStepChangesNoByte) {
  StepList list(make(), shapes(), {}, soft_adamw());
  list.non_finite = NonFinite::kSkipStep;
  list.set_gradients(0);
  list.step();
  const std::string before = list.bytes();
  list.poison(4, 3, std::numeric_limits<double>::infinity());
  list.step();
  EXPECT_EQ(list.bytes(), before);
  EXPECT_EQ(list.progress().skipped_steps, 1);
  EXPECT_EQ(list.progress().first_non_finite, 5);
}

TEST_F(NonFinitePolicies, AbsentGradientsAreSkippedAndStartLater) {
  StepList list(make(), shapes(), {}, soft_adamw());
  StepList reference(make_reference_backend(), shapes(), {}, soft_adamw());
  for (StepList* each : {&list, &reference}) {
    for (int step = 0; step < 4; ++step) {
      each->set_gradients(step);
      each->tensors()[1].gradient = step < 2 ? nullptr : each->gradients()[1].data();
      each->step();
    }
  }
  EXPECT_EQ(list.tensor_progress(1).steps, 2);
  EXPECT_EQ(list.tensor_progress(0).steps, 4);
  EXPECT_LE(worst_difference(list, reference), 4 * (3 * 1e-2 * 0x1p-19 + 0x1p-24));
}

}  // namespace
}  // namespace sing::test
