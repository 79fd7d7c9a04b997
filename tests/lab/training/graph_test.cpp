// Checks training on a GPU: replayed graphs give the bits of the steps they were recorded from,
// weight copies equal what the optimizer wrote, and a killed run resumes to the same weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/torch.h>

#include <csignal>

#include "tests/lab/training/child_process.hpp"
#include "tests/lab/training/tiny_run.hpp"

namespace sing::test {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;

class GpuTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!::torch::cuda::is_available()) {
      GTEST_SKIP() << "no CUDA device";
    }
  }

  // The model is wide enough for the fused layers: 128 features, 64 tokens, heads of 64.
  Words run_of(const std::string& name, const Words& more) const {
    const Words usual = {"--device",     "cuda", "--width",     "128", "--heads",     "2",
                         "--image-size", "32",   "--steps",     "40",  "--precision", "bf16",
                         "--max-side",   "20",   "--log-steps", "10"};
    return tiny_run(folder_ / name, with_usual(usual, more));
  }

  void expect_success(const std::string& name, const Words& more) const {
    const Outcome outcome = run_sing(run_of(name, more));
    ASSERT_EQ(outcome.code, 0) << outcome.error;
  }

  double final_loss(const std::string& name) const {
    return metrics_of(folder_ / name).back()["final_loss"].get<double>();
  }

  TemporaryFolder folder_;
};

TEST_F(GpuTraining, AReplayedGraphGivesTheBitsOfItsSteps) {
  for (const std::string fused : {"--fused=true", "--fused=false"}) {
    for (const std::string parts : {"1", "2"}) {
      const std::string name = fused + parts;
      expect_success("graph" + name, {fused, "--accumulate", parts, "--graph=true"});
      expect_success("steps" + name, {fused, "--accumulate", parts, "--graph=false"});
      EXPECT_EQ(last_tensors_of(folder_ / ("graph" + name)),
                last_tensors_of(folder_ / ("steps" + name)))
          << name;
    }
  }
}

// The recorded kernels also write the running moments of batch normalization.
TEST_F(GpuTraining, AReplayedResidualNetworkGivesTheBitsOfItsSteps) {
  const auto last_tensors = [&](const std::string& name, const Words& more) {
    Words words = {"train", "cifar100",    "--out", folder_ / name,   "--stand-in", "--width",
                   "16",    "--batch",     "32",    "--device",       "cuda",       "--steps",
                   "30",    "--precision", "bf16",  "--deterministic"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_sing(words);
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return last_tensors_of(folder_ / name);
  };
  const auto steps = last_tensors("steps", {"--graph=false"});
  EXPECT_EQ(last_tensors("graph", {}), steps);
  EXPECT_NE(last_tensors("plain", {"--fused=false"}), steps);
}

// The batches have several shapes, and dropout draws other numbers in every step. Determinism asks
// attention for sums in one order.
TEST_F(GpuTraining, ReplayedTextModelsGiveTheBitsOfTheirSteps) {
  const std::pair<const char*, Words> tasks[] = {
      {"translation",
       {"--layers", "2", "--width", "128", "--feed-forward", "256", "--heads", "4", "--dropout",
        "0.3", "--attention-dropout", "0.1", "--activation-dropout", "0.1", "--batch", "1024",
        "--evaluation-sentences", "20"}},
      {"squad", {"--model", "minilm-l6", "--length", "96", "--batch", "16"}},
      {"lm", {"--size", "tiny", "--context", "64", "--batch", "16"}}};
  for (const auto& [task, options] : tasks) {
    SCOPED_TRACE(task);
    const auto last_tensors = [&, task = task, &options = options](const std::string& name,
                                                                   const Words& more) {
      Words words = {"train",       task,
                     "--out",       folder_ / (task + name),
                     "--stand-in",  "--device",
                     "cuda",        "--precision",
                     "bf16",        "--deterministic",
                     "--steps",     "200",
                     "--optimizer", "adamw",
                     "--lr",        "1e-4"};
      words.insert(words.end(), options.begin(), options.end());
      words.insert(words.end(), more.begin(), more.end());
      const Outcome outcome = run_sing(words);
      EXPECT_EQ(outcome.code, 0) << outcome.error;
      return last_tensors_of(folder_ / (task + name));
    };
    const auto steps = last_tensors("steps", {"--graph=false"});
    EXPECT_EQ(last_tensors("graph", {}), steps);
    const auto plain = last_tensors("plain steps", {"--fused=false", "--graph=false"});
    EXPECT_NE(plain, steps);
    EXPECT_EQ(last_tensors("plain graph", {"--fused=false"}), plain);
  }
}

// The rate is so small that the two paths, which round differently, do not diverge: the loss falls
// by more than half, so weights that never reached the copies would be detected.
TEST_F(GpuTraining, FusedLayersTrainAsPlainOnes) {
  const Words more = {"--optimizer", "adamw", "--lr", "1e-3", "--steps", "60"};
  Words plain = more;
  plain.push_back("--fused=false");
  expect_success("fused", more);
  expect_success("plain", plain);
  EXPECT_NE(last_tensors_of(folder_ / "fused"), last_tensors_of(folder_ / "plain"));
  EXPECT_LT(final_loss("plain"), 0.5 * metrics_of(folder_ / "plain").front()["loss"].get<double>());
  EXPECT_THAT(final_loss("fused"), DoubleNear(final_loss("plain"), 0.05 * final_loss("plain")));
}

TEST_F(GpuTraining, AKilledRunResumesToTheSameBits) {
  const Words more = {"--steps", "400", "--evaluate-steps", "20", "--checkpoint-steps", "30"};
  expect_success("whole", more);
  Words resumed = run_of("killed", more);
  resumed.push_back("--resume");
  {
    ChildProcess child(SING_PROGRAM, resumed);
    ASSERT_TRUE(wait_for_evaluations(child, 4));
    child.send(SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(child.wait()));
  }
  const Outcome end = run_sing(resumed);
  ASSERT_EQ(end.code, 0) << end.error;
  EXPECT_THAT(end.out, HasSubstr("resuming from step "));
  EXPECT_EQ(last_tensors_of(folder_ / "killed"), last_tensors_of(folder_ / "whole"));
}

}  // namespace
}  // namespace sing::test
