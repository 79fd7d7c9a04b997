// Checks language modeling: what is trained on and tested, the model, bits per byte, whole runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "lab/lm/corpus.hpp"
#include "lab/lm/lm_task.hpp"
#include "lab/lm/text_writer.hpp"
#include "lab/loop/evaluation.hpp"
#include "lab/model/gpt.hpp"
#include "lab/text/stand_in_text.hpp"
#include "tests/lab/training/child_process.hpp"
#include "tests/lab/training/tiny_run.hpp"
#include "tests/support/message_of.hpp"

namespace sing::lab::lm {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::run_sing;
using test::TemporaryFolder;
using test::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Corpus, TheEndIsHeldOut) {
  std::string text;
  for (int number = 0; number < 100; ++number) {
    text += static_cast<char>(number);
  }
  const Corpus tested = make_corpus(text, "bytes", 0.1, data::EvaluationSet::kTest);
  EXPECT_EQ(tested.vocabulary->decode(tested.training), text.substr(0, 80));
  EXPECT_EQ(tested.vocabulary->decode(tested.evaluation), text.substr(90));
  const Corpus validated = make_corpus(text, "bytes", 0.1, data::EvaluationSet::kValidation);
  EXPECT_EQ(validated.training, tested.training);
  EXPECT_EQ(validated.vocabulary->decode(validated.evaluation), text.substr(80, 10));
}

TEST(Corpus, ACharacterIsNotDivided) {
  std::string text;
  for (int number = 0; number < 7; ++number) {
    text += "日本語";  // 9 bytes
  }
  const Corpus corpus = make_corpus(text, "characters", 0.2, data::EvaluationSet::kTest);
  EXPECT_EQ(corpus.vocabulary->size(), 3);
  EXPECT_THAT(message_of<std::invalid_argument>(
                  [&] { make_corpus(text, "words", 0.2, data::EvaluationSet::kTest); }),
              HasSubstr("[--tokenizer] wanted bytes, characters or gpt2:FOLDER"));
}

TEST(EvaluationWindows, CoverTheTextOrAreAtEqualDistances) {
  Corpus corpus{
      .vocabulary = make_corpus("ab", "bytes", 0.1, data::EvaluationSet::kTest).vocabulary,
      .training = {},
      .evaluation = std::vector<text::Token>(43, 'a')};
  const EvaluationWindows all(corpus, 4, 0);
  EXPECT_EQ(all.count(), 10);  // the first token is not predicted, and the last two fill no window
  EXPECT_EQ(all.first_token(9), 36);
  EXPECT_EQ(all.bytes(), 40);
  const EvaluationWindows some(corpus, 4, 5);
  EXPECT_EQ(some.count(), 5);
  EXPECT_THAT((std::vector{some.first_token(0), some.first_token(1), some.first_token(4)}),
              ElementsAre(0, 8, 32));
  EXPECT_EQ(some.predicted_tokens(), 20);
}

// Prepares the task with these flags.
std::unique_ptr<task::Task> make_task_with(const Words& flags, const task::TaskSetting& setting) {
  std::unique_ptr<task::Task> task = make_task();
  CLI::App app;
  task->add_flags(app);
  std::vector<std::string> reversed(flags.rbegin(), flags.rend());
  app.parse(reversed);
  task->prepare(setting);
  return task;
}

TEST(LmTask, WindowsAreOfTheTrainingTextAndTargetsAreTheNextTokens) {
  const TemporaryFolder folder;
  const std::string text = text::make_stand_in_text(1, 3000);
  test::write_whole(folder / "text", text);
  const Words flags = {"--data", folder / "text", "--context",  "16",
                       "--size", "micro",         "--held-out", "0.0625"};
  const auto task = make_task_with(flags, {.seed = 5});
  const std::string training = text.substr(0, text.size() - 2 * (text.size() / 16));
  EXPECT_EQ(task->example_count(task::Split::kTraining), (std::ssize(training) - 1) / 16);
  const auto batch_of = [&](task::Task& of, task::Split split, std::int64_t epoch) {
    return of.to_device(of.make_batch({split, epoch, 3, 8}));
  };
  const task::Batch batch = batch_of(*task, task::Split::kTraining, 0);
  ASSERT_EQ(batch[0].sizes(), at::IntArrayRef({8, 16}));
  EXPECT_TRUE(at::equal(batch[0].slice(1, 1), batch[1].slice(1, 0, 15)));
  for (std::int64_t row = 0; row < 8; ++row) {
    std::string window;
    for (std::int64_t at = 0; at < 16; ++at) {
      window += static_cast<char>(batch[0][row][at].item<std::int64_t>());
    }
    EXPECT_THAT(training, HasSubstr(window));
  }
  const auto again = make_task_with(flags, {.seed = 5});
  const auto other = make_task_with(flags, {.seed = 6});
  EXPECT_TRUE(at::equal(batch_of(*again, task::Split::kTraining, 0)[0], batch[0]));
  EXPECT_FALSE(at::equal(batch_of(*other, task::Split::kTraining, 0)[0], batch[0]));
  EXPECT_FALSE(at::equal(batch_of(*task, task::Split::kTraining, 1)[0], batch[0]));
  EXPECT_TRUE(at::equal(batch_of(*other, task::Split::kTest, 0)[0],
                        batch_of(*task, task::Split::kTest, 0)[0]));
}

// A model that gives every token the same probability needs log2(256) bits for a byte.
TEST(LmTask, BitsPerByteOfUniformPredictionsAreEight) {
  for (const char* tokenizer : {"bytes", "characters"}) {
    const auto task =
        make_task_with({"--stand-in", "--stand-in-bytes", "20000", "--context", "32", "--size",
                        "micro", "--tokenizer", tokenizer, "--sample-tokens", "3"},
                       {});
    task::TaskModel model = task->make_model();
    std::int64_t vocabulary = 0;
    {
      const at::NoGradGuard no_gradient;
      at::Tensor embedding = model.module->named_parameters()["token_embed.weight"];
      embedding.zero_();
      vocabulary = embedding.size(0);
    }
    std::mutex mutex;
    const loop::Evaluation result = loop::evaluate(*task, model, {.batch = 7}, mutex);
    EXPECT_TRUE(std::isnan(result.accuracy));
    ASSERT_EQ(result.others.size(), 1U);
    EXPECT_EQ(result.others[0].first, "bits per byte");
    // float32 rounds a logarithm of about 5 to 5e-7.
    EXPECT_NEAR(result.others[0].second, std::log2(static_cast<double>(vocabulary)), 1e-5);
  }
}

std::shared_ptr<model::GptImpl> small_gpt(double dropout = 0) {
  ::torch::manual_seed(1);
  auto gpt = std::make_shared<model::GptImpl>(model::GptShape{
      .vocabulary = 50, .context = 12, .depth = 2, .width = 32, .heads = 2, .dropout = dropout});
  const at::NoGradGuard no_gradient;
  for (at::Tensor& parameter : gpt->parameters()) {
    parameter += 0.05 * at::randn_like(parameter);  // biases and norms take part too
  }
  return gpt;
}

TEST(Gpt, ATokenDoesNotSeeLaterOnes) {
  const auto gpt = small_gpt();
  const at::Tensor tokens = at::randint(50, {2, 12}, at::kLong);
  at::Tensor changed = tokens.clone();
  changed.select(1, 7).add_(1).remainder_(50);
  const at::Tensor difference = (gpt->forward(tokens) - gpt->forward(changed)).abs().amax({0, 2});
  EXPECT_EQ(difference.slice(0, 0, 7).max().item<float>(), 0);
  for (std::int64_t at = 7; at < 12; ++at) {
    EXPECT_GT(difference[at].item<float>(), 1e-6) << at;
  }
  // A shorter text gets the same logits. The products add their terms in another order: about 100
  // terms, each rounded to 6e-8.
  EXPECT_TRUE(at::allclose(gpt->forward(tokens.slice(1, 0, 5)), gpt->forward(tokens).slice(1, 0, 5),
                           1e-4, 1e-5));
}

TEST(Gpt, HasTheParametersOfGpt2) {
  const auto shape = model::shape_of({.size = model::GptSize::k124M, .context = 1024}, 50257);
  const auto gpt = std::make_shared<model::GptImpl>(shape);
  std::int64_t count = 0;
  for (const at::Tensor& parameter : gpt->parameters()) {
    count += parameter.numel();
  }
  EXPECT_EQ(count, 124'439'808);  // Hugging Face's gpt2
}

TEST(Gpt, HeadsHaveToDivideTheWidth) {
  EXPECT_THAT(message_of<std::invalid_argument>([] { model::shape_of({.heads = 7}, 256); }),
              HasSubstr("[gpt] wanted heads that divide the width of 384, got 7"));
}

TEST(Gpt, DropoutIsForTraining) {
  const auto gpt = small_gpt(0.5);
  const at::Tensor tokens = at::randint(50, {2, 12}, at::kLong);
  EXPECT_FALSE(at::equal(gpt->forward(tokens), gpt->forward(tokens)));
  gpt->eval();
  EXPECT_TRUE(at::equal(gpt->forward(tokens), gpt->forward(tokens)));
  EXPECT_FALSE(gpt->has_fused_forward());
}

// Both round to bf16, at different points. A missing bias or a swapped layer would change gradients
// by their own size.
TEST(Gpt, FusedLayersGiveTheGradientsOfThePlainOnes) {
  constexpr double kRounding = 0.03;  // as for the vision transformer
  const auto gpt = small_gpt();
  model::WeightCopies copies;
  for (const at::Tensor& parameter : gpt->copied_parameters()) {
    copies.add(parameter, parameter.detach().to(at::kBFloat16));
  }
  const at::Tensor tokens = at::randint(50, {4, 12}, at::kLong);
  const at::Tensor targets = at::randint(50, {48}, at::kLong);
  const auto gradients = [&](const at::Tensor& logits) {
    gpt->zero_grad();
    at::cross_entropy_loss(logits.flatten(0, 1).to(at::kFloat), targets).backward();
    std::vector<at::Tensor> list = {logits.detach().to(at::kFloat)};
    for (const at::Tensor& parameter : gpt->parameters()) {
      list.push_back(parameter.grad().clone());
    }
    return list;
  };
  const auto plain = gradients(gpt->forward(tokens));
  const auto fused = gradients(gpt->fused_forward(tokens, copies));
  for (std::size_t at = 0; at < plain.size(); ++at) {
    const double error = ((fused[at] - plain[at]).norm() / plain[at].norm()).item<double>();
    EXPECT_LE(error, kRounding) << at;
  }
}

TEST(TextWriter, DrawsWithTheProbabilitiesOfTheModel) {
  // After token t it gives t + 1 all probability, and sees no more than the context.
  const auto successor = [](const at::Tensor& tokens) {
    EXPECT_LE(tokens.size(1), 3);
    return at::one_hot((tokens + 1).remainder(5), 5).to(at::kFloat) * 1000;
  };
  EXPECT_THAT(write_tokens(successor, {3}, 6, 3, 0), ElementsAre(4, 0, 1, 2, 3, 4));
  const auto fair = [](const at::Tensor& tokens) { return at::zeros({1, tokens.size(1), 4}); };
  const std::vector<text::Token> drawn = write_tokens(fair, {0}, 400, 8, 7);
  EXPECT_EQ(write_tokens(fair, {0}, 400, 8, 7), drawn);
  EXPECT_NE(write_tokens(fair, {0}, 400, 8, 8), drawn);
  for (text::Token token = 0; token < 4; ++token) {
    // 100 ± 5 standard deviations of √(400 · 1/4 · 3/4) = 8.7.
    EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), token)), 100, 44);
  }
}

Words tiny_lm(const fs::path& out, const Words& more = {}) {
  const Words usual = {
      "--stand-in-bytes", "20000", "--size",         "micro", "--context",   "16",
      "--batch",          "8",     "--threads",      "1",     "--device",    "cpu",
      "--sample-tokens",  "20",    "--test-windows", "20",    "--optimizer", "adamw"};
  Words words = {"train", "lm", "--stand-in", "--out", out.string()};
  const Words flags = test::with_usual(usual, more);
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

TEST(LmRun, LearnsAndReportsTokensBitsAndSamples) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  const test::Outcome outcome = run_sing(tiny_lm(run, {"--steps", "60", "--evaluate-steps", "30"}));
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("STAND-IN DATA"));
  EXPECT_THAT(outcome.out, HasSubstr(" tokens/s"));
  const auto lines = test::metrics_of(run);
  const auto& end = lines.back();
  EXPECT_TRUE(end["final_accuracy"].is_null());
  const double bits = end["scores"]["bits per byte"].get<double>();
  // Bytes of which only about 40 occur, and not equally often: below log2(40) after a few steps.
  EXPECT_LT(bits, 5.3);
  EXPECT_NEAR(bits, end["final_loss"].get<double>() / std::log(2.0), 1e-9);
  EXPECT_TRUE(lines.front().contains("tokens_per_second"));
  EXPECT_THAT(test::read_whole(run / "pictures/step_00000060.txt"), HasSubstr("▌"));
  const test::Outcome evaluated = run_sing({"eval", run.string()});
  ASSERT_EQ(evaluated.code, 0) << evaluated.error;
  EXPECT_THAT(evaluated.out, HasSubstr("20 test examples · loss "));
  EXPECT_THAT(evaluated.out, HasSubstr(" · bits per byte "));
  const test::Outcome reported = run_sing({"report", run.string()});
  ASSERT_EQ(reported.code, 0) << reported.error;
  const std::string page = test::read_whole(run / "report.html");
  EXPECT_THAT(page, HasSubstr("<th>bits per byte</th>"));
  EXPECT_THAT(page, HasSubstr("▌"));
}

TEST(LmRun, KilledItEndsInTheSameBits) {
  const TemporaryFolder folder;
  const Words length = {"--steps",   "200", "--evaluate-steps", "4", "--checkpoint-steps", "7",
                        "--dropout", "0.1"};
  ASSERT_EQ(run_sing(tiny_lm(folder / "reference", length)).code, 0);
  const fs::path run = folder / "killed";
  Words resumed = tiny_lm(run, length);
  resumed.push_back("--resume");
  for (int kill = 0; kill < 3; ++kill) {
    test::ChildProcess child(SING_PROGRAM, resumed);
    ASSERT_TRUE(wait_for_evaluations(child, 3 + kill)) << "ended before kill " << kill;
    child.send(SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(child.wait()));
  }
  const test::Outcome end = run_sing(resumed);
  ASSERT_EQ(end.code, 0) << end.error;
  EXPECT_THAT(end.out, HasSubstr("resuming from step "));
  EXPECT_EQ(test::last_tensors_of(run), test::last_tensors_of(folder / "reference"));
  EXPECT_EQ(test::timeless_metrics_of(run), test::timeless_metrics_of(folder / "reference"));
}

TEST(LmRun, OtherTextIsRefusedWhenARunGoesOn) {
  const TemporaryFolder folder;
  const auto train = [&](const std::string& data, const std::string& out, const Words& more) {
    Words words = {
        "train",      "lm",    "--data",    folder / data, "--out",           folder / out,
        "--size",     "micro", "--context", "8",           "--batch",         "4",
        "--held-out", "0.1",   "--device",  "cpu",         "--sample-tokens", "0"};
    words.insert(words.end(), more.begin(), more.end());
    return run_sing(words);
  };
  const std::string text = text::make_stand_in_text(1, 2000);
  test::write_whole(folder / "text", text);
  const test::Outcome first = train("text", "run", {"--steps", "3"});
  ASSERT_EQ(first.code, 0) << first.error;
  test::write_whole(folder / "text", "x" + text.substr(1));
  const test::Outcome second = train("text", "run", {"--steps", "6", "--resume"});
  EXPECT_NE(second.code, 0);
  EXPECT_THAT(second.error, HasSubstr("wanted the data that the run"));
  test::write_whole(folder / "text", text.substr(0, 50));
  EXPECT_THAT(train("text", "other", {}).error,
              HasSubstr("tokens than the context of 8, got 5 from 50 bytes of text"));
  EXPECT_THAT(train("absent", "other", {}).error, HasSubstr("wanted a file or a folder of text"));
}

}  // namespace
}  // namespace sing::lab::lm
