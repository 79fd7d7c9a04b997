// Checks what flags make of a plan, and what they tell the task.
#include "lab/loop/training_setup.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "sing/base/message.hpp"
#include "tests/lab/loop/scripted_task.hpp"
#include "tests/support/message_of.hpp"

namespace sing::test {
namespace {

using lab::loop::TrainingPlan;
using lab::loop::TrainingSetup;

lab::task::TaskSetting prepared;  // what the task was told last

class NotingTask : public ScriptedTask {
 public:
  NotingTask() : ScriptedTask({.training_examples = 64}) {}
  void prepare(const lab::task::TaskSetting& setting) override { prepared = setting; }
};

TrainingPlan plan_of(std::vector<std::string> words, bool complete = false) {
  const lab::task::TaskEntry entry = {"noting", "", []() -> std::unique_ptr<lab::task::Task> {
                                        return std::make_unique<NotingTask>();
                                      }};
  TrainingSetup setup(entry);
  setup.complete_evaluation = complete;
  CLI::App command;
  setup.add_flags(command);
  words.insert(words.end(), {"--device", "cpu", "--batch", "8"});
  command.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  return setup.make_plan();
}

TEST(TrainingSetup, TellsTheTaskItsSetting) {
  plan_of({});
  EXPECT_EQ(prepared.seed, 0U);
  EXPECT_EQ(prepared.device, at::Device(at::kCPU));
  EXPECT_EQ(prepared.data_threads, 1);
  EXPECT_EQ(prepared.evaluate_on, lab::data::EvaluationSet::kTest);
  EXPECT_FALSE(prepared.bf16);
  EXPECT_FALSE(prepared.complete);
  plan_of(
      {"--seed", "5", "--data-threads", "3", "--evaluate-on", "validation", "--precision", "bf16"},
      /*complete=*/true);
  EXPECT_EQ(prepared.seed, 5U);
  EXPECT_EQ(prepared.data_threads, 3);
  EXPECT_EQ(prepared.evaluate_on, lab::data::EvaluationSet::kValidation);
  EXPECT_TRUE(prepared.bf16);
  EXPECT_TRUE(prepared.complete);
}

TEST(TrainingSetup, AScheduleIsAsLongAsTheTrainingUnlessItsOwnFlagsSayOtherwise) {
  const auto schedule_of = [](const std::vector<std::string>& words) {
    return std::get<WarmupCosine>(plan_of(words).schedule.kind);
  };
  // 64 / 8 steps per epoch; a twentieth of the steps is the warm-up.
  EXPECT_EQ(schedule_of({"--epochs", "10"}).total_steps, 80);
  EXPECT_EQ(schedule_of({"--epochs", "10"}).warmup_steps, 4);
  EXPECT_EQ(schedule_of({"--steps", "60"}).total_steps, 60);
  EXPECT_EQ(schedule_of({"--steps", "60", "--warmup-fraction", "0.5"}).warmup_steps, 30);
  const WarmupCosine given =
      schedule_of({"--steps", "60", "--warmup-steps", "7", "--total-steps", "90"});
  EXPECT_EQ(given.warmup_steps, 7);
  EXPECT_EQ(given.total_steps, 90);
}

TEST(ParseDevice, NamesADeviceOrWhatIsWrong) {
  const auto refusal = [](const char* text) {
    return message_of<std::invalid_argument>([&] { lab::loop::parse_device(text); });
  };
  EXPECT_EQ(lab::loop::parse_device("cpu"), at::Device(at::kCPU));
  for (const char* text : {"gpu", "cpu:0", "cuda:", "cuda:-1", "cuda:x", "cuda:1.5", ""}) {
    EXPECT_EQ(refusal(text), fmt::format("[--device] wanted auto, cpu, cuda or cuda:NUMBER, got "
                                         "'{}'",
                                         text));
  }
  for (const char* text : {"cuda", "cuda:0"}) {
    if (::torch::cuda::is_available() && is_cuda_available()) {
      EXPECT_EQ(lab::loop::parse_device(text), at::Device(at::kCUDA, 0));
    } else {
      EXPECT_EQ(
          refusal(text),
          fmt::format("[--device] wanted '{}', but this program or machine has no CUDA", text));
    }
  }
}

}  // namespace
}  // namespace sing::test
