// Checks what `sing train` and `sing eval` learn, write and refuse, inside one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <torch/torch.h>

#include <cmath>
#include <filesystem>
#include <iostream>

#include "lab/loop/trainer.hpp"
#include "lab/run/run_lock.hpp"
#include "sing/base/message.hpp"
#include "tests/lab/training/tiny_run.hpp"
#include "tests/support/read_png.hpp"

namespace sing::test {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const nlohmann::json& last_of_kind(const std::vector<nlohmann::json>& lines, const char* kind) {
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if ((*line)["kind"] == kind) {
      return *line;
    }
  }
  throw std::runtime_error(kind);
}

TEST(Train, TheLossFallsAndTheRunDirectoryIsComplete) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  const Outcome outcome =
      run_sing(tiny_run(run, {"--steps", "120", "--norm-steps", "50", "--log-steps", "5"}));
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("27056 parameters, 120 steps on cpu"));
  EXPECT_THAT(outcome.out, HasSubstr("finished · accuracy"));
  const std::vector<nlohmann::json> lines = metrics_of(run);
  const nlohmann::json& end = lines.back();
  EXPECT_EQ(end["kind"], "end");
  EXPECT_EQ(end["status"], "finished");
  EXPECT_EQ(lines.front()["step"], 5);
  EXPECT_LT(end["final_loss"].get<double>(), 0.3 * lines.front()["loss"].get<double>());
  EXPECT_GE(end["best_accuracy"].get<double>(), end["final_accuracy"].get<double>());
  const nlohmann::json& last = last_of_kind(lines, "step");
  EXPECT_EQ(last["step"], 120);
  EXPECT_EQ(last["epoch"], 7.5);
  EXPECT_GT(last["images_per_second"].get<double>(), 0);
  for (const char* phase : {"data", "forward_backward", "optimizer"}) {
    EXPECT_GT(last["seconds"][phase].get<double>(), 0) << phase;
  }
  EXPECT_FALSE(last.contains("gradient_norms"));
  EXPECT_EQ(last_of_kind(lines, "evaluation")["loss"], end["final_loss"]);
  int with_norms = 0;
  for (const nlohmann::json& line : lines) {
    if (line.contains("gradient_norms")) {
      ++with_norms;
      EXPECT_EQ(line["step"].get<int>() % 50, 0);
      EXPECT_EQ(line["gradient_norms"].size(), 31U);
      EXPECT_GT(line["gradient_norms"]["blocks.1.mlp.fc1.weight"].get<double>(), 0);
    }
  }
  EXPECT_EQ(with_norms, 2);
  const auto config = nlohmann::json::parse(read_whole(run / "config.json"));
  EXPECT_EQ(config["task"], "rde");
  EXPECT_EQ(config["parameters"], 27056);
  EXPECT_EQ(config["options"]["learning_rate"], 5e-2);
  EXPECT_EQ(config["options"]["warmup_steps"], 6);
  EXPECT_EQ(read_png(run / "pictures/step_00000120.png").width(), 12 + 2 * (4 * 16 + 3 * 4 + 12));
}

TEST(Train, TheScheduleIsFivePercentOfWarmUpThenACosine) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_sing(tiny_run(folder / "run", {"--steps", "40", "--log-steps", "1"})).code, 0);
  std::vector<double> rates;
  for (const nlohmann::json& line : metrics_of(folder / "run")) {
    if (line["kind"] == "step") {
      rates.push_back(line["learning_rate"].get<double>());
    }
  }
  ASSERT_EQ(rates.size(), 40U);
  EXPECT_DOUBLE_EQ(rates[0], 0.025);
  EXPECT_DOUBLE_EQ(rates[1], 0.05);
  EXPECT_DOUBLE_EQ(rates[21], 0.05 * 0.5);  // half of the decay over 38 steps
  EXPECT_NEAR(rates[39], 0.05 * 0.5 * (1 + std::cos(M_PI * 37 / 38)), 1e-12);
}

// A process may train several models, one after the other.
TEST(Train, TorchIsSetForEachTraining) {
  const int threads = at::get_num_threads();
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
  at::globalContext().setSDPUseCuDNN(true);
  lab::loop::TrainingPlan curvature;
  curvature.optimizer.rule = AdaHessian{};
  curvature.training.deterministic = true;
  curvature.resources.threads = threads + 1;
  lab::loop::prepare_torch(curvature);
  EXPECT_FALSE(at::globalContext().userEnabledFlashSDP());
  EXPECT_FALSE(at::globalContext().userEnabledMemEfficientSDP());
  EXPECT_FALSE(at::globalContext().userEnabledCuDNNSDP());
  EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
  EXPECT_EQ(at::get_num_threads(), threads + 1);
  ASSERT_NE(::getenv("CUBLAS_WORKSPACE_CONFIG"), nullptr);
  EXPECT_STREQ(::getenv("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
  at::set_num_threads(threads);
  lab::loop::TrainingPlan autotune;
  autotune.training.autotune = true;
  lab::loop::prepare_torch(autotune);
  curvature.training.autotune = true;
  EXPECT_THROW(lab::loop::prepare_torch(curvature), std::invalid_argument);
  EXPECT_TRUE(at::globalContext().benchmarkCuDNN());
  EXPECT_EQ(at::get_num_threads(), threads);
  lab::loop::prepare_torch({});
  EXPECT_FALSE(at::globalContext().benchmarkCuDNN());
  EXPECT_TRUE(at::globalContext().userEnabledFlashSDP());
  EXPECT_TRUE(at::globalContext().userEnabledMemEfficientSDP());
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms());
}

TEST(Train, TheSameSeedGivesTheSameBitsAndAnotherSeedOthers) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b"}) {
    ASSERT_EQ(run_sing(tiny_run(folder / name, {"--steps", "20"})).code, 0);
  }
  ASSERT_EQ(run_sing(tiny_run(folder / "c", {"--steps", "20", "--seed", "1"})).code, 0);
  EXPECT_EQ(last_tensors_of(folder / "a"), last_tensors_of(folder / "b"));
  EXPECT_EQ(timeless_metrics_of(folder / "a"), timeless_metrics_of(folder / "b"));
  EXPECT_NE(last_tensors_of(folder / "a").at("head.bias"),
            last_tensors_of(folder / "c").at("head.bias"));
}

std::vector<float> floats_of(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Train, PartsOfABatchGiveTheGradientOfTheWhole) {
  const TemporaryFolder folder;
  const Words common = {"--steps", "1",   "--optimizer",       "sgd",
                        "--lr",    "0.1", "--warmup-fraction", "0"};
  for (const char* parts : {"1", "4"}) {
    Words more = common;
    more.insert(more.end(), {"--accumulate", parts});
    ASSERT_EQ(run_sing(tiny_run(folder / parts, more)).code, 0);
  }
  const auto whole = last_tensors_of(folder / "1");
  const auto split = last_tensors_of(folder / "4");
  const std::vector<float> a = floats_of(whole.at("optimizer.head.weight.momentum"));
  const std::vector<float> b = floats_of(split.at("optimizer.head.weight.momentum"));
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    size = std::max(size, static_cast<double>(std::abs(a[i])));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], 1e-5 * size);
  }
}

// After the first step, SGD's momentum is the gradient.
TEST(Train, ClipNormBoundsTheNormOfAllGradientsTogether) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_sing(tiny_run(folder / "run", {"--steps", "1", "--optimizer", "sgd",
                                               "--weight-decay", "0", "--clip-norm", "0.01"}))
                .code,
            0);
  double squares = 0;
  for (const auto& [name, bytes] : last_tensors_of(folder / "run")) {
    if (name.ends_with(".momentum")) {
      for (const float value : floats_of(bytes)) {
        squares += static_cast<double>(value) * static_cast<double>(value);
      }
    }
  }
  EXPECT_NEAR(std::sqrt(squares), 0.01, 1e-6);
}

TEST(Train, Bf16TrainsToo) {
  const TemporaryFolder folder;
  const Words more = {"--steps", "40", "--precision", "bf16", "--log-steps", "5"};
  const Outcome outcome = run_sing(tiny_run(folder / "run", more));
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const auto lines = metrics_of(folder / "run");
  EXPECT_LT(lines.back()["final_loss"].get<double>(), 0.6 * lines.front()["loss"].get<double>());
  ASSERT_EQ(run_sing(tiny_run(folder / "other", {"--steps", "40", "--log-steps", "5"})).code, 0);
  EXPECT_NE(lines.front()["loss"], metrics_of(folder / "other").front()["loss"]);
}

TEST(Train, FrozenNormsStayAndHaveNoState) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_sing(tiny_run(folder / "run", {"--steps", "3", "--freeze-norms"})).code, 0);
  const auto tensors = last_tensors_of(folder / "run");
  EXPECT_EQ(floats_of(tensors.at("blocks.0.norm1.weight")), std::vector<float>(32, 1.0F));
  EXPECT_FALSE(tensors.contains("optimizer.blocks.0.norm1.weight.first_moment"));
  EXPECT_TRUE(tensors.contains("optimizer.blocks.0.mlp.fc1.weight.first_moment"));
}

TEST(Train, OptionsComeFromAFileAndTheLineWins) {
  const TemporaryFolder folder;
  write_whole(
      folder / "options.toml",
      "optimizer = \"adamw\"\nlearning_rate = 2e-3\nbatch = 32\nbeta2 = 0.99\nfixed = true\n");
  const Outcome outcome =
      run_sing(tiny_run(folder / "run", {"--steps", "2", "--config",
                                         (folder / "options.toml").string(), "--lr", "1e-4"}));
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const auto options = nlohmann::json::parse(read_whole(folder / "run" / "config.json"))["options"];
  EXPECT_EQ(options["optimizer"], "adamw");
  EXPECT_EQ(options["learning_rate"], 1e-4);
  EXPECT_EQ(options["beta2"], 0.99);
  EXPECT_EQ(options["batch"], 16);  // tiny_run's flag
  EXPECT_EQ(options["fixed"], true);
  EXPECT_EQ(options["normalize"], "off");
  EXPECT_EQ(options["lookahead"], false);
}

TEST(Train, ADivergedRunHasNoNumbers) {
  const TemporaryFolder folder;
  const Outcome infinite =
      run_sing(tiny_run(folder / "infinite", {"--steps", "60", "--optimizer", "sgd", "--lr", "1e12",
                                              "--non-finite", "pass_through"}));
  EXPECT_EQ(infinite.code, lab::command::kDivergedExit) << infinite.error << infinite.out;
  EXPECT_THAT(infinite.out, HasSubstr("this run has no result"));
  const nlohmann::json end = metrics_of(folder / "infinite").back();
  EXPECT_EQ(end["status"], "diverged");
  for (const char* number : {"best_accuracy", "final_accuracy", "final_loss"}) {
    EXPECT_TRUE(end[number].is_null()) << number;
  }
  const Words above = {"--steps",
                       "400",
                       "--optimizer",
                       "sing-sgd",
                       "--lr",
                       "20",
                       "--schedule",
                       "constant",
                       "--log-steps",
                       "2",
                       "--divergence-steps",
                       "30",
                       "--evaluate-steps",
                       "1000"};
  const Outcome high = run_sing(tiny_run(folder / "high", above));
  EXPECT_EQ(high.code, lab::command::kDivergedExit) << high.error << high.out;
  const auto lines = metrics_of(folder / "high");
  EXPECT_EQ(lines.back()["status"], "diverged");
  const nlohmann::json& last = last_of_kind(lines, "step");
  EXPECT_GT(last["loss"].get<double>(), lines.front()["loss"].get<double>());
  EXPECT_GE(last["step"].get<int>(), 30);
  EXPECT_LT(last["step"].get<int>(), 400);
  // The run does not change.
  EXPECT_EQ(run_sing(tiny_run(folder / "high", {"--resume"})).code, lab::command::kDivergedExit);
  EXPECT_EQ(metrics_of(folder / "high"), lines);
}

TEST(Train, BadInputIsNamedBeforeAnythingIsWritten) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  const auto refused = [&](const Words& more, const std::string& message) {
    const Outcome outcome = run_sing(tiny_run(run, more));
    EXPECT_EQ(outcome.code, lab::command::kUsage) << message;
    EXPECT_THAT(outcome.error, HasSubstr(message));
    EXPECT_FALSE(fs::exists(run)) << message;
  };
  refused({"--epocs", "3"}, "got '--epocs'; did you mean '--epochs'?");
  refused({"--optimizer", "sing-adam"}, "got 'sing-adam'; did you mean 'sing-adamw'?");
  refused({"--schedule", "warmup_cosin"}, "; did you mean 'warmup_cosine'?");
  refused({"--momentum", "0.9"}, "wanted an option of rule 'adamw', got 'momentum'");
  refused({"--optimizer", "adamw", "--lookahead-alpha", "0.5"}, "lookahead is off");
  refused({"--learning-rate", "fast"}, "[learning_rate]");
  refused({"--learning-rate", "-1"}, "wanted learning_rate at least 0");
  refused({"--batch", "512"}, "wanted a batch of at most the 256 training examples");
  refused({"--accumulate", "3"}, "wanted accumulate to divide the batch of 16");
  refused({"--precision", "fp8"}, "wanted one of float32, bf16, got 'fp8'");
  refused({"--model", "vit-x"}, "vit-tiny");
  refused({"--patch-size", "5"}, "wanted a patch_size that divides the image's 16");
  refused({"--device", "gpu"}, "[--device] wanted auto, cpu, cuda or cuda:NUMBER, got 'gpu'");
  refused({"--config", (folder / "absent").string()}, "[--config] wanted a readable file");
  refused({"--config", folder.path().string()}, "[--config] wanted a readable file");
  write_whole(folder / "sections", "[first]\nbatch = 3\n");
  refused({"--config", (folder / "sections").string()}, "without sections, got '[first]'");
  write_whole(folder / "options", "learning_rat = 3\n");
  refused({"--config", (folder / "options").string()}, "; did you mean '--learning-rate'?");
  refused({"--warmup-steps", "50", "--total-steps", "40"}, "schedule warmup_cosine");
}

TEST(Train, ARunIsNotOverwritten) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  ASSERT_EQ(run_sing(tiny_run(run, {"--steps", "2"})).code, 0);
  const std::string before = read_whole(run / "metrics.jsonl");
  const Outcome again = run_sing(tiny_run(run, {"--steps", "2"}));
  EXPECT_EQ(again.code, lab::command::kUsage);
  EXPECT_THAT(again.error, HasSubstr("which holds a run; --resume continues it"));
  const Outcome other = run_sing(tiny_run(run, {"--batch", "32", "--resume"}));
  EXPECT_EQ(other.code, lab::command::kUsage);
  EXPECT_THAT(other.error, HasSubstr("wanted --batch 16 as before, got 32"));
  const Outcome shorter = run_sing(tiny_run(run, {"--steps", "1", "--resume"}));
  EXPECT_EQ(shorter.code, lab::command::kUsage);
  EXPECT_THAT(shorter.error, HasSubstr("wanted at least the 2 steps of the run"));
  const Outcome done = run_sing(tiny_run(run, {"--resume", "--threads", "1"}));
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.out, HasSubstr("already finished"));
  EXPECT_EQ(read_whole(run / "metrics.jsonl"), before);
}

// With a constant rate, the schedule does not depend on the length.
TEST(Train, AFinishedRunContinuesForLongerAsIfItHadNotStopped) {
  const TemporaryFolder folder;
  const Words constant = {"--schedule", "constant", "--evaluate-steps", "10"};
  const auto with = [&](const char* name, const Words& length) {
    Words more = constant;
    more.insert(more.end(), length.begin(), length.end());
    return run_sing(tiny_run(folder / name, more));
  };
  ASSERT_EQ(with("long", {"--epochs", "3"}).code, 0);
  ASSERT_EQ(with("run", {"--epochs", "1"}).code, 0);
  const Outcome longer = run_sing(tiny_run(folder / "run", {"--resume", "--epochs", "3"}));
  ASSERT_EQ(longer.code, 0) << longer.error;
  EXPECT_THAT(longer.out, HasSubstr("48 steps on cpu, resuming from step 16"));
  EXPECT_EQ(last_tensors_of(folder / "run"), last_tensors_of(folder / "long"));
  const auto config = nlohmann::json::parse(read_whole(folder / "run/config.json"));
  EXPECT_EQ(config["total_steps"], 48);
  EXPECT_EQ(config["options"]["epochs"], 3);
  int ends = 0;
  for (const nlohmann::json& line : metrics_of(folder / "run")) {
    ends += line["kind"] == "end" ? 1 : 0;
  }
  EXPECT_EQ(ends, 1);
  // A number of steps gives way to a number of epochs, and the same length changes nothing.
  ASSERT_EQ(with("steps", {"--steps", "20"}).code, 0);
  const Outcome epochs = run_sing(tiny_run(folder / "steps", {"--resume", "--epochs", "3"}));
  EXPECT_THAT(epochs.out, HasSubstr("48 steps on cpu, resuming from step 20"));
  EXPECT_EQ(last_tensors_of(folder / "steps"), last_tensors_of(folder / "long"));
  EXPECT_THAT(run_sing(tiny_run(folder / "steps", {"--resume", "--epochs", "3"})).out,
              HasSubstr("already finished"));
}

TEST(Train, MomentsInBFloat16TakeTwoBytesAndContinueExactly) {
  const TemporaryFolder folder;
  const Words options = {"--schedule", "constant", "--evaluate-steps", "10", "--state", "bfloat16"};
  const auto with = [&](const char* name, const Words& length) {
    Words more = options;
    more.insert(more.end(), length.begin(), length.end());
    return run_sing(tiny_run(folder / name, more));
  };
  ASSERT_EQ(with("long", {"--steps", "20"}).code, 0);
  ASSERT_EQ(with("run", {"--steps", "8"}).code, 0);
  ASSERT_EQ(run_sing(tiny_run(folder / "run", {"--resume", "--steps", "20"})).code, 0);
  const std::map<std::string, std::string> tensors = last_tensors_of(folder / "run");
  EXPECT_EQ(tensors, last_tensors_of(folder / "long"));
  int moments = 0;
  for (const auto& [name, bytes] : tensors) {
    const std::string prefix = "optimizer.";
    const std::string suffix = ".second_moment";
    if (name.starts_with(prefix) && name.ends_with(suffix)) {
      const std::string weight =
          name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
      EXPECT_EQ(2 * bytes.size(), tensors.at(weight).size()) << weight;
      ++moments;
    }
  }
  EXPECT_GT(moments, 0);
}

TEST(Train, ALongerRunHasTheScheduleOfItsNewLength) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  ASSERT_EQ(run_sing(tiny_run(run, {"--steps", "20", "--log-steps", "1"})).code, 0);
  ASSERT_EQ(run_sing(tiny_run(run, {"--resume", "--steps", "40"})).code, 0);
  std::vector<double> rates;
  for (const nlohmann::json& line : metrics_of(run)) {
    if (line["kind"] == "step") {
      rates.push_back(line["learning_rate"].get<double>());
    }
  }
  ASSERT_EQ(rates.size(), 40U);
  EXPECT_NEAR(rates[19], 0.05 * 0.5 * (1 + std::cos(M_PI * 18 / 19)), 1e-12);
  EXPECT_NEAR(rates[20], 0.05 * 0.5 * (1 + std::cos(M_PI * 18 / 38)), 1e-12);
  EXPECT_NEAR(rates[39], 0.05 * 0.5 * (1 + std::cos(M_PI * 37 / 38)), 1e-12);
  // A number of steps that was given to the schedule stays.
  const fs::path own = folder / "own";
  ASSERT_EQ(run_sing(tiny_run(own, {"--steps", "20", "--total-steps", "30"})).code, 0);
  ASSERT_EQ(run_sing(tiny_run(own, {"--resume", "--steps", "40"})).code, 0);
  const auto options = nlohmann::json::parse(read_whole(own / "config.json"))["options"];
  EXPECT_EQ(options["total_steps"], 30);
  EXPECT_EQ(options["warmup_steps"], 2);
}

// Changes the working directory for one test.
class InFolder {
 public:
  explicit InFolder(const fs::path& folder) : before_(fs::current_path()) {
    fs::current_path(folder);
  }
  ~InFolder() { fs::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  fs::path before_;
};

TEST(Train, ResumeFindsTheDefaultFolder) {
  const TemporaryFolder folder;
  const InFolder inside(folder.path());
  const auto without_out = [](const Words& more) {
    Words words = tiny_run("unused", more);
    words.erase(words.begin() + 2, words.begin() + 4);
    return run_sing(words);
  };
  ASSERT_EQ(without_out({"--steps", "2", "--seed", "3"}).code, 0);
  const Outcome again = without_out({"--resume", "--seed", "3", "--steps", "4"});
  EXPECT_EQ(again.code, 0) << again.error;
  EXPECT_THAT(again.out, HasSubstr("runs/rde_sing-adamw_0.05_3: 27056 parameters, 4 steps on cpu, "
                                   "resuming from step 2"));
}

TEST(Train, ValidationImagesChooseAndTestImagesMeasure) {
  const TemporaryFolder folder;
  const Words steps = {"--steps", "20"};
  ASSERT_EQ(run_sing(tiny_run(folder / "test", steps)).code, 0);
  const Outcome outcome =
      run_sing(tiny_run(folder / "held", {"--steps", "20", "--evaluate-on", "validation"}));
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("· validation loss "));
  EXPECT_THAT(outcome.out, Not(HasSubstr("test loss")));
  EXPECT_EQ(last_tensors_of(folder / "held"), last_tensors_of(folder / "test"))
      << "RDE trains on the same images";
  const auto lines = metrics_of(folder / "held");
  EXPECT_NE(lines.back()["final_loss"], metrics_of(folder / "test").back()["final_loss"]);
  const auto config = nlohmann::json::parse(read_whole(folder / "held/config.json"));
  EXPECT_EQ(config["options"]["evaluate_on"], "validation");
  const auto measured = [&](const char* run, const Words& more) {
    Words words = {"eval", (folder / run).string(), "--checkpoint", "last", "--device", "cpu"};
    words.insert(words.end(), more.begin(), more.end());
    return run_sing(words);
  };
  const Outcome on_test = measured("held", {});
  EXPECT_THAT(on_test.out, HasSubstr("64 test examples"));
  EXPECT_EQ(on_test.out, measured("test", {}).out);
  const Outcome on_validation = measured("held", {"--evaluate-on", "validation"});
  EXPECT_THAT(on_validation.out,
              HasSubstr(fmt::format("64 validation examples · accuracy {:.2f} % · loss {:.4e}",
                                    100 * lines.back()["final_accuracy"].get<double>(),
                                    lines.back()["final_loss"].get<double>())));
  const Outcome refused = measured("test", {"--evaluate-on", "validation"});
  EXPECT_EQ(refused.code, lab::command::kUsage);
  EXPECT_THAT(refused.error, HasSubstr("wanted test for a run that held no images out"));
}

// The part of a help text between two flags.
std::string part_of(const std::string& help, const std::string& from) {
  const std::size_t begin = help.find("  " + from);
  return begin == std::string::npos ? "" : help.substr(begin, help.find('\n', begin) - begin);
}

TEST(Train, HelpHasTheDefaultsOfTheChosenOptimizerAndSchedule) {
  const Outcome help = run_sing({"train", "rde", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("with the defaults of sing-adamw"));
  EXPECT_THAT(part_of(help.out, "--learning-rate"), HasSubstr("NUMBER=0.05"));
  EXPECT_THAT(part_of(help.out, "--softplus-beta"), HasSubstr("=50"));
  EXPECT_THAT(part_of(help.out, "--lookahead "), HasSubstr("true|false=true"));
  EXPECT_THAT(part_of(help.out, "--momentum"), HasSubstr("NUMBER=0.9 with sgd"));
  EXPECT_THAT(part_of(help.out, "--final-factor"), HasSubstr("=0"));
  EXPECT_THAT(part_of(help.out, "--hold-steps"), HasSubstr("with warmup_hold_cosine"));
  EXPECT_THAT(part_of(help.out, "--warmup-steps"), HasSubstr("=as --warmup-fraction"));
  const Outcome hold = run_sing({"help", "train", "rde", "--schedule", "warmup_hold_cosine"});
  EXPECT_THAT(part_of(hold.out, "--hold-steps"), Not(HasSubstr("with warmup_hold_cosine")));
  const Outcome other = run_sing({"help", "train", "rde", "--optimizer", "sgd"});
  EXPECT_THAT(part_of(other.out, "--learning-rate"), HasSubstr("NUMBER=0.5"));
  EXPECT_THAT(part_of(other.out, "--momentum"), HasSubstr("NUMBER=0.9 "));
  EXPECT_THAT(part_of(other.out, "--lookahead-period"), HasSubstr("=5 with sing-"));
}

TEST(Train, HelpHasADefaultForEveryOption) {
  CLI::App app("", "sing");
  lab::command::CommandContext context{.out = std::cout};
  lab::main::add_train_command(app, context);
  for (const CLI::Option* option :
       app.get_subcommand("train")->get_subcommand("rde")->get_options()) {
    const bool is_switch = option->get_expected_max() == 0 || option->get_type_size() == 0;
    const bool says_without = option->get_name() == "--out" || option->get_name() == "--config";
    EXPECT_TRUE(is_switch || says_without || !option->get_default_str().empty())
        << option->get_name();
  }
}

TEST(Train, ARunDirectoryInUseIsRefused) {
  const TemporaryFolder folder;
  const lab::run::RunLock held{lab::run::RunDirectory(folder / "run")};
  const Outcome outcome = run_sing(tiny_run(folder / "run", {"--steps", "2"}));
  EXPECT_EQ(outcome.code, lab::command::kFailure);
  EXPECT_THAT(outcome.error, HasSubstr("in use by process " + std::to_string(::getpid())));
  EXPECT_FALSE(fs::exists(folder / "run" / "metrics.jsonl"));
}

TEST(Train, AFullDiskIsSaidAndTheLastCheckpointStays) {
  const TemporaryFolder folder;
  const fs::path full = folder / "full";
  fs::create_directories(full);
  fs::create_symlink("/dev/full", full / "metrics.jsonl");
  const Outcome outcome = run_sing(tiny_run(full, {"--steps", "20"}));
  EXPECT_EQ(outcome.code, lab::command::kFailure);
  EXPECT_THAT(outcome.error, HasSubstr("No space left on device"));

  const fs::path run = folder / "run";
  const Words steps = {"--steps", "30", "--checkpoint-steps", "10"};
  ASSERT_EQ(run_sing(tiny_run(folder / "reference", steps)).code, 0);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  // The weights alone take 108 KB; with the optimizer's state, 433 KB.
  const rlimit small{.rlim_cur = 300'000, .rlim_max = old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Outcome stopped = run_sing(tiny_run(run, steps));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_EQ(stopped.code, lab::command::kFailure);
  EXPECT_THAT(stopped.error, HasSubstr("last.safetensors"));
  EXPECT_THAT(stopped.error, HasSubstr("File too large"));
  EXPECT_FALSE(fs::exists(run / "checkpoints" / "last.safetensors"));
  Words resumed = steps;
  resumed.push_back("--resume");
  ASSERT_EQ(run_sing(tiny_run(run, resumed)).code, 0);
  EXPECT_EQ(last_tensors_of(run), last_tensors_of(folder / "reference"));
}

TEST(Eval, MeasuresWhatTheTrainingMeasured) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  ASSERT_EQ(run_sing(tiny_run(run, {"--steps", "60"})).code, 0);
  const nlohmann::json end = metrics_of(run).back();
  char wanted[64];
  std::snprintf(wanted, sizeof(wanted), "64 test examples · accuracy %.2f %% · loss %.4e",
                100 * end["final_accuracy"].get<double>(), end["final_loss"].get<double>());
  const fs::path picture = folder / "picture.png";
  const fs::path record = folder / "eval.json";
  const Outcome last = run_sing({"eval", run.string(), "--checkpoint", "last", "--device", "cpu",
                                 "--picture", picture.string(), "--record", record.string()});
  EXPECT_EQ(last.code, 0) << last.error;
  EXPECT_THAT(last.out, HasSubstr(wanted));
  EXPECT_TRUE(fs::exists(picture));
  EXPECT_THAT(last.out, HasSubstr(picture.string() + ": input, target and prediction"));
  const auto recorded = nlohmann::json::parse(read_whole(record));
  EXPECT_EQ(recorded["accuracy"], end["final_accuracy"]);
  EXPECT_EQ(recorded["loss"], end["final_loss"]);
  EXPECT_EQ(recorded["checkpoint"], "last");
  EXPECT_EQ(recorded["evaluate_on"], "test");
  EXPECT_EQ(recorded["examples"], 64);
  const Outcome best = run_sing({"eval", run.string(), "--device", "cpu"});
  std::snprintf(wanted, sizeof(wanted), "accuracy %.2f %%",
                100 * end["best_accuracy"].get<double>());
  EXPECT_THAT(best.out, HasSubstr(wanted));
}

TEST(Eval, RefusesWhatIsNoRunOrNoCheckpoint) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  const Outcome none = run_sing({"eval", run.string()});
  EXPECT_EQ(none.code, lab::command::kFailure);
  EXPECT_THAT(none.error, HasSubstr("is this a run directory?"));
  ASSERT_EQ(run_sing(tiny_run(run, {"--steps", "2"})).code, 0);
  write_whole(folder / "foreign", "no such thing");
  const Outcome foreign =
      run_sing({"eval", run.string(), "--checkpoint", (folder / "foreign").string()});
  EXPECT_EQ(foreign.code, lab::command::kFailure);
  EXPECT_THAT(foreign.error,
              HasSubstr("[checkpoint] wanted a checkpoint of sing train, got another file: "));
  EXPECT_THAT(foreign.error, HasSubstr("foreign"));
  const std::vector<float> values = {1, 2};
  const TensorBytes weights{{"layer", Dtype::kFloat32, {2}},
                            reinterpret_cast<const std::byte*>(values.data())};
  write_safetensors(folder / "weights", {}, {&weights, 1});
  EXPECT_THAT(run_sing({"eval", run.string(), "--checkpoint", (folder / "weights").string()}).error,
              HasSubstr("wanted a checkpoint of sing train, got another file of 1 tensors"));
  ASSERT_EQ(run_sing(tiny_run(folder / "wide", {"--steps", "1", "--width", "64"})).code, 0);
  EXPECT_THAT(run_sing({"eval", run.string(), "--checkpoint",
                        (folder / "wide/checkpoints/best.safetensors").string()})
                  .error,
              HasSubstr("is the file of a run with another model?"));
  write_whole(run / "config.json", "{\"format_version\": 1");
  EXPECT_THAT(run_sing({"eval", run.string()}).error, HasSubstr("no configuration of a run"));
  write_whole(run / "config.json", "{\"format_version\": 7}");
  EXPECT_THAT(run_sing({"eval", run.string()}).error, HasSubstr("wanted format version 1, got 7"));
}

TEST(Bench, TimesEveryOptimizerAndWritesTheFigures) {
  const TemporaryFolder folder;
  Words words =
      tiny_run(folder / "unused", {"--rounds", "2", "--json", (folder / "times.json").string()});
  words[0] = "bench";
  words.erase(words.begin() + 2, words.begin() + 4);  // --out: a benchmark writes no run
  const Outcome outcome = run_sing(words);
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_THAT(outcome.out,
              HasSubstr("31 tensors, batches of 16; medians of 2 rounds of 5 steps each"));
  const auto times = nlohmann::json::parse(read_whole(folder / "times.json"));
  EXPECT_EQ(times["config"]["task"], "rde");
  EXPECT_EQ(times["config"]["options"]["batch"], 16);
  EXPECT_EQ(times["optimizer_step"].size(), 5U);
  EXPECT_EQ(times["training_step"].size(), 2U);
  for (const char* kind : {"optimizer_step", "training_step"}) {
    EXPECT_EQ(times[kind][0]["title"], "torch AdamW, fused");
    EXPECT_EQ(times[kind][0]["ratio"]["median"], 1);
    for (const nlohmann::json& row : times[kind]) {
      EXPECT_GT(row["milliseconds"]["median"].get<double>(), 0);
    }
  }
  EXPECT_FALSE(fs::exists(folder / "unused"));
}

TEST(Bench, RefusesMoreBatchesThanAnEpochHasBeforeItTimesAnything) {
  const TemporaryFolder folder;
  Words words = tiny_run(folder / "unused", {"--batches", "1000"});
  words[0] = "bench";
  words.erase(words.begin() + 2, words.begin() + 4);
  const Outcome outcome = run_sing(words);
  EXPECT_THAT(outcome.error, HasSubstr("[--batches] wanted at most the 16 of an epoch, got 1000"));
  EXPECT_EQ(outcome.out, "");
}

// Sentences come in batches of several shapes. A round takes the 4 batches 5 times, so that the
// steps are whole periods of LookAhead.
TEST(Bench, TakesSeveralBatchesInTurnsAndWritesATrace) {
  const TemporaryFolder folder;
  const Outcome outcome = run_sing({"bench",
                                    "translation",
                                    "--stand-in",
                                    "--stand-in-train",
                                    "200",
                                    "--layers",
                                    "1",
                                    "--width",
                                    "16",
                                    "--heads",
                                    "2",
                                    "--feed-forward",
                                    "16",
                                    "--batch",
                                    "64",
                                    "--device",
                                    "cpu",
                                    "--rounds",
                                    "1",
                                    "--batches",
                                    "4",
                                    "--json",
                                    folder / "times.json",
                                    "--trace",
                                    folder / "trace.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const auto times = nlohmann::json::parse(read_whole(folder / "times.json"));
  EXPECT_EQ(times["steps_a_round"], 20);
  ASSERT_EQ(times["batches"].size(), 4U);
  double units = 0;
  for (const nlohmann::json& batch : times["batches"]) {
    ASSERT_EQ(batch["parts"].size(), 1U);
    const nlohmann::json& shapes = batch["parts"][0];  // of source and target
    EXPECT_LE(shapes[1][0].get<int>() * shapes[1][1].get<int>(), 64);
    EXPECT_LE(batch["units"].get<int>(), shapes[1][0].get<int>() * shapes[1][1].get<int>());
    units += batch["units"].get<double>();
  }
  EXPECT_EQ(times["units_a_step"], units / 4);
  const auto trace = nlohmann::json::parse(read_whole(folder / "trace.json"));
  EXPECT_GT(trace["traceEvents"].size(), 100U);
}

}  // namespace
}  // namespace sing::test
