// Checks the task of translation: its loss, its batches, and trainings on the generated languages.
#include "lab/translation/translation_task.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "lab/loop/kept_weights.hpp"
#include "tests/lab/training/child_process.hpp"
#include "tests/lab/training/tiny_run.hpp"

namespace sing::lab::translation {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::unique_ptr<task::Task> prepared_task(const test::Words& words,
                                          const task::TaskSetting& setting = {}) {
  std::unique_ptr<task::Task> task = make_task();
  CLI::App flags;
  task->add_flags(flags);
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  flags.parse(reversed);
  task->prepare(setting);
  return task;
}

const test::Words kStandIn = {
    "--stand-in", "--stand-in-train", "300", "--stand-in-test", "40", "--layers", "1", "--width",
    "16",         "--feed-forward",   "32",  "--heads",         "2"};

// Two sentences, of 2 pieces and of 1 and padding; vocabulary 5; smoothing 0.1. fairseq 0.8: (1 −
// ε) · nll + ε / V · Σ −log p, summed over the three pieces that are no padding and divided by 3.
TEST(TranslationTask, TheLossIsFairseqsLabelSmoothing) {
  const auto task = prepared_task(kStandIn);
  at::manual_seed(3);
  const at::Tensor logits = at::randn({2, 2, 5});
  const at::Tensor targets = at::tensor({4, 2, 3, 1}, at::kLong).view({2, 2});
  const at::Tensor log_p = at::log_softmax(logits.to(at::kDouble), -1);
  double expected = 0;
  for (const auto& [row, place, piece] : {std::tuple{0, 0, 4}, {0, 1, 2}, {1, 0, 3}}) {
    expected += -0.9 * log_p[row][place][piece].item<double>() -
                0.1 / 5 * log_p[row][place].sum().item<double>();
  }
  const double loss = task->loss(logits, {targets, targets, targets}).item<double>();
  constexpr double kFloatRounding = 1e-6;  // float32 logarithms of size 1
  EXPECT_NEAR(loss, expected / 3, kFloatRounding);
}

TEST(TranslationTask, InputsAreTheTargetsOnePlaceLater) {
  const auto task = prepared_task(kStandIn);
  ASSERT_GT(task->batch_count(task::Split::kTraining, 128), 10);
  const task::Batch made =
      task->make_batch({.split = task::Split::kTraining, .index = 3, .size = 128});
  const task::Batch batch = task->to_device(made);
  ASSERT_EQ(batch.size(), 3U);
  const std::int64_t length = batch[2].size(1);
  EXPECT_TRUE(batch[1].slice(1, 1).equal(batch[2].slice(1, 0, length - 1)));
  EXPECT_TRUE((batch[1].select(1, 0) == 2).all().item<bool>());  // </s>
  EXPECT_LE(batch[0].numel(), 128);
  EXPECT_LE(batch[2].numel(), 128);
  EXPECT_EQ(task->weight(made).item<std::int64_t>(), task->unit_count(made));
}

// Two orders may have the same batch in one place, but not in ten.
TEST(TranslationTask, BatchesDependOnSeedEpochAndNumberAlone) {
  const auto batches_of = [](std::uint64_t seed, std::int64_t epoch) {
    const auto task = prepared_task(kStandIn, {.seed = seed});
    task->make_batch({.split = task::Split::kTraining, .epoch = 5, .index = 0, .size = 128});
    std::vector<at::Tensor> batches;
    for (std::int64_t index = 0; index < 10; ++index) {
      batches.push_back(task->make_batch(
          {.split = task::Split::kTraining, .epoch = epoch, .index = index, .size = 128})[0]);
    }
    return batches;
  };
  const auto same = [](const std::vector<at::Tensor>& left, const std::vector<at::Tensor>& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const at::Tensor& a, const at::Tensor& b) { return a.equal(b); });
  };
  EXPECT_TRUE(same(batches_of(1, 0), batches_of(1, 0)));
  EXPECT_FALSE(same(batches_of(1, 0), batches_of(1, 1)));
  EXPECT_FALSE(same(batches_of(1, 0), batches_of(2, 0)));
}

TEST(TranslationTask, SharedEmbeddingsNeedOneVocabulary) {
  test::Words words = kStandIn;
  words.push_back("--share-embeddings");
  EXPECT_THAT(test::message_of<std::invalid_argument>([&] { prepared_task(words); }),
              HasSubstr("[translation] wanted share_embeddings only with one vocabulary"));
}

test::Words tiny_translation(const fs::path& out, const test::Words& more) {
  test::Words words = {"train", "translation", "--out", out.string()};
  words.insert(words.end(), kStandIn.begin(), kStandIn.end());
  for (const char* word : {"--optimizer", "adamw", "--batch", "128", "--threads", "1", "--device",
                           "cpu", "--evaluation-sentences", "10"}) {
    words.emplace_back(word);
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const test::Words kRun = {"--steps",     "60", "--evaluate-steps",   "10", "--keep-weights", "2",
                          "--log-steps", "5",  "--checkpoint-steps", "7"};

// Dropout is on, so that the state of torch's generator has to be resumed too.
TEST(TranslationRun, KilledTheRunEndsInTheSameBits) {
  const test::TemporaryFolder folder;
  const test::Outcome whole = test::run_sing(tiny_translation(folder / "whole", kRun));
  ASSERT_EQ(whole.code, 0) << whole.error;
  for (int kill = 0; kill < 2; ++kill) {
    test::Words words = tiny_translation(folder / "killed", kRun);
    words.emplace_back("--resume");
    test::ChildProcess child(SING_PROGRAM, words);
    ASSERT_TRUE(test::wait_for_evaluations(child, 1 + kill));
    child.send(SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(child.wait()));
  }
  test::Words words = tiny_translation(folder / "killed", kRun);
  words.emplace_back("--resume");
  const test::Outcome end = test::run_sing(words);
  ASSERT_EQ(end.code, 0) << end.error;
  EXPECT_THAT(end.out, HasSubstr("resuming from step "));
  EXPECT_EQ(test::last_tensors_of(folder / "killed"), test::last_tensors_of(folder / "whole"));
  EXPECT_EQ(test::timeless_metrics_of(folder / "killed"),
            test::timeless_metrics_of(folder / "whole"));
  for (const char* kept : {"kept_000000000050.safetensors", "kept_000000000060.safetensors"}) {
    EXPECT_EQ(test::tensors_of(folder / "killed" / "checkpoints" / kept),
              test::tensors_of(folder / "whole" / "checkpoints" / kept));
  }
  EXPECT_FALSE(fs::exists(folder / "whole" / "checkpoints" / "kept_000000000040.safetensors"));
}

TEST(TranslationRun, EvalTranslatesTheWholeTestSetWithTheAverageOfTheLastWeights) {
  const test::TemporaryFolder folder;
  const fs::path run = folder / "run";
  ASSERT_EQ(test::run_sing(tiny_translation(run, kRun)).code, 0);
  const test::Outcome average = test::run_sing({"eval", run, "--checkpoint", "average", "--device",
                                                "cpu", "--picture", folder / "sample.txt"});
  ASSERT_EQ(average.code, 0) << average.error;
  EXPECT_THAT(average.out, HasSubstr("40 test examples · BLEU"));
  EXPECT_THAT(average.out, HasSubstr("fairseq's tokenized BLEU-4"));
  EXPECT_THAT(average.out, HasSubstr("generated pair of languages"));
  EXPECT_THAT(test::read_whole(folder / "sample.txt"), HasSubstr("40 of 40 sentences, beam 5"));
}

TEST(KeptWeights, TheAverageIsTheMeanOfEachTensor) {
  const test::TemporaryFolder folder;
  const run::RunDirectory directory(folder.path());
  fs::create_directories(directory.checkpoints());
  ::torch::nn::Linear linear(2, 1);
  const at::NoGradGuard no_gradient;
  for (const auto& [step, value] : {std::pair{1, 100.0}, {5, 1.0}, {12, 2.5}}) {
    linear->weight.fill_(value);
    linear->bias.fill_(-value);
    loop::keep_weights(directory, *linear, step, 2);
  }
  loop::load_average(directory, *linear);
  EXPECT_EQ(linear->weight[0][1].item<float>(), 1.75F);
  EXPECT_EQ(linear->bias[0].item<float>(), -1.75F);
  EXPECT_THAT(test::message_of<std::invalid_argument>(
                  [&] { loop::load_average(run::RunDirectory(folder / "none"), *linear); }),
              HasSubstr("(sing train --keep-weights), got none"));
}

}  // namespace
}  // namespace sing::lab::translation
