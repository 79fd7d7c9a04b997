// Tests how the training loop handles a task that makes its own batches and has scores of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "lab/loop/checkpoint.hpp"
#include "lab/loop/trainer.hpp"
#include "lab/optimizer/named_optimizer.hpp"
#include "lab/run/run_reader.hpp"
#include "sing/io/safetensors.hpp"
#include "tests/lab/loop/scripted_task.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::test {
namespace {

using lab::run::EndRecord;
using lab::task::Split;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr double kRate = 0.125;

// Its batches have the given numbers of examples, each with its number for a gradient, and count by
// these numbers. It has no accuracy; its score is the number of evaluations so far.
class TokenTask final : public ScriptedTask {
 public:
  TokenTask(std::vector<std::int64_t> training, std::vector<std::int64_t> test)
      : ScriptedTask(Script{}), training_(std::move(training)), test_(std::move(test)) {}

  using ScriptedTask::weight;  // that of the model

  std::vector<double> losses = {};  // of each evaluation; empty: as the batches say

  std::int64_t batch_count(Split split, std::int64_t /*size*/) const override {
    return static_cast<std::int64_t>(of(split).size());
  }
  std::string unit() const override { return "tokens"; }
  std::int64_t unit_count(const lab::task::Batch& made) const override {
    return 10 * made.front().size(0);
  }
  lab::task::Batch make_batch(const lab::task::BatchRequest& request) override {
    ScriptedTask::make_batch({request.split, request.epoch, 0, 0, request.index, request.size});
    const std::int64_t count = of(request.split).at(static_cast<std::size_t>(request.index));
    const auto value = static_cast<double>(count);
    return {at::full({count}, value, at::kDouble), at::full({count}, value, at::kDouble),
            at::zeros({count}, at::kDouble)};
  }
  at::Tensor loss(const at::Tensor& prediction, const lab::task::Batch& batch) const override {
    if (!at::GradMode::is_enabled() && !losses.empty()) {
      return at::scalar_tensor(losses.at(evaluations_ - 1), at::kDouble);
    }
    return ScriptedTask::loss(prediction, batch);
  }
  at::Tensor weight(const lab::task::Batch& made) const override {
    return at::scalar_tensor(made.front().size(0), at::kLong);
  }
  std::string score_name() const override { return "BLEU"; }

  std::unique_ptr<lab::task::Evaluator> make_evaluator(
      const lab::task::TaskModel& /*model*/) const override {
    struct Count final : lab::task::Evaluator {
      void add(const at::Tensor& /*prediction*/, const lab::task::Batch& batch) override {
        examples += batch.front().size(0);
      }
      lab::task::Scores scores(double loss) override {
        lab::task::Scores scores;
        scores.others = {{"examples", static_cast<double>(examples)}, {"twice the loss", 2 * loss}};
        scores.sample = "a <b> c";
        return scores;
      }
      std::int64_t examples = 0;
    };
    ++evaluations_;
    return std::make_unique<Count>();
  }

 private:
  const std::vector<std::int64_t>& of(Split split) const {
    return split == Split::kTraining ? training_ : test_;
  }

  std::vector<std::int64_t> training_;
  std::vector<std::int64_t> test_;
  mutable std::size_t evaluations_ = 0;
};

lab::loop::TrainingPlan plan_of(std::int64_t steps) {
  lab::loop::TrainingPlan plan;
  plan.training.steps = steps;
  plan.training.batch = 4;
  plan.training.log_steps = 1;
  plan.optimizer = lab::optimizer::make_optimizer_options("sgd");
  plan.optimizer.rule = Sgd{.learning_rate = kRate};
  return plan;
}

class TaskScores : public testing::Test {
 protected:
  TaskScores() {
    std::filesystem::create_directories(directory_.checkpoints());
    std::filesystem::create_directories(directory_.pictures());
  }

  EndRecord train(lab::task::Task& task, lab::loop::TrainingPlan plan, bool resume = false) {
    lab::loop::count_steps(plan, task);
    lab::command::ProgressBar progress(out_, 0);
    const lab::command::StopSignal stop;
    lab::loop::Trainer trainer(task, plan, directory_, progress, resume);
    return trainer.run(stop, "");
  }

  lab::run::RunRecord record() const {
    std::ofstream(directory_.config()) << "{}";
    return lab::run::read_run(directory_.path());
  }

  TemporaryFolder folder_;
  lab::run::RunDirectory directory_{folder_ / "run"};
  std::ostringstream out_;
};

TEST_F(TaskScores, ATaskMayMakeItsOwnBatches) {
  TokenTask task({1, 3, 2}, {1, 3});
  train(task, plan_of(4));
  std::vector<std::pair<std::int64_t, std::int64_t>> asked;
  for (const auto& request : task.requests(Split::kTraining)) {
    asked.emplace_back(request.epoch, request.index);
    EXPECT_EQ(request.size, 4);
  }
  EXPECT_THAT(asked, ElementsAre(Pair(0, 0), Pair(0, 1), Pair(0, 2), Pair(1, 0)));
  EXPECT_EQ(record().steps[2].epoch, 1);
}

TEST_F(TaskScores, AStepOfUnequalPartsIsTheMeanByTheirWeights) {
  TokenTask task({1, 3}, {1});
  lab::loop::TrainingPlan plan = plan_of(1);
  plan.training.accumulate = 2;
  train(task, plan);
  // The gradients 1 and 3 count 1 and 3 times.
  EXPECT_NEAR(task.weight(), -kRate * (1.0 * 1 + 3.0 * 3) / 4, 1e-6);
  EXPECT_NEAR(record().steps[0].loss, 2.5, 1e-6);
  EXPECT_EQ(record().steps[0].unit, "tokens");
  EXPECT_GT(record().steps[0].units_per_second, 0);
  EXPECT_THAT(out_.str(), HasSubstr(" tokens/s"));
}

TEST_F(TaskScores, TheEvaluationLossIsTheMeanByTheWeights) {
  TokenTask task({1}, {1, 3});
  lab::loop::TrainingPlan plan = plan_of(1);
  const EndRecord end = train(task, plan);
  // The weight is −kRate after one step with the gradient 1. The losses are 1 − kRate and 3 − 3
  // kRate.
  EXPECT_NEAR(end.final_loss, (1 * 1 + 3 * 3) / 4.0 * (1 - kRate), 1e-6);
}

TEST_F(TaskScores, ScoresAndSampleAreRecorded) {
  TokenTask task({1}, {1, 3});
  task.losses = {0.5};
  const EndRecord end = train(task, plan_of(1));
  EXPECT_TRUE(std::isnan(end.final_accuracy));
  EXPECT_EQ(end.score_name, "BLEU");
  EXPECT_THAT(end.others, ElementsAre(Pair("examples", 4), Pair("twice the loss", 1)));
  const lab::run::RunRecord run = record();
  ASSERT_EQ(run.evaluations.size(), 1U);
  EXPECT_EQ(run.evaluations[0].others, end.others);
  EXPECT_EQ(run.evaluations[0].score_name, "BLEU");
  EXPECT_EQ(run.end->others, end.others);
  ASSERT_EQ(run.pictures.size(), 1U);
  EXPECT_EQ(read_whole(run.pictures[0]), "a <b> c");
  EXPECT_THAT(out_.str(), HasSubstr("loss 5.000e-01 · examples 4 · twice the loss 1\n"));
}

TEST_F(TaskScores, WithoutAnAccuracyTheLowestLossIsTheBest) {
  TokenTask task({1}, {1});
  task.losses = {4, 2, 2, 3};
  lab::loop::TrainingPlan plan = plan_of(4);
  plan.training.evaluate_steps = 1;
  const EndRecord end = train(task, plan);
  EXPECT_TRUE(std::isnan(end.best_accuracy));
  EXPECT_EQ(end.final_loss, 3);
  const SafetensorsReader best(directory_.checkpoint(lab::loop::kBestCheckpoint));
  EXPECT_EQ(best.metadata().at("step"), "2");
  EXPECT_EQ(best.metadata().at("loss"), "2");
}

// A run that is killed after its last checkpoint and before its end record is written has no
// evaluation left to make.
TEST_F(TaskScores, ScoresSurviveAResumption) {
  TokenTask task({1}, {1, 3});
  const EndRecord end = train(task, plan_of(2));
  TokenTask again({1}, {1, 3});
  const EndRecord resumed = train(again, plan_of(2), /*resume=*/true);
  EXPECT_TRUE(again.requests(Split::kTest).empty());
  EXPECT_EQ(resumed.others, end.others);
  EXPECT_EQ(resumed.final_loss, end.final_loss);
}

TEST_F(TaskScores, ATrainingSetThatDoesNotFillAStepIsRefused) {
  TokenTask task({1}, {1});
  lab::loop::TrainingPlan plan = plan_of(1);
  plan.training.accumulate = 2;
  EXPECT_THROW(lab::loop::count_steps(plan, task), std::invalid_argument);
}

}  // namespace
}  // namespace sing::test
