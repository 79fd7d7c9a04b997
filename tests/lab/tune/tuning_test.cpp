// Checks `sing tune` with a program that replaces the training: which runs it starts, keeps and
// resumes, and what it writes.
#include "lab/tune/tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/lab/compare/fake_training.hpp"

namespace sing::lab::tune {
namespace {

using nlohmann::json;
using test::calls;
using test::read_whole;
using test::Said;
using test::TemporaryFolder;
using test::write_whole;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Said tune(const TemporaryFolder& folder, std::vector<std::string> words,
          const std::vector<std::string>& flags = {}) {
  words.insert(words.begin(), {"sing", "tune", "task"});
  return test::say_with_plan(folder, std::move(words), flags);
}

// Likewise, by the protocol of the paper.
Said tune_by_paper(const TemporaryFolder& folder, std::vector<std::string> words,
                   const std::vector<std::string>& flags = {}) {
  words.insert(words.end(), {"--protocol", "paper"});
  return tune(folder, std::move(words), flags);
}

// Returns the names of the runs that were started, in order.
std::vector<std::string> started(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& call : calls(folder)) {
    const auto out = std::find(call.begin(), call.end(), "--out");
    names.push_back(std::filesystem::path(*std::next(out)).filename().string());
  }
  return names;
}

json record(const TemporaryFolder& folder) {
  return json::parse(read_whole(folder / "runs/tune.json"));
}

// The best rate is the last of the grid until 0.05 diverges; decay 0.05 is AdamW's default.
constexpr const char* kPlan = R"({
  "lr5e-04_wd0.05_seed0": {"accuracy": 0.25, "loss": 4},
  "lr0.001_wd0.05_seed0": {"accuracy": 0.375, "loss": 3},
  "lr0.005_wd0.05_seed0": {"accuracy": 0.5, "loss": 2},
  "lr0.01_wd0.05_seed0": {"accuracy": 0.625, "loss": 1},
  "lr0.05_wd0.05_seed0": {"status": "diverged"},
  "lr0.01_wd5e-04_seed0": {"accuracy": 0.75, "loss": 1},
  "lr0.01_wd0.005_seed0": {"accuracy": 0.625, "loss": 1},
  "lr0.01_wd0.5_seed0": {"accuracy": 0.125, "loss": 5},
  "lr0.01_wd5e-05_seed0": {"accuracy": 0.6875, "loss": 1}})";

TEST(Tune, WalksTheRatesThenTheDecaysAsThePaperDoes) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kPlan);
  const Said said = tune_by_paper(folder, {"--optimizer", "adamw"});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_EQ(said.error, "");
  // The fourth decay of the grid, 0.05 at rate 0.01, is a run that the search for the rate made.
  EXPECT_THAT(started(folder),
              ElementsAre("lr5e-04_wd0.05_seed0", "lr0.001_wd0.05_seed0", "lr0.005_wd0.05_seed0",
                          "lr0.01_wd0.05_seed0", "lr0.05_wd0.05_seed0", "lr0.01_wd5e-04_seed0",
                          "lr0.01_wd0.005_seed0", "lr0.01_wd0.5_seed0", "lr0.01_wd5e-05_seed0"));
  EXPECT_THAT(calls(folder)[0],
              ElementsAre("train", "task", "--optimizer", "adamw", "--learning-rate", "5e-04",
                          "--weight-decay", "0.05", "--seed", "0", "--evaluate-on", "validation",
                          "--plan", std::string(folder / "plan"), "--out",
                          std::string(folder / "runs/lr5e-04_wd0.05_seed0")));
  EXPECT_THAT(said.out,
              HasSubstr("[5] lr0.05_wd0.05_seed0: diverged, 1 s\nlearning rate 0.01 is best"));
  EXPECT_THAT(said.out, HasSubstr("learning rate  weight decay  epochs  accuracy  loss  time\n"
                                  "5e-04          0.05          –       25 %      4     1 s\n"));
  EXPECT_THAT(said.out,
              HasSubstr("0.01           5e-04         –       75 %      1     1 s   best\n"));
  EXPECT_THAT(said.out,
              HasSubstr("0.05           0.05          –       –         –     1 s   diverged\n"));
  EXPECT_THAT(said.out, HasSubstr("best: sing train task --optimizer adamw --learning-rate 0.01 "
                                  "--weight-decay 5e-04 --seed 0 --plan"));
}

TEST(Tune, WithoutAnAccuracyTheLowestLossIsBestAndOtherScoresAreShown) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", R"({
    "lr5e-04_wd0.05_seed0": {"loss": 4, "scores": {"bits per byte": 6}},
    "lr0.001_wd0.05_seed0": {"loss": 2, "scores": {"bits per byte": 3}},
    "lr0.005_wd0.05_seed0": {"loss": 3, "scores": {"bits per byte": 4.5}},
    "lr0.01_wd0.05_seed0": {"status": "diverged"}})");
  const Said said = tune_by_paper(folder, {"--optimizer", "adamw", "--rates-only"});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_THAT(said.out, HasSubstr("[1] lr5e-04_wd0.05_seed0: loss 4, bits per byte 6, 1 s\n"));
  EXPECT_THAT(said.out,
              HasSubstr("learning rate  weight decay  epochs  loss  bits per byte  time\n"
                        "5e-04          0.05          –       4     6              1 s\n"
                        "0.001          0.05          –       2     3              1 s   best\n"
                        "0.005          0.05          –       3     4.5            1 s\n"
                        "0.01           0.05          –       –     –              1 s   diverged\n"
                        "loss: on the validation set\n"));
  EXPECT_EQ(record(folder)["best"]["learning_rate"], 0.001);
  EXPECT_EQ(record(folder)["results"][1]["scores"]["bits per byte"], 3);
}

TEST(Tune, RatesAloneLeaveTheDecay) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kPlan);
  const Said said = tune_by_paper(folder, {"--optimizer", "adamw", "--rates-only"});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_EQ(started(folder).size(), 5U);
  EXPECT_EQ(record(folder)["best"], json({{"learning_rate", 0.01}, {"weight_decay", 0.05}}));
  const Said halving = tune(
      folder, {"--optimizer", "adamw", "--rates-only", "--protocol", "halving", "--epochs", "8"});
  EXPECT_EQ(halving.code, command::kUsage);
  EXPECT_THAT(halving.error, HasSubstr("--rates-only: wanted --protocol budget or paper"));
}

TEST(Tune, AnotherTuningInTheSameFolderIsRefused) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kPlan);
  ASSERT_EQ(tune_by_paper(folder, {"--optimizer", "adamw", "--rates-only"}).code,
            command::kSuccess);
  const json before = record(folder);
  const Said other = tune_by_paper(folder, {"--optimizer", "sgd", "--rates-only"});
  EXPECT_EQ(other.code, command::kUsage);
  EXPECT_THAT(other.error, HasSubstr(R"(holds a tuning with optimizer "adamw", given "sgd")"));
  EXPECT_EQ(record(folder), before);
  // The same tuning may be extended.
  EXPECT_EQ(tune_by_paper(folder, {"--optimizer", "adamw"}).code, command::kSuccess);
  EXPECT_EQ(record(folder)["best"]["weight_decay"], 5e-4);
}

TEST(Tune, LeavesARecordAndAHeatMap) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kPlan);
  tune_by_paper(folder, {"--optimizer", "adamw"});
  const json left = record(folder);
  EXPECT_EQ(left["protocol"], "paper");
  EXPECT_EQ(left["grid"]["learning_rates"], json({5e-4, 1e-3, 5e-3, 1e-2, 5e-2}));
  EXPECT_EQ(left["grid"]["weight_decays"], json({5e-5, 5e-4, 5e-3, 5e-2, 5e-1}));
  EXPECT_EQ(left["best"], json({{"learning_rate", 0.01}, {"weight_decay", 5e-4}}));
  ASSERT_EQ(left["results"].size(), 9U);
  EXPECT_EQ(left["results"][4]["outcome"], "diverged");
  EXPECT_TRUE(left["results"][4]["accuracy"].is_null());
  EXPECT_EQ(left["results"][5]["accuracy"], 0.75);
  EXPECT_EQ(left["results"][5]["run"], "lr0.01_wd5e-04_seed0");

  const std::string page = read_whole(folder / "runs/report.html");
  EXPECT_THAT(page, HasSubstr("<h2>Tuning of adamw</h2>"));
  EXPECT_THAT(page,
              HasSubstr("<th>5e-04</th><th>0.001</th><th>0.005</th><th>0.01</th><th>0.05</th>"));
  // The best run has the light end of the scale, the worst the dark end, a diverged run no color.
  EXPECT_THAT(page,
              HasSubstr("<td class=\"best\" style=\"background:rgb(253,231,37);color:#000\">75 %"));
  EXPECT_THAT(page, HasSubstr("<td style=\"background:rgb(68,1,84);color:#fff\">12.5 %</td>"));
  EXPECT_THAT(page, HasSubstr("<td>diverged</td>"));
  EXPECT_THAT(page, HasSubstr("task: 9 runs"));
}

TEST(Tune, GridsOfSingBeginTenTimesHigher) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", R"({
    "lr0.005_wd0.05_epochs3_seed7": {"accuracy": 0.1, "loss": 1},
    "lr0.01_wd0.05_epochs3_seed7": {"accuracy": 0.1, "loss": 1},
    "lr0.05_wd0.05_epochs3_seed7": {"accuracy": 0.3, "loss": 1},
    "lr0.1_wd0.05_epochs3_seed7": {"accuracy": 0.2, "loss": 1},
    "lr0.05_wd5e-04_epochs3_seed7": {"accuracy": 0.1, "loss": 1},
    "lr0.05_wd0.005_epochs3_seed7": {"accuracy": 0.1, "loss": 1},
    "lr0.05_wd0.5_epochs3_seed7": {"accuracy": 0.1, "loss": 1}})");
  const Said said =
      tune_by_paper(folder, {"--optimizer", "sing-adamw", "--epochs", "3", "--seed", "7"});
  EXPECT_EQ(said.code, command::kSuccess) << said.error << said.out;
  EXPECT_EQ(calls(folder).size(), 7U);
  EXPECT_THAT(calls(folder)[0], Contains("--epochs"));
  EXPECT_EQ(record(folder)["best"]["weight_decay"], 0.05);
}

TEST(Tune, TheSameCommandContinuesAfterAStop) {
  const TemporaryFolder folder;
  json plan = json::parse(kPlan);
  plan["lr0.005_wd0.05_seed0"]["interrupt"] = true;
  write_whole(folder / "plan", plan.dump());
  const Said said = tune_by_paper(folder, {"--optimizer", "adamw"});
  EXPECT_EQ(said.code, command::kInterruptedExit);
  EXPECT_THAT(said.out, HasSubstr("[3] lr0.005_wd0.05_seed0: interrupted\n"));
  EXPECT_THAT(said.out, HasSubstr("run the same command again"));
  EXPECT_THAT(said.out, Not(HasSubstr("best: ")));
  EXPECT_EQ(calls(folder).size(), 3U);
  EXPECT_TRUE(record(folder)["best"].is_null());

  const Said again = tune_by_paper(folder, {"--optimizer", "adamw"});
  EXPECT_EQ(again.code, command::kSuccess) << again.error;
  EXPECT_EQ(calls(folder).size(), 3U + 7);
  EXPECT_THAT(again.out,
              HasSubstr("[1] lr5e-04_wd0.05_seed0: accuracy 25 %, loss 4, 1 s (kept)\n"));
  EXPECT_EQ(calls(folder)[3].back(), "--resume");
  EXPECT_EQ(record(folder)["results"].size(), 9U);
}

TEST(Tune, AFailedRunEndsItBecauseTheNextDependsOnIt) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", R"({"lr5e-04_wd0.05_seed0": {"crash": 7}})");
  const Said said = tune_by_paper(folder, {"--optimizer", "adamw"});
  EXPECT_EQ(said.code, command::kFailure);
  EXPECT_THAT(said.error, HasSubstr("wanted a result of lr5e-04_wd0.05_seed0"));
  EXPECT_EQ(calls(folder).size(), 1U);
}

TEST(Tune, WhereEverythingDivergesThereIsNoBest) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", R"({
    "lr5e-04_wd0.05_seed0": {"status": "diverged"}, "lr0.001_wd0.05_seed0": {"status": "diverged"},
    "lr0.005_wd0.05_seed0": {"status": "diverged"}, "lr0.01_wd0.05_seed0": {"status": "diverged"},
    "lr1e-04_wd0.05_seed0": {"status": "diverged"}})");
  const Said said = tune_by_paper(folder, {"--optimizer", "adamw", "--extensions", "1"});
  EXPECT_EQ(said.code, command::kDivergedExit) << said.error;
  EXPECT_THAT(said.out, HasSubstr("no run finished: every learning rate down to 1e-04 diverged\n"));
  EXPECT_EQ(calls(folder).size(), 5U);
}

TEST(Tune, TheFirstWeightDecayIsTheFlagsOrTheConfigsOrTheOptimizersOwn) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", "{}");
  write_whole(folder / "recipe.toml", "weight_decay = 0.25\n");
  const std::vector<std::string> config = {"--config", folder / "recipe.toml"};
  tune_by_paper(folder, {"--optimizer", "adamw"}, config);
  tune_by_paper(folder, {"--optimizer", "adamw", "--weight-decay", "0.5"}, config);
  EXPECT_EQ(calls(folder)[0][7], "0.25");
  EXPECT_EQ(calls(folder)[1][7], "0.5");
  const TemporaryFolder other;
  write_whole(other / "plan", "{}");
  tune_by_paper(other, {"--optimizer", "adabelief"});
  EXPECT_EQ(calls(other)[0][7], "5e-04");
}

TEST(Tune, HalvingTrainsEachRoundAnew) {
  const TemporaryFolder folder;
  json plan;
  const std::vector<std::string> rates = {"5e-04", "0.001", "0.005", "0.01"};
  const std::vector<std::string> decays = {"5e-04", "0.005", "0.05", "0.5"};
  for (std::size_t rate = 0; rate < 4; ++rate) {
    for (std::size_t decay = 0; decay < 4; ++decay) {
      for (const char* epochs : {"1", "2", "4", "8"}) {
        // In round 1 the larger rates are better; after that, the larger decays.
        const double accuracy = *epochs == '1' ? static_cast<double>(4 * rate + decay) / 16
                                               : static_cast<double>(4 * decay + rate) / 16;
        plan["lr" + rates[rate] + "_wd" + decays[decay] + "_epochs" + epochs + "_seed0"] = {
            {"accuracy", accuracy}, {"loss", 1}};
      }
    }
  }
  plan["lr0.01_wd0.5_epochs2_seed0"] = {{"status", "diverged"}};
  write_whole(folder / "plan", plan.dump());
  const Said said =
      tune(folder, {"--optimizer", "adamw", "--protocol", "halving", "--epochs", "8"});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  const std::vector<std::string> names = started(folder);
  ASSERT_EQ(names.size(), 16U + 8 + 4 + 2);
  // Round 2 has rates 0.005 and 0.01. Round 3 has its best four, decays 0.5, 0.05, 0.05 and 0.005.
  EXPECT_EQ(names[16], "lr0.01_wd0.5_epochs2_seed0");
  EXPECT_THAT(std::vector(names.begin() + 24, names.end()),
              ElementsAre("lr0.005_wd0.5_epochs4_seed0", "lr0.01_wd0.05_epochs4_seed0",
                          "lr0.005_wd0.05_epochs4_seed0", "lr0.01_wd0.005_epochs4_seed0",
                          "lr0.005_wd0.5_epochs8_seed0", "lr0.01_wd0.05_epochs8_seed0"));
  EXPECT_THAT(said.out, HasSubstr("round 2 of 4: 8 runs of 2 epochs, each from its start\n"));
  for (const auto& call : calls(folder)) {
    EXPECT_THAT(call, Not(Contains("--resume")));
  }
  EXPECT_EQ(record(folder)["best"],
            json({{"learning_rate", 0.005}, {"weight_decay", 0.5}, {"epochs", 8}}));
}

// AdamW begins at 1e-3. The accuracies have their peak at 1.8e-3, and at a decay of 0.16.
constexpr const char* kBudgetPlan = R"({
  "lr0.001_wd0.05_seed0": {"accuracy": 0.5, "loss": 1},
  "lr0.00032_wd0.05_seed0": {"accuracy": 0.25, "loss": 1},
  "lr0.0032_wd0.05_seed0": {"accuracy": 0.4, "loss": 1},
  "lr0.0018_wd0.05_seed0": {"accuracy": 0.75, "loss": 1},
  "lr0.00056_wd0.05_seed0": {"accuracy": 0.4, "loss": 1},
  "lr0.0018_wd0.005_seed0": {"accuracy": 0.5, "loss": 1},
  "lr0.0018_wd0.5_seed0": {"accuracy": 0.625, "loss": 1},
  "lr0.0018_wd0.16_seed0": {"accuracy": 0.875, "loss": 1}})";

TEST(Tune, ABudgetIsSpentAroundTheBest) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kBudgetPlan);
  const std::vector<std::string> words = {"--optimizer", "adamw",        "--rate-runs",
                                          "5",           "--decay-runs", "3"};
  const Said said = tune(folder, words);
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_THAT(started(folder), ElementsAre("lr0.001_wd0.05_seed0", "lr0.00032_wd0.05_seed0",
                                           "lr0.0032_wd0.05_seed0", "lr0.0018_wd0.05_seed0",
                                           "lr0.00056_wd0.05_seed0", "lr0.0018_wd0.005_seed0",
                                           "lr0.0018_wd0.5_seed0", "lr0.0018_wd0.16_seed0"));
  for (const auto& call : calls(folder)) {
    EXPECT_THAT(call, Contains("--evaluate-on"));
    EXPECT_THAT(call, Contains("validation"));
  }
  EXPECT_THAT(said.out, HasSubstr("accuracy and loss: on the validation set\n"));
  // The command of the final training leaves the evaluation to the test set.
  EXPECT_THAT(said.out, HasSubstr("best: sing train task --optimizer adamw --learning-rate 0.0018 "
                                  "--weight-decay 0.16 --seed 0 --plan"));
  EXPECT_THAT(said.out, Not(HasSubstr("was not tried between"))) << "0.05 and 0.5 were tried";
  const json left = record(folder);
  EXPECT_EQ(left["protocol"], "budget");
  EXPECT_EQ(left["evaluate_on"], "validation");
  EXPECT_EQ(left["grid"]["learning_rates"], json({3.2e-4, 5.6e-4, 1e-3, 1.8e-3, 3.2e-3}));
  EXPECT_EQ(left["best"], json({{"learning_rate", 0.0018}, {"weight_decay", 0.16}}));
  const std::string text = read_whole(folder / "runs/tune.json");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 23) << "a line per value and per result\n"
                                                            << text;

  const TemporaryFolder other;
  write_whole(other / "plan", kBudgetPlan);
  std::vector<std::string> more = words;
  more.insert(more.end(), {"--jobs", "3"});
  EXPECT_EQ(tune(other, more).code, command::kSuccess);
  EXPECT_EQ(record(other)["best"], left["best"]) << "jobs change nothing";
  EXPECT_EQ(record(other)["results"], left["results"]);
}

TEST(Tune, ABestValueWithoutTriedNeighborsIsNamed) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kBudgetPlan);
  const Said said = tune(folder, {"--optimizer", "adamw", "--rate-runs", "4", "--rates-only"});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_THAT(said.out, Not(HasSubstr("was not tried between"))) << "1e-3 and 3.2e-3 were tried";

  const TemporaryFolder other;
  write_whole(other / "plan", kBudgetPlan);
  const Said fewer = tune(other, {"--optimizer", "adamw", "--rate-runs", "3", "--rates-only"});
  EXPECT_EQ(fewer.code, command::kSuccess) << fewer.error;
  EXPECT_THAT(fewer.out, HasSubstr("the best learning rate, 0.001, was not tried between its two "
                                   "neighbors: more --rate-runs would"));
}

TEST(Tune, TheTestSetIsUsedOnRequestAndNotMixedWithTheOther) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kBudgetPlan);
  const std::vector<std::string> words = {"--optimizer", "adamw", "--rate-runs", "1",
                                          "--rates-only"};
  std::vector<std::string> on_test = words;
  on_test.insert(on_test.end(), {"--evaluate-on", "test"});
  ASSERT_EQ(tune(folder, on_test).code, command::kSuccess);
  EXPECT_THAT(calls(folder)[0], Not(Contains("--evaluate-on")));
  const Said mixed = tune(folder, words);
  EXPECT_EQ(mixed.code, command::kUsage);
  EXPECT_THAT(mixed.error, HasSubstr(R"(a tuning with evaluate_on "test", given "validation")"));
}

TEST(Tune, RefusesFlagsThatItSetsItself) {
  const TemporaryFolder folder;
  EXPECT_THAT(tune(folder, {"--optimizer", "adamw"}, {"--lr", "1"}).error,
              HasSubstr("got --lr, which is set for each run"));
  EXPECT_THAT(tune(folder, {"--optimizer", "adamw", "--epochs", "2"}, {"--steps=4"}).error,
              HasSubstr("got --steps, which is set for each run"));
  EXPECT_THAT(tune(folder, {"--optimizer", "adamv"}).error, HasSubstr("adamw"));
  const Said halving = tune(folder, {"--optimizer", "adamw", "--protocol", "halving"});
  EXPECT_EQ(halving.code, command::kUsage);
  EXPECT_THAT(halving.error, HasSubstr("wanted --epochs"));
  EXPECT_EQ(tune(folder, {"--optimizer", "adamw", "--protocol", "grid"}).code, command::kUsage);
}

}  // namespace
}  // namespace sing::lab::tune
