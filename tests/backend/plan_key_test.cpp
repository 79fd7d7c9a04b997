// Checks that a plan's key fits exactly the requests that its plan serves.
#include "sing/backend/plan_key.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "sing/optim/options.hpp"

namespace sing {
namespace {

constexpr AbsentGradients kBothKinds[] = {AbsentGradients::kPlanned, AbsentGradients::kLeftOut};

// Has two groups and two tensors; tensor 1 has no gradient.
class PlanKeyTest : public ::testing::Test {
 protected:
  PlanKeyTest() : groups_(2), tensors_(2) {
    tensors_[0].gradient = &memory_;
    tensors_[1].group = 1;
  }

  StepRequest request() {
    return {.groups = groups_,
            .tensors = tensors_,
            .non_finite = non_finite_,
            .loss_scale = loss_scale_,
            .version = version_};
  }

  // Returns whether a key made before the change fits the request after it.
  bool fits_after(const std::function<void()>& change, AbsentGradients absent) {
    const PlanKey key(request(), absent);
    EXPECT_TRUE(key.fits(request()));
    change();
    return key.fits(request());
  }

  void expect_plan_kept(const std::function<void()>& change) {
    for (const AbsentGradients absent : kBothKinds) {
      EXPECT_TRUE(fits_after(change, absent));
    }
  }

  // `change` makes a different request each time it is called.
  void expect_plan_renewed(const std::function<void()>& change) {
    for (const AbsentGradients absent : kBothKinds) {
      EXPECT_FALSE(fits_after(change, absent));
    }
  }

  float memory_ = 0;
  std::vector<GroupStep> groups_;
  std::vector<TensorStep> tensors_;
  NonFinite non_finite_ = NonFinite::kSkipTensor;
  double loss_scale_ = 1;
  std::uint64_t version_ = 1;
};

TEST_F(PlanKeyTest, AnotherVersionRenewsThePlan) {
  expect_plan_renewed([&] { ++version_; });
}

TEST_F(PlanKeyTest, AnotherNumberOfTensorsOrGroupsRenewsThePlan) {
  expect_plan_renewed([&] { tensors_.emplace_back(); });
  expect_plan_renewed([&] { tensors_.pop_back(); });
  expect_plan_renewed([&] { groups_.emplace_back(); });
}

TEST_F(PlanKeyTest, EveryOtherPolicyRenewsThePlan) {
  const NonFinite policies[] = {NonFinite::kSkipTensor, NonFinite::kSkipStep, NonFinite::kThrow,
                                NonFinite::kPassThrough};
  for (const NonFinite before : policies) {
    for (const NonFinite after : policies) {
      non_finite_ = before;
      const PlanKey key(request(), AbsentGradients::kPlanned);
      non_finite_ = after;
      EXPECT_EQ(key.fits(request()), before == after);
    }
  }
}

TEST_F(PlanKeyTest, AGradientThatComesOrGoesRenewsPlansThatLeaveAbsentOnesOut) {
  const auto appear = [&] { tensors_[1].gradient = &memory_; };
  const auto disappear = [&] { tensors_[1].gradient = nullptr; };
  EXPECT_FALSE(fits_after(appear, AbsentGradients::kLeftOut));
  EXPECT_FALSE(fits_after(disappear, AbsentGradients::kLeftOut));
  EXPECT_TRUE(fits_after(appear, AbsentGradients::kPlanned));
  EXPECT_TRUE(fits_after(disappear, AbsentGradients::kPlanned));
}

TEST_F(PlanKeyTest, AnotherGradientTypeRenewsThePlan) {
  expect_plan_renewed([&] {
    Dtype& dtype = tensors_[1].gradient_dtype;
    dtype = dtype == Dtype::kFloat32 ? Dtype::kBFloat16 : Dtype::kFloat32;
  });
}

TEST_F(PlanKeyTest, GradientsThatMoveAndNumbersKeepThePlan) {
  float elsewhere = 0;
  expect_plan_kept([&] {
    tensors_[0].gradient = &elsewhere;
    loss_scale_ = 1024;
    groups_[1].learning_rate_factor = 0.5;
    groups_[1].decay_vectors = true;
    groups_[1].lookahead = Lookahead{.period = 7};
  });
}

struct OptionChange {
  const char* name;
  Value value;
  Rule rule = AdamW{};
};

// Checks whether a key still fits after each of these changes to the last group's options.
void expect_fits(const std::vector<OptionChange>& changes, bool fits) {
  for (const OptionChange& change : changes) {
    Options options{.rule = change.rule};
    std::vector<GroupStep> groups(2);
    groups[1] = {.standardize = options.standardize, .rule = options.rule};
    const StepRequest request{.groups = groups};
    const PlanKey key(request, AbsentGradients::kLeftOut);
    set_option(options, change.name, change.value);
    groups[1] = {.standardize = options.standardize, .rule = options.rule};
    EXPECT_EQ(key.fits(request), fits) << change.name;
  }
}

TEST_F(PlanKeyTest, NumericOptionsKeepThePlan) {
  expect_fits({{"learning_rate", 5.0},
               {"weight_decay", 0.5},
               {"beta1", 0.5},
               {"norm_epsilon", 1e-3},
               {"normalize", "size_calibrated"},
               {"momentum", 0.5, Muon{}}},
              true);
}

TEST_F(PlanKeyTest, OptionsThatChangeTheWorkRenewThePlan) {
  expect_fits({{"centralize", false},
               {"normalize", "off"},
               {"rule", "yogi"},
               {"newton_steps", std::int64_t{4}, Muon{}},
               {"newton_b", 4.0, Muon{}},
               {"orthogonalize", false, Muon{}}},
              false);
}

TEST_F(PlanKeyTest, ClippingRenewsThePlanUnlessGradientsAreNormalized) {
  for (const bool normalizes : {false, true}) {
    groups_[1].standardize.normalize = normalizes ? Normalize::kUnitNorm : Normalize::kOff;
    groups_[1].clip_norm.reset();
    const PlanKey key(request(), AbsentGradients::kPlanned);
    groups_[1].clip_norm = 0.5;
    EXPECT_EQ(key.fits(request()), normalizes);
    const PlanKey clipping(request(), AbsentGradients::kPlanned);
    groups_[1].clip_norm = 0.25;
    EXPECT_TRUE(clipping.fits(request()));
  }
}

}  // namespace
}  // namespace sing
