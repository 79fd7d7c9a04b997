// Tests what the training loop hands to its parts (batches, learning rates, checkpoints) and what
// it makes of losses and accuracies, on a task whose gradients are chosen by the test.
#include "lab/loop/trainer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "lab/loop/kept_weights.hpp"
#include "lab/loop/training_model.hpp"
#include "lab/optimizer/named_optimizer.hpp"
#include "lab/run/run_reader.hpp"
#include "sing/io/safetensors.hpp"
#include "tests/lab/loop/one_of_twins.hpp"
#include "tests/lab/loop/scripted_task.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::test {
namespace {

using lab::loop::TrainingPlan;
using lab::loop::TrainingState;
using lab::run::EndRecord;
using lab::run::RunStatus;
using lab::task::Split;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr double kRate = 0.125;

// Returns a plan of gradient descent, which subtracts rate · gradient from the weight.
TrainingPlan plan_of(std::int64_t steps, const Schedule& schedule = {}) {
  TrainingPlan plan;
  plan.training.steps = steps;
  plan.training.batch = 4;
  plan.training.log_steps = 1;
  plan.optimizer = lab::optimizer::make_optimizer_options("sgd");
  plan.optimizer.rule = Sgd{.learning_rate = kRate};
  plan.schedule = schedule;
  return plan;
}

// Returns an example whose gradient is 1.
ScriptedExample unit_gradient(std::int64_t /*example*/) { return {.gradient = 1}; }

class TrainerTest : public testing::Test {
 protected:
  TrainerTest() {
    std::filesystem::create_directories(directory_.checkpoints());
    std::filesystem::create_directories(directory_.pictures());
  }

  EndRecord train(ScriptedTask& task, TrainingPlan plan, bool resume = false,
                  lab::ranks::Ranks& ranks = lab::ranks::one_process()) {
    plan.ranks = ranks.count();
    lab::loop::count_steps(plan, task);
    lab::command::ProgressBar progress(out_, 0);
    const lab::command::StopSignal stop;
    lab::loop::Trainer trainer(task, plan, directory_, progress, resume, ranks);
    return trainer.run(stop, "");
  }

  lab::run::RunRecord record() const {
    // A run directory is recognized by its settings, which the program writes.
    std::ofstream(directory_.config()) << "{}";
    return lab::run::read_run(directory_.path());
  }

  TemporaryFolder folder_;
  lab::run::RunDirectory directory_{folder_ / "run"};
  std::ostringstream out_;
};

TEST_F(TrainerTest, EachStepTakesTheLearningRateOfItsOwnNumber) {
  ScriptedTask task({.example = unit_gradient});
  train(task, plan_of(6, {WarmupCosine{.warmup_steps = 2, .total_steps = 6}}));
  // Two steps of warm-up, then (1 + cos(π x)) / 2 for x = 0, 1/4, 1/2, 3/4.
  const std::vector<double> factors = {0.5, 1, 1, 0.853553390593, 0.5, 0.146446609407};
  std::vector<double> weights = task.weights();
  weights.push_back(task.weight());
  const lab::run::RunRecord run = record();
  ASSERT_EQ(weights.size(), factors.size() + 1);
  ASSERT_EQ(run.steps.size(), factors.size());
  for (std::size_t step = 0; step < factors.size(); ++step) {
    EXPECT_NEAR(weights[step] - weights[step + 1], kRate * factors[step], 1e-6) << step;
    EXPECT_NEAR(run.steps[step].learning_rate, kRate * factors[step], 1e-9) << step;
  }
}

TEST_F(TrainerTest, EveryEpochAsksForItsOwnExamplesInParts) {
  ScriptedTask task({.training_examples = 9, .test_examples = 5});
  TrainingPlan plan = plan_of(5);
  plan.training.accumulate = 2;
  plan.training.evaluate_steps = 5;
  train(task, plan);
  const auto rows = [&](Split split) {
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> all;
    for (const auto& request : task.requests(split)) {
      all.emplace_back(request.epoch, request.first, request.count);
    }
    return all;
  };
  // Two steps of two parts per epoch; the ninth example is left out.
  using Row = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  EXPECT_THAT(rows(Split::kTraining),
              ElementsAre(Row(0, 0, 2), Row(0, 2, 2), Row(0, 4, 2), Row(0, 6, 2), Row(1, 0, 2),
                          Row(1, 2, 2), Row(1, 4, 2), Row(1, 6, 2), Row(2, 0, 2), Row(2, 2, 2)));
  EXPECT_THAT(rows(Split::kTest), ElementsAre(Row(0, 0, 2), Row(0, 2, 2), Row(0, 4, 1)));
}

TEST_F(TrainerTest, TheGradientIsTheMeanOverAllPartsAndTheLossThatOverAllSteps) {
  const auto example = [](std::int64_t number) {
    return ScriptedExample{.gradient = static_cast<double>(number % 4),
                           .constant = static_cast<double>(number)};
  };
  ScriptedTask task({.example = example});
  TrainingPlan plan = plan_of(2);
  plan.training.accumulate = 2;
  plan.training.log_steps = 2;
  train(task, plan);
  // Mean gradient (0 + 1 + 2 + 3) / 4; the weight is 0 in the first step and −kRate · 1.5 in the
  // second; the constants are 0 … 3 and 4 … 7.
  EXPECT_NEAR(task.weight(), -2 * kRate * 1.5, 1e-6);
  ASSERT_EQ(record().steps.size(), 1);
  EXPECT_NEAR(record().steps[0].loss, (1.5 + (5.5 - kRate * 1.5 * 1.5)) / 2, 1e-6);
}

// Returns how a run of these losses, one per step, ends, and the number of its steps.
class Divergence : public TrainerTest {
 protected:
  std::pair<RunStatus, std::int64_t> end_of(const std::vector<double>& losses,
                                            std::int64_t log_steps, std::int64_t allowed) {
    ScriptedTask task({.example = [&](std::int64_t number) {
      return ScriptedExample{.constant = losses.at(static_cast<std::size_t>(number / 4))};
    }});
    TrainingPlan plan = plan_of(static_cast<std::int64_t>(losses.size()));
    plan.training.log_steps = log_steps;
    plan.training.divergence_steps = allowed;
    const RunStatus status = train(task, plan).status;
    return {status, static_cast<std::int64_t>(task.weights().size())};
  }
};

TEST_F(Divergence, IsALossAboveItsStartForManyStepsInARow) {
  EXPECT_EQ(end_of({1, 2, 2, 2, 1}, 1, 3), std::pair(RunStatus::kDiverged, std::int64_t{4}));
}

TEST_F(Divergence, CountsAnewWhenTheLossFalls) {
  EXPECT_EQ(end_of({1, 2, 2, 1, 2, 2, 1, 2}, 1, 3),
            std::pair(RunStatus::kFinished, std::int64_t{8}));
}

TEST_F(Divergence, AllowsATenthMoreThanTheFirstLoss) {
  EXPECT_EQ(end_of({1, 1.09, 1.09, 1.09}, 1, 3), std::pair(RunStatus::kFinished, std::int64_t{4}));
  EXPECT_EQ(end_of({1, 1.11, 1.11, 1.11, 1}, 1, 3),
            std::pair(RunStatus::kDiverged, std::int64_t{4}));
}

TEST_F(Divergence, CountsTheStepsOfARecordAndNotRecords) {
  EXPECT_EQ(end_of({1, 1, 2, 2, 2, 2, 1, 1}, 2, 4),
            std::pair(RunStatus::kDiverged, std::int64_t{6}));
}

TEST_F(Divergence, IsFoundAtOnceInALossThatIsNotFinite) {
  EXPECT_EQ(end_of({1, NAN, 1}, 1, 0), std::pair(RunStatus::kDiverged, std::int64_t{2}));
  EXPECT_EQ(end_of({1, 9, 9, 9}, 1, 0), std::pair(RunStatus::kFinished, std::int64_t{4}));
}

TEST_F(TrainerTest, TheBestWeightsAreTheFirstOfEqualAccuracy) {
  const std::vector<std::int64_t> right = {1, 2, 2, 1};
  ScriptedTask task({.example = unit_gradient, .right = [&](std::int64_t evaluation) {
                       return right.at(static_cast<std::size_t>(evaluation));
                     }});
  TrainingPlan plan = plan_of(4);
  plan.training.evaluate_steps = 1;
  const EndRecord end = train(task, plan);
  EXPECT_EQ(end.best_accuracy, 0.5);
  EXPECT_EQ(end.final_accuracy, 0.25);
  const SafetensorsReader best(directory_.checkpoint(lab::loop::kBestCheckpoint));
  EXPECT_EQ(best.metadata().at("step"), "2");
  EXPECT_EQ(best.metadata().at("accuracy"), "0.5");
  float weight = 0;
  best.read(*best.find("weight"), reinterpret_cast<std::byte*>(&weight));
  EXPECT_NEAR(weight, -2 * kRate, 1e-6);
}

TEST_F(TrainerTest, EachEvaluationIsShownByItsFirstBatchAndItsAccuracyInPercent) {
  ScriptedTask task({.test_examples = 5, .right = [](std::int64_t /*batch*/) { return 1; }});
  TrainingPlan plan = plan_of(4);
  plan.training.evaluate_steps = 2;
  train(task, plan);
  EXPECT_THAT(task.pictures(), ElementsAre(std::pair(directory_.picture(2), std::int64_t{4}),
                                           std::pair(directory_.picture(4), std::int64_t{4})));
  // One example of each of the two batches, which have four examples and one.
  EXPECT_THAT(out_.str(), testing::HasSubstr("step 2 · epoch 1.00"));
  EXPECT_THAT(out_.str(), testing::HasSubstr("accuracy 40.00 %"));
}

TEST_F(TrainerTest, WithoutAnEvaluationIntervalEachEpochIsEvaluated) {
  ScriptedTask task(Script{});
  train(task, plan_of(5));
  std::vector<std::int64_t> steps;
  for (const auto& evaluation : record().evaluations) {
    steps.push_back(evaluation.step);
  }
  EXPECT_THAT(steps, ElementsAre(2, 4, 5));
}

// The loop checks for a signal between steps.
double interrupt_in_pass(std::int64_t pass, std::int64_t wanted) {
  if (pass == wanted) {
    ::raise(SIGTERM);
  }
  return 1;
}

TEST_F(TrainerTest, AResumedRunContinuesWithTheNextExamplesAndRates) {
  const TrainingPlan plan = plan_of(6, {WarmupCosine{.warmup_steps = 2, .total_steps = 6}});
  const auto example = [](std::int64_t number) {
    return ScriptedExample{.gradient = static_cast<double>(number), .constant = 1};
  };
  ScriptedTask whole({.example = example});
  EXPECT_EQ(train(whole, plan).status, RunStatus::kFinished);
  const std::vector<lab::run::StepRecord> expected = record().steps;

  ScriptedTask first({.example = example,
                      .forward = [](std::int64_t pass) { return interrupt_in_pass(pass, 2); }});
  EXPECT_EQ(train(first, plan).status, RunStatus::kInterrupted);
  EXPECT_EQ(first.weights().size(), 3);
  ScriptedTask second({.example = example});
  EXPECT_EQ(train(second, plan, /*resume=*/true).status, RunStatus::kFinished);
  EXPECT_EQ(second.requests(Split::kTraining).front().epoch, 1);
  EXPECT_EQ(second.requests(Split::kTraining).front().first, 4);
  std::vector<double> weights = first.weights();
  weights.insert(weights.end(), second.weights().begin(), second.weights().end());
  EXPECT_EQ(weights, whole.weights());
  EXPECT_EQ(second.weight(), whole.weight());
  const std::vector<lab::run::StepRecord> found = record().steps;
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t step = 0; step < found.size(); ++step) {
    EXPECT_EQ(found[step].loss, expected[step].loss) << step;
    EXPECT_EQ(found[step].epoch, expected[step].epoch) << step;
  }
}

TEST_F(TrainerTest, AResumedRunDrawsTheSameRandomNumbers) {
  const auto draw = [](std::int64_t /*pass*/) { return at::rand({}).item<double>(); };
  ScriptedTask whole({.example = unit_gradient, .forward = draw});
  train(whole, plan_of(6));
  ScriptedTask first({.example = unit_gradient, .forward = [&](std::int64_t pass) {
                        return draw(pass) * interrupt_in_pass(pass, 2);
                      }});
  train(first, plan_of(6));
  ScriptedTask second({.example = unit_gradient, .forward = draw});
  train(second, plan_of(6), /*resume=*/true);
  EXPECT_EQ(second.weight(), whole.weight());
  EXPECT_NE(whole.weights()[1] - whole.weights()[0], whole.weights()[2] - whole.weights()[1]);
}

TEST_F(TrainerTest, ACheckpointOfOtherOptionsIsRefused) {
  ScriptedTask task({.example = unit_gradient,
                     .forward = [](std::int64_t pass) { return interrupt_in_pass(pass, 1); }});
  train(task, plan_of(4));
  TrainingPlan other = plan_of(4);
  other.optimizer.rule = Sgd{.learning_rate = 2 * kRate};
  EXPECT_THAT(message_of<FileError>([&] { train(task, other, /*resume=*/true); }),
              testing::HasSubstr("last.safetensors': wanted learning_rate = 0.25, as in the run's "
                                 "settings, got learning_rate = 0.125"));
}

// Returns what is drawn from torch's generator in each forward pass of a training.
class Draws : public TrainerTest {
 protected:
  std::vector<double> of(bool resume, lab::ranks::Ranks& ranks = lab::ranks::one_process(),
                         std::int64_t interrupted_pass = -1) {
    std::vector<double> drawn;
    ScriptedTask task({.example = unit_gradient, .forward = [&](std::int64_t pass) {
                         drawn.push_back(at::rand({}).item<double>());
                         return interrupt_in_pass(pass, interrupted_pass);
                       }});
    TrainingPlan plan = plan_of(4);
    plan.training.seed = 7;
    train(task, plan, resume, ranks);
    return drawn;
  }
};

TEST_F(Draws, OfOneProcessAreThoseThatFollowTheSeed) {
  const std::vector<double> found = of(/*resume=*/false);
  ::torch::manual_seed(7);
  std::vector<double> expected;
  for (std::size_t step = 0; step < found.size(); ++step) {
    expected.push_back(at::rand({}).item<double>());
  }
  EXPECT_THAT(found, ElementsAreArray(expected));
}

TEST_F(Draws, OfEachRankAndStepDifferAndComeAgainAfterAResumption) {
  OneOfTwins first(0, 2);
  OneOfTwins second(1, 2);
  const std::vector<double> of_first = of(/*resume=*/false, first);
  const std::vector<double> of_second = of(/*resume=*/false, second);
  std::vector<double> all = of_first;
  all.insert(all.end(), of_second.begin(), of_second.end());
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
  // Only the first rank writes checkpoints: here one after two steps.
  of(/*resume=*/false, first, /*interrupted_pass=*/1);
  EXPECT_THAT(of(/*resume=*/true, second), ElementsAre(of_second[2], of_second[3]));
}

// AdaHessian divides the gradient by the curvature. Without one it would take the gradient instead,
// and the first step would be as long as the learning rate.
TEST_F(TrainerTest, TheOptimizerGetsTheCurvatureOfTheLoss) {
  const AdaHessian rule{.learning_rate = kRate};
  for (const std::int64_t parts : {1, 2}) {
    ScriptedTask task({.example = [](std::int64_t number) {
      return ScriptedExample{.gradient = static_cast<double>(number % 4), .curvature = 6};
    }});
    TrainingPlan plan = plan_of(1);
    plan.optimizer.rule = rule;
    plan.training.accumulate = parts;
    train(task, plan);
    EXPECT_NEAR(task.weight(), -kRate * 1.5 / (6 + rule.epsilon), 1e-7) << parts;
  }
}

TEST_F(TrainerTest, EachRankTakesItsOwnPartOfEveryBatch) {
  for (const int rank : {0, 1}) {
    OneOfTwins ranks(rank, 2);
    ScriptedTask task({.training_examples = 9, .test_examples = 5, .example = unit_gradient});
    TrainingPlan plan = plan_of(3);
    plan.training.evaluate_steps = 3;
    train(task, plan, /*resume=*/false, ranks);
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> parts;
    for (const auto& request : task.requests(Split::kTraining)) {
      parts.emplace_back(request.epoch, request.first, request.count);
    }
    using Part = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
    EXPECT_THAT(parts,
                ElementsAre(Part(0, 2 * rank, 2), Part(0, 4 + 2 * rank, 2), Part(1, 2 * rank, 2)));
    // The first rank evaluates, in batches of the size that a rank has in a step.
    std::vector<std::int64_t> counts;
    for (const auto& request : task.requests(Split::kTest)) {
      counts.push_back(request.count);
    }
    using Counts = std::vector<std::int64_t>;
    EXPECT_EQ(counts, rank == 0 ? Counts({2, 2, 1}) : Counts());
    EXPECT_NEAR(task.weight(), -3 * kRate, 1e-6);
  }
}

// A rank that finds no checkpoint, because it does not see the folder of rank 0.
class LostRank : public OneOfTwins {
 public:
  LostRank() : OneOfTwins(1, 2) {}
  void broadcast(const at::Tensor& values, int from) override {
    OneOfTwins::broadcast(values, from);
    values.fill_(2);  // the step of rank 0
  }
};

TEST_F(TrainerTest, RanksThatBeginAtDifferentStepsAreRefused) {
  LostRank ranks;
  ScriptedTask task({.example = unit_gradient});
  EXPECT_THAT(
      message_of<std::invalid_argument>([&] { train(task, plan_of(3), /*resume=*/true, ranks); }),
      testing::HasSubstr("[training] rank 1: wanted the checkpoint of step 2, which rank 0 "
                         "has, got step 0"));
  EXPECT_THAT(ranks.broadcasts(), ElementsAre(std::pair(0, std::int64_t{1})));
}

TEST_F(TrainerTest, TheModelIsInEvaluationModeOnlyWhileItIsEvaluated) {
  ScriptedTask task(Script{});
  TrainingPlan plan = plan_of(3);
  plan.training.evaluate_steps = 2;
  train(task, plan);
  EXPECT_THAT(task.training_modes(), ElementsAre(true, true, false, true, false));
}

TEST_F(TrainerTest, TheLastWeightsAreKeptIfThePlanSaysSo) {
  ScriptedTask task({.example = unit_gradient});
  TrainingPlan plan = plan_of(3);
  plan.training.evaluate_steps = 1;
  const auto kept = [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.checkpoints())) {
      if (entry.path().filename().string().starts_with("kept_")) {
        names.push_back(entry.path().filename().string());
      }
    }
    std::ranges::sort(names);
    return names;
  };
  train(task, plan);
  EXPECT_THAT(kept(), ElementsAre());
  plan.training.keep_weights = 2;
  train(task, plan);
  EXPECT_THAT(kept(),
              ElementsAre("kept_000000000002.safetensors", "kept_000000000003.safetensors"));
  {
    lab::task::TaskModel model = task.make_model();
    lab::loop::load_average(directory_, *model.module);
    EXPECT_NEAR(model.module->parameters().at(0).item<double>(), -2.5 * kRate, 1e-6);
  }
  // A file of a later step, which a killed run has left, takes no place.
  const std::string later = "kept_000000000009.safetensors";
  std::filesystem::copy_file(directory_.checkpoints() / "kept_000000000003.safetensors",
                             directory_.checkpoints() / later);
  train(task, plan);
  EXPECT_THAT(kept(),
              ElementsAre("kept_000000000002.safetensors", "kept_000000000003.safetensors", later));
}

TEST_F(TrainerTest, SecondsAddUpOverResumptions) {
  const TrainingPlan plan = plan_of(4);
  ScriptedTask first({.example = unit_gradient,
                      .forward = [](std::int64_t pass) { return interrupt_in_pass(pass, 1); }});
  train(first, plan);
  // As if the first part had taken a day.
  const std::filesystem::path path = directory_.checkpoint(lab::loop::kLastCheckpoint);
  lab::task::TaskModel model = lab::loop::make_training_model(first, plan);
  sing::torch::Optimizer optimizer(lab::loop::trained_parameters(*model.module), plan.optimizer);
  TrainingState state = lab::loop::load_checkpoint(path, *model.module, optimizer);
  state.seconds = 86400;
  lab::loop::save_checkpoint(path, *model.module, optimizer.save_bytes(), state);

  ScriptedTask second({.example = unit_gradient});
  const EndRecord end = train(second, plan, /*resume=*/true);
  EXPECT_GE(end.seconds, 86400);
  EXPECT_LT(end.seconds, 2 * 86400);
}

TEST_F(TrainerTest, CheckpointsComeAtTheirInterval) {
  std::vector<bool> present;
  const std::filesystem::path path = directory_.checkpoint(lab::loop::kLastCheckpoint);
  ScriptedTask task({.example = unit_gradient, .forward = [&](std::int64_t /*pass*/) {
                       present.push_back(std::filesystem::remove(path));
                       return 1;
                     }});
  TrainingPlan plan = plan_of(6);
  plan.resources.checkpoint_steps = 2;
  train(task, plan);
  EXPECT_THAT(present, ElementsAre(false, false, true, false, true, false));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(TrainerTest, AnEvaluationIsFollowedByACheckpointIfTheLastOneIsOldEnough) {
  const std::filesystem::path path = directory_.checkpoint(lab::loop::kLastCheckpoint);
  for (const double seconds : {0.0, 1e9}) {
    std::vector<bool> present;
    ScriptedTask task({.example = unit_gradient, .forward = [&](std::int64_t /*pass*/) {
                         present.push_back(std::filesystem::remove(path));
                         return 1;
                       }});
    TrainingPlan plan = plan_of(5);
    plan.training.evaluate_steps = 2;
    plan.resources.checkpoint_seconds = seconds;
    train(task, plan);
    const bool is_due = seconds == 0;
    EXPECT_THAT(present, ElementsAre(false, false, is_due, false, is_due));
    EXPECT_TRUE(std::filesystem::remove(path));
  }
}

TEST_F(TrainerTest, GradientNormsComeAtTheirInterval) {
  ScriptedTask task({.example = [](std::int64_t number) {
    return ScriptedExample{.gradient = static_cast<double>(number / 4 + 1)};
  }});
  TrainingPlan plan = plan_of(5);
  plan.training.norm_steps = 2;
  train(task, plan);
  const auto steps = record().steps;
  ASSERT_EQ(steps.size(), 5);
  for (std::size_t index = 0; index < steps.size(); ++index) {
    if (index % 2 == 0) {
      EXPECT_TRUE(steps[index].gradient_norms.empty()) << index;
    } else {
      ASSERT_EQ(steps[index].gradient_norms.size(), 1) << index;
      EXPECT_EQ(steps[index].gradient_norms[0].first, "weight");
      EXPECT_NEAR(steps[index].gradient_norms[0].second, static_cast<double>(index + 1), 1e-6);
    }
  }
}

TEST_F(TrainerTest, SkippedGradientsAreReportedAtTheEnd) {
  ScriptedTask task({.example = unit_gradient,
                     .forward = [](std::int64_t pass) { return pass == 1 ? INFINITY : 1.0; }});
  TrainingPlan plan = plan_of(3);
  plan.training.divergence_steps = 0;
  train(task, plan);
  EXPECT_THAT(out_.str(), testing::HasSubstr("1 tensors and 0 steps were skipped"));
}

TEST(CountSteps, RefusesABatchThatDoesNotFit) {
  ScriptedTask task(Script{});
  TrainingPlan plan = plan_of(1);
  plan.training.batch = 9;
  EXPECT_THROW(lab::loop::count_steps(plan, task), std::invalid_argument);
  plan.training.batch = 8;
  plan.training.accumulate = 3;
  EXPECT_THROW(lab::loop::count_steps(plan, task), std::invalid_argument);
  plan.training.accumulate = 2;
  plan.training.steps = 0;
  plan.training.epochs = 3;
  lab::loop::count_steps(plan, task);
  EXPECT_EQ(plan.total_steps, 3);
  EXPECT_EQ(plan.steps_per_epoch, 1);
}

}  // namespace
}  // namespace sing::test
