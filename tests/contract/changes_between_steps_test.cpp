// Checks that a change of the policy, the gradients or the options takes effect in the next step,
// although backends keep work plans from step to step.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "sing/base/message.hpp"
#include "tests/contract/agreement.hpp"
#include "tests/contract/model.hpp"
#include "tests/contract/rule_variants.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/same_bytes.hpp"

namespace sing {
namespace {

using test::Model;
using test::RuleVariant;
using test::Shape;
using test::Types;

constexpr Types kFloat32{Dtype::kFloat32, Dtype::kFloat32};
constexpr NonFinite kPolicies[] = {NonFinite::kSkipTensor, NonFinite::kSkipStep, NonFinite::kThrow,
                                   NonFinite::kPassThrough};

// Returns small and large tensors, so that some are processed whole and some in chunks.
std::vector<Shape> shapes() { return {{3, 7}, {15, 6'000}, {9}, {5}, {70'001}}; }
constexpr std::size_t kSmallMatrix = 0;
constexpr std::size_t kLargeMatrix = 1;
constexpr std::size_t kSmallVector = 2;
constexpr std::size_t kLargeVector = 4;

// Wraps a backend so that it makes a new plan for every step.
class PlansEveryStep final : public Backend {
 public:
  explicit PlansEveryStep(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  Device device() const override { return backend_->device(); }
  std::shared_ptr<void> allocate(std::size_t bytes) override { return backend_->allocate(bytes); }
  void read(void* host, const void* memory, std::size_t bytes) const override {
    backend_->read(host, memory, bytes);
  }
  void write(void* memory, const void* host, std::size_t bytes) const override {
    backend_->write(memory, host, bytes);
  }
  void convert(void* to, Dtype to_dtype, const void* from, Dtype from_dtype,
               std::int64_t count) override {
    backend_->convert(to, to_dtype, from, from_dtype, count);
  }
  void blend(void* to, Dtype to_dtype, const Blend& blend, std::int64_t count) override {
    backend_->blend(to, to_dtype, blend, count);
  }
  void step(const StepRequest& request) override {
    StepRequest renewed = request;
    renewed.version = --version_;
    backend_->step(renewed);
  }
  bool synchronous() const override { return backend_->synchronous(); }
  std::size_t scratch_bytes() const override { return backend_->scratch_bytes(); }

 private:
  std::shared_ptr<Backend> backend_;
  std::uint64_t version_ = 0;  // counts down, so that it never equals an optimizer's own version
};

// Under NonFinite::kThrow the step may end with an error, on CUDA when the status is read.
void step_and_ignore_error(Model& model) {
  try {
    model.optimizer().step();
    model.optimizer().status();
  } catch (const NonFiniteError&) {  // NOLINT(bugprone-empty-catch): the counters are compared
  }
}

void spoil(Model& model, std::size_t tensor, double value) {
  std::vector<double> values = model.gradient(tensor).values();
  values[values.size() / 2] = value;
  model.gradient(tensor).set(values);
}

// Gives exactly these tensors a gradient.
void set_present(Model& model, const std::vector<std::size_t>& tensors) {
  for (std::size_t i = 0; i < model.count(); ++i) {
    const bool is_present = std::find(tensors.begin(), tensors.end(), i) != tensors.end();
    model.optimizer().set_gradient(i, is_present ? model.gradient(i).data() : nullptr);
  }
}

std::vector<std::int64_t> counters(Model& model) {
  OptimizerProgress whole;
  model.optimizer().backend().read(&whole, model.optimizer().optimizer_progress_memory().get(),
                                   sizeof(whole));
  GroupProgress group;
  model.optimizer().backend().read(&group, model.optimizer().group_progress_memory(0).get(),
                                   sizeof(group));
  std::vector<std::int64_t> all{whole.skipped_steps, whole.skipped_tensors, whole.first_non_finite,
                                group.steps};
  for (const TensorProgress& tensor : model.optimizer().tensor_progress()) {
    all.push_back(tensor.steps);
    all.push_back(tensor.non_finite);
  }
  return all;
}

class ChangesBetweenSteps : public test::BackendTest {
 protected:
  using Action = std::function<void(Model&)>;

  // Checks that the steps have the same bits as with new plans, and agree with the reference.
  void expect_effect(const Options& options, const std::vector<Action>& steps) {
    Model kept(backend_, shapes(), kFloat32, options);
    Model renewed(std::make_shared<PlansEveryStep>(GetParam().make()), shapes(), kFloat32, options);
    Model reference(make_reference_backend(), shapes(), kFloat32, options);
    test::ReferenceComparison comparison(kept, reference, kFloat32);
    for (std::size_t step = 0; step < steps.size(); ++step) {
      SCOPED_TRACE(fmt::format("step {}", step));
      const auto take_step = [&](Model& model) {
        model.set_gradients(static_cast<int>(step));
        steps[step](model);
        step_and_ignore_error(model);
      };
      comparison.step(take_step);
      take_step(renewed);
      ASSERT_TRUE(test::same_bytes(kept.all_bytes(), renewed.all_bytes()));
      ASSERT_EQ(counters(kept), counters(reference));
    }
    comparison.expect_agreement();
  }
};
SING_ON_BACKENDS(ChangesBetweenSteps, test::backend_kinds());

void change_nothing(Model& /*model*/) {}

// Returns SING, a host whose gradients are read once under kPassThrough, and a rule that measures
// everything before the first write under every policy.
std::vector<Options> options_with_different_plans() {
  std::vector<Options> all(3);
  all[1].rule = test::strong_rule<Sgd>();
  all[1].standardize = {.centralize = false, .normalize = Normalize::kOff};
  all[2].rule = test::strong_rule<AdamW>();
  all[2].standardize.normalize = Normalize::kOff;
  all[2].clip_norm = 0.5;
  return all;
}

TEST_P(ChangesBetweenSteps, ThePolicyChanges) {
  for (const Options& options : options_with_different_plans()) {
    for (const NonFinite before : kPolicies) {
      for (const NonFinite after : kPolicies) {
        SCOPED_TRACE(
            fmt::format("{}, {} to {}", name_of(options.rule), name_of(before), name_of(after)));
        Options first = options;
        first.non_finite = before;
        expect_effect(first, {change_nothing,
                              [&](Model& model) {
                                model.optimizer().set_non_finite(after);
                                spoil(model, kSmallVector, std::numeric_limits<double>::infinity());
                                spoil(model, kLargeVector,
                                      std::numeric_limits<double>::quiet_NaN());
                              },
                              change_nothing});
      }
    }
  }
}

TEST_P(ChangesBetweenSteps, GradientsComeAndGo) {
  const std::vector<std::vector<std::size_t>> presences{{0, 1, 2, 3, 4},
                                                        {},
                                                        {kLargeMatrix},
                                                        {kSmallMatrix, kSmallVector, kLargeVector},
                                                        {0, 1, 2, 3, 4},
                                                        {kSmallVector},
                                                        {kLargeMatrix, kLargeVector}};
  for (Options options : options_with_different_plans()) {
    for (const NonFinite policy : kPolicies) {
      SCOPED_TRACE(fmt::format("{}, {}", name_of(options.rule), name_of(policy)));
      options.non_finite = policy;
      std::vector<Action> steps;
      for (const std::vector<std::size_t>& presence : presences) {
        steps.emplace_back([&](Model& model) { set_present(model, presence); });
      }
      expect_effect(options, steps);
    }
  }
}

TEST_P(ChangesBetweenSteps, EveryRuleTakesGradientsThatComeAndGo) {
  for (const RuleVariant& variant : test::all_rules()) {
    SCOPED_TRACE(variant.name);
    Options options;
    options.rule = variant.rule;
    expect_effect(options, {change_nothing,
                            [](Model& model) { set_present(model, {kSmallMatrix, kLargeVector}); },
                            [](Model& model) { set_present(model, {kLargeMatrix}); },
                            [](Model& model) { set_present(model, {0, 1, 2, 3, 4}); }});
  }
}

// Each tensor gets a 16-bit gradient, then full-precision ones again.
TEST_P(ChangesBetweenSteps, GradientTypesChange) {
  for (const Options& options : options_with_different_plans()) {
    std::vector<std::vector<test::DeviceTensor>> narrow;  // for each model
    const auto use_narrow = [&](Model& model) {
      std::vector<test::DeviceTensor>& own = narrow.emplace_back();
      for (std::size_t i = 0; i < model.count(); ++i) {
        const test::DeviceTensor& full = model.gradient(i);
        own.emplace_back(model.backend(), Dtype::kBFloat16, full.shape(), full.values());
        model.optimizer().set_gradient(i, own.back().data(), Dtype::kBFloat16);
      }
    };
    const auto use_full = [](Model& model) {
      for (std::size_t i = 0; i < model.count(); ++i) {
        model.optimizer().set_gradient(i, model.gradient(i).data(), Dtype::kFloat32);
      }
    };
    expect_effect(options, {change_nothing, use_narrow, use_full});
  }
}

std::function<void(Model&)> set_options(const Overrides& overrides) {
  return [=](Model& model) { model.optimizer().set_options(0, overrides); };
}

TEST_P(ChangesBetweenSteps, StandardizationChangesForEveryRule) {
  for (const RuleVariant& variant : test::all_rules()) {
    for (const NonFinite policy : {NonFinite::kSkipTensor, NonFinite::kPassThrough}) {
      SCOPED_TRACE(fmt::format("{}, {}", variant.name, name_of(policy)));
      Options options;
      options.rule = variant.rule;
      options.non_finite = policy;
      options.standardize = {.centralize = false, .normalize = Normalize::kOff};
      expect_effect(
          options,
          {change_nothing, set_options({{"normalize", "unit_norm"}}),
           set_options({{"centralize", true}}), set_options({{"normalize", "off"}}),
           set_options({{"centralize_axis", std::int64_t{1}}, {"normalize", "size_calibrated"}}),
           set_options({{"centralize_axis", std::int64_t{0}}})});
    }
  }
}

// The first step has a learning rate of 0 and affects only the plan.
TEST_P(ChangesBetweenSteps, OptionsSetLaterActLikeOptionsSetAtTheStart) {
  const Overrides changes[] = {{{"centralize", false}},
                               {{"centralize_axis", std::int64_t{1}}},
                               {{"normalize", "off"}},
                               {{"normalize", "size_calibrated"}},
                               {{"decay_vectors", true}, {"weight_decay", 0.5}}};
  for (const Overrides& change : changes) {
    SCOPED_TRACE(change.front().first);
    Options options{.rule = Sgd{.learning_rate = 0}, .lookahead = std::nullopt};
    Model later(GetParam().make(), shapes(), kFloat32, options);
    for (const auto& [name, value] : change) {
      set_option(options, name, value);
    }
    Model from_the_start(GetParam().make(), shapes(), kFloat32, options);
    later.take_step(0);
    from_the_start.take_step(0);
    later.optimizer().set_options(0, change);
    for (Model* model : {&later, &from_the_start}) {
      model->optimizer().set_learning_rate(1);
      model->take_step(1);
    }
    EXPECT_TRUE(test::same_bytes(later.all_bytes(), from_the_start.all_bytes()));
  }
}

TEST_P(ChangesBetweenSteps, NumbersChangeForEveryRule) {
  for (const RuleVariant& variant : test::all_rules()) {
    SCOPED_TRACE(variant.name);
    Options options;
    options.rule = variant.rule;
    options.lookahead = Lookahead{.period = 2};
    expect_effect(options,
                  {change_nothing, set_options({{"learning_rate", 0.25}, {"weight_decay", 0.125}}),
                   set_options({{"decay_vectors", true}, {"lookahead_alpha", 0.25}}),
                   [](Model& model) { model.optimizer().set_learning_rate_factor(0.5); }});
  }
}

TEST_P(ChangesBetweenSteps, TheLossScaleChanges) {
  for (Options options : options_with_different_plans()) {
    for (const NonFinite policy : kPolicies) {
      SCOPED_TRACE(fmt::format("{}, {}", name_of(options.rule), name_of(policy)));
      options.non_finite = policy;
      Model model(GetParam().make(), shapes(), kFloat32, options);
      Model reference(make_reference_backend(), shapes(), kFloat32, options);
      test::ReferenceComparison comparison(model, reference, kFloat32);
      int step = 0;
      for (const double loss_scale : {1.0, 4.0, 0.5, 1.0}) {
        comparison.step([&](Model& each) {
          each.set_gradients(step);
          each.optimizer().step(loss_scale);
        });
        ++step;
      }
      comparison.expect_agreement();
    }
  }
}

TEST_P(ChangesBetweenSteps, NewtonSchulzIterationsChange) {
  Options options;
  options.rule = test::strong_rule<Muon>();
  expect_effect(options, {change_nothing, set_options({{"newton_steps", std::int64_t{2}}}),
                          set_options({{"newton_steps", std::int64_t{4}}, {"newton_b", -4.0}})});
}

TEST_P(ChangesBetweenSteps, ClippingIsTurnedOnAndOff) {
  for (const RuleVariant& variant : test::all_rules()) {
    SCOPED_TRACE(variant.name);
    for (const NonFinite policy : {NonFinite::kSkipTensor, NonFinite::kPassThrough}) {
      Options options;
      options.rule = variant.rule;
      options.standardize.normalize = Normalize::kOff;
      options.non_finite = policy;
      expect_effect(options,
                    {change_nothing, set_options({{"clip_norm", 0.5}}),
                     set_options({{"clip_norm", 0.25}}), set_options({{"normalize", "unit_norm"}}),
                     set_options({{"normalize", "off"}, {"clip_norm", "none"}})});
    }
  }
}

// The norm of all gradients together excludes a tensor that the policy refuses: the others move as
// if it had no gradient.
TEST_P(ChangesBetweenSteps, ARefusedTensorDoesNotCountInTheClippedNorm) {
  Options options;
  options.rule = test::strong_rule<AdamW>();
  options.clip_norm = 0.5;
  options.standardize.normalize = Normalize::kOff;
  for (const double bad :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    for (const std::size_t refused : {kSmallVector, kLargeMatrix}) {
      Model spoiled(GetParam().make(), shapes(), kFloat32, options);
      Model absent(GetParam().make(), shapes(), kFloat32, options);
      for (Model* model : {&spoiled, &absent}) {
        model->take_step(0);
        model->set_gradients(1);
      }
      spoil(spoiled, refused, bad);
      absent.optimizer().set_gradient(refused, nullptr);
      spoiled.optimizer().step();
      absent.optimizer().step();
      EXPECT_EQ(spoiled.optimizer().status().skipped_tensors, 1);
      EXPECT_TRUE(test::same_bytes(spoiled.all_bytes(), absent.all_bytes())) << refused;
    }
  }
}

}  // namespace
}  // namespace sing
