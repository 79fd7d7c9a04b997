// Trains question answering and multiple choice through `sing train` on generated texts: they
// learn, resume exactly, start from weights in a folder, and say what is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <filesystem>

#include "lab/encoder/text_pairs.hpp"
#include "lab/model/text_encoder.hpp"
#include "tests/lab/training/child_process.hpp"
#include "tests/lab/training/tiny_run.hpp"

namespace sing::lab::encoder {
namespace {

namespace fs = std::filesystem;
using test::ChildProcess;
using test::metrics_of;
using test::Outcome;
using test::run_sing;
using test::TemporaryFolder;
using test::Words;
using ::testing::HasSubstr;
using ::testing::Not;

Words tiny_task(const std::string& task, const fs::path& out, const Words& more = {}) {
  const Words usual = {"--stand-in=true", "",      "--model",  "encoder-tiny", "--length",  "96",
                       "--batch",         "16",    "--device", "cpu",          "--threads", "1",
                       "--optimizer",     "adamw", "--lr",     "1e-3"};
  Words words = {"train", task, "--out", out.string()};
  for (const std::string& word : test::with_usual(usual, more)) {
    if (!word.empty()) {
      words.push_back(word);
    }
  }
  return words;
}

// Five standard deviations above the share `chance` of `count` independent guesses that are right:
// a model that guesses exceeds it once in three million times.
double above_chance(double chance, double count) {
  return chance + 5 * std::sqrt(chance * (1 - chance) / count);
}

TEST(Choice, LearnsFarAboveChance) {
  const TemporaryFolder folder;
  const Outcome outcome = run_sing({"train", "choice", "--config", SING_RECIPES "/choice_demo.toml",
                                    "--device", "cpu", "--out", folder / "run"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("STAND-IN DATA"));
  // One of four endings is right; 500 questions are the test.
  const nlohmann::json end = metrics_of(folder / "run").back();
  EXPECT_GT(end["final_accuracy"].get<double>(), above_chance(0.25, 500)) << outcome.out;
}

TEST(Squad, AnswersFarAboveChance) {
  const TemporaryFolder folder;
  const Outcome outcome = run_sing({"train", "squad", "--config", SING_RECIPES "/squad_demo.toml",
                                    "--device", "cpu", "--out", folder / "run"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const nlohmann::json end = metrics_of(folder / "run").back();
  // A context has one filling for each of four questions: a model that finds the fillings but
  // ignores the question is right in a quarter of 800 cases.
  const double exact_match = end["scores"]["exact match, %"].get<double>() / 100;
  EXPECT_GT(exact_match, above_chance(0.25, 800)) << outcome.out;
  // Each answer is a word, so that both scores are the share of right ones.
  EXPECT_GT(end["scores"]["padding in training batches, %"].get<double>(), 0);
  EXPECT_EQ(end["score"], "F1");
  EXPECT_NEAR(end["final_accuracy"].get<double>(), exact_match, 0.05);
  const Outcome again = run_sing({"eval", (folder / "run").string(), "--checkpoint", "last"});
  ASSERT_EQ(again.code, 0) << again.error;
  EXPECT_THAT(again.out, HasSubstr("exact match, %"));
  EXPECT_THAT(again.out, Not(HasSubstr("padding"))) << "an evaluation makes no training batches";
}

// Dropout, the order of the windows and the optimizer go on from where they were.
TEST(Squad, KilledTwiceTheRunEndsInTheSameBits) {
  const TemporaryFolder folder;
  const fs::path run = folder / "killed";
  const Words more = {"--steps",          "60", "--evaluate-steps",   "6",
                      "--log-steps",      "4",  "--checkpoint-steps", "5",
                      "--stand-in-count", "40"};
  ASSERT_EQ(run_sing(tiny_task("squad", folder / "reference", more)).code, 0);
  Words resumed = tiny_task("squad", run, more);
  resumed.emplace_back("--resume");
  for (int kill = 0; kill < 2; ++kill) {
    ChildProcess child(SING_PROGRAM, resumed);
    ASSERT_TRUE(test::wait_for_evaluations(child, 3)) << "ended before kill " << kill;
    child.send(SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(child.wait()));
  }
  ASSERT_NE(metrics_of(run).back()["kind"], "end");
  const Outcome end = run_sing(resumed);
  ASSERT_EQ(end.code, 0) << end.error;
  EXPECT_THAT(end.out, HasSubstr("resuming from step "));
  EXPECT_EQ(test::last_tensors_of(run), test::last_tensors_of(folder / "reference"));
}

// A folder as Hugging Face's, with an encoder of random weights.
void write_weights(const fs::path& folder) {
  fs::create_directories(folder);
  test::write_whole(folder / "config.json", R"({"model_type": "bert", "hidden_act": "gelu",
    "vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 64, "max_position_embeddings": 100, "type_vocab_size": 2,
    "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1})");
  std::string vocabulary;
  for (const std::string_view each : special_tokens(model::EncoderKind::kBert)) {
    vocabulary += std::string(each) + "\n";
  }
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    vocabulary += std::string(1, letter) + "\n##" + std::string(1, letter) + "\n";
  }
  test::write_whole(folder / "vocab.txt", vocabulary + ".\n?\n");
  torch::manual_seed(5);
  const model::TextEncoderImpl encoder(model::read_encoder_shape(folder / "config.json"),
                                       model::Pooler::kFirstToken);
  std::vector<TensorBytes> tensors;
  for (const auto& item : encoder.named_parameters()) {
    tensors.push_back({{item.key(), Dtype::kFloat32, item.value().sizes().vec()},
                       static_cast<const std::byte*>(item.value().const_data_ptr())});
  }
  write_safetensors(folder / "model.safetensors", {}, tensors);
}

TEST(EncoderTasks, BeginWithTheWeightsOfAFolder) {
  const TemporaryFolder folder;
  const fs::path weights = folder / "weights";
  write_weights(weights);
  const auto given = test::tensors_of(weights / "model.safetensors");
  for (const char* task : {"squad", "choice"}) {
    const fs::path run = folder / task;
    const Outcome outcome = run_sing(
        tiny_task(task, run,
                  {"--weights", weights.string(), "--model", "auto", "--steps", "1", "--optimizer",
                   "sgd", "--lr", "0", "--freeze-norms", "--stand-in-count", "40"}));
    ASSERT_EQ(outcome.code, 0) << outcome.error;
    const auto trained = test::last_tensors_of(run);
    for (const auto& [name, bytes] : given) {
      // Question answering has no pooler.
      if (name.find("pooler") == std::string::npos || std::string(task) == "choice") {
        EXPECT_EQ(trained.at("bert." + name), bytes) << name;
      }
    }
    EXPECT_FALSE(trained.contains("optimizer.bert.embeddings.LayerNorm.weight.momentum"));
    EXPECT_TRUE(trained.contains("optimizer.bert.embeddings.word_embeddings.weight.momentum"));
  }
  const Outcome other = run_sing(tiny_task(
      "squad", folder / "other", {"--weights", weights.string(), "--model", "minilm-l6"}));
  EXPECT_NE(other.code, 0);
  EXPECT_THAT(other.error, HasSubstr("wanted weights of minilm-l6 with width 384, got 32"));
  const Outcome longer =
      run_sing(tiny_task("squad", folder / "longer",
                         {"--weights", weights.string(), "--model", "auto", "--length", "101"}));
  EXPECT_THAT(longer.error, HasSubstr("wanted sequences of at most 100 tokens for this encoder, "
                                      "got 101"));
}

TEST(EncoderTasks, SayWhatIsMissing) {
  const TemporaryFolder folder;
  const std::string absent = folder / "absent";
  const auto error = [&](const Words& words) {
    const Outcome outcome = run_sing(words);
    EXPECT_NE(outcome.code, 0);
    EXPECT_FALSE(fs::exists(folder / "run"));
    return outcome.error;
  };
  const std::string run = folder / "run";
  EXPECT_THAT(error({"train", "squad", "--data", absent, "--out", run}),
              HasSubstr("[squad] wanted train-v1.1.json and dev-v1.1.json in the folder"));
  EXPECT_THAT(error({"train", "choice", "--data", absent, "--out", run}),
              HasSubstr("[choice] wanted a folder with train.csv and val.csv at"));
  EXPECT_THAT(error({"train", "choice", "--set", "codah", "--data", absent, "--out", run}),
              HasSubstr("[choice] wanted the file of codah at"));
  EXPECT_THAT(error({"train", "squad", "--stand-in", "--weights", absent, "--out", run}),
              HasSubstr("[weights] wanted a folder of weights (`sing data weights` fetches one)"));
  EXPECT_THAT(error({"train", "squad", "--stand-in", "--weights", absent, "--vocabulary", absent,
                     "--out", run}),
              HasSubstr("wanted --weights or --vocabulary, got both"));
  test::write_whole(folder / "codah.tsv", [] {
    std::string content;
    for (int number = 0; number < 10; ++number) {
      content += "c\tcontext " + std::to_string(number) + "\tw\tx\ty\tz\t1\n";
    }
    return content;
  }());
  EXPECT_THAT(
      error({"train", "choice", "--set", "codah", "--data", folder / "codah.tsv", "--out", run}),
      HasSubstr("[choice] wanted --weights FOLDER (`sing data weights` fetches one) or "
                "--vocabulary FILE for random weights, got neither"));
}

TEST(EncoderTasks, EveryRecipeTrainsTwoSteps) {
  const TemporaryFolder folder;
  for (const char* recipe : {"squad_demo", "squad_adamw", "squad_sing_adamw", "choice_demo",
                             "swag_adamw", "swag_sing_adamw"}) {
    const std::string task = std::string(recipe).starts_with("squad") ? "squad" : "choice";
    const std::string file = std::string(SING_RECIPES "/") + recipe + ".toml";
    const Outcome outcome = run_sing({"train",
                                      task,
                                      "--config",
                                      file,
                                      "--stand-in",
                                      "--model",
                                      "encoder-tiny",
                                      "--stand-in-count",
                                      "40",
                                      "--batch",
                                      "8",
                                      "--steps",
                                      "2",
                                      "--evaluate-steps",
                                      "2",
                                      "--device",
                                      "cpu",
                                      "--threads",
                                      "1",
                                      "--out",
                                      folder / recipe});
    EXPECT_EQ(outcome.code, 0) << recipe << ": " << outcome.error;
  }
}

// pip cannot find the package, as without a network.
TEST(WeightsCommand, FailsWithTheReasonThatPipGives) {
  const TemporaryFolder folder;
  const Outcome unknown =
      run_sing({"data", "weights", "--model", "minilk", "--out", folder / "weights"});
  EXPECT_NE(unknown.code, 0);
  EXPECT_THAT(unknown.error,
              HasSubstr("wanted minilm, mpnet, got 'minilk'; did you mean 'minilm'?"));
  const Outcome outcome = run_sing({"data", "weights", "--model", "minilm", "--out",
                                    folder / "weights", "--python", "no-such-python"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.error, HasSubstr("wanted the packages of minilm by no-such-python -m pip, "
                                       "which failed: "));
  EXPECT_THAT(outcome.error, HasSubstr("No such file or directory"));
  EXPECT_TRUE(fs::is_empty(folder / "weights"));
}

}  // namespace
}  // namespace sing::lab::encoder
