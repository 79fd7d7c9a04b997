// Checks `sing compare` with a program that replaces the training: which runs are started, kept and
// resumed, and what is reported about runs that fail.
#include "lab/compare/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <sstream>

#include "lab/command/command_context.hpp"
#include "sing/base/error.hpp"
#include "tests/lab/compare/fake_training.hpp"

namespace sing::lab::compare {
namespace {

using test::calls;
using test::kFakeTrain;
using test::read_whole;
using test::Said;
using test::TemporaryFolder;
using test::write_whole;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Runs `sing compare task …` with the plan in the folder and the runs in its "runs".
Said compare(const TemporaryFolder& folder, std::vector<std::string> words,
             const std::vector<std::string>& flags = {}) {
  words.insert(words.begin(), {"sing", "compare", "task"});
  return test::say_with_plan(folder, std::move(words), flags);
}

constexpr const char* kPlan = R"({
  "a_lr0.1_seed0": {"accuracy": 0.5, "loss": 0.25, "seconds": 40},
  "a_lr0.1_seed1": {"accuracy": 0.625, "loss": 0.75, "seconds": 60},
  "a_lr0.2_seed0": {"status": "diverged", "seconds": 5},
  "a_lr0.2_seed1": {"accuracy": 0.75, "loss": 0.125, "seconds": 50}})";

TEST(Compare, TrainsTheGridAndPrintsATable) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kPlan);
  const Said said =
      compare(folder, {"--optimizers", "a", "--learning-rates", "0.1,0.2", "--seeds", "0,1"});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_EQ(said.error, "");
  // 0.5 and 0.625 have the spread 0.125 / √2, 0.25 and 0.75 the spread 0.5 / √2.
  EXPECT_EQ(said.out,
            "[1/4] a_lr0.1_seed0: accuracy 50 %, loss 0.25, 40 s\n"
            "[2/4] a_lr0.2_seed0: diverged, 5 s\n"
            "[3/4] a_lr0.1_seed1: accuracy 62.5 %, loss 0.75, 60 s\n"
            "[4/4] a_lr0.2_seed1: accuracy 75 %, loss 0.125, 50 s\n"
            "\n"
            "optimizer  learning rate  runs  accuracy          loss        time\n"
            "a          0.1            2     56.25 % ± 8.84 %  0.5 ± 0.35  50 s  best\n"
            "a          0.2            1     75 %              0.125       50 s  1 of 2 diverged\n"
            "runs: number of finished runs; the other numbers are their mean ± standard deviation; "
            "accuracy and loss: on the test set\n"
            "report: " +
                std::string(folder / "runs/report.html") + "\n");
  EXPECT_THAT(read_whole(folder / "runs/report.html"), HasSubstr("task: 4 runs"));
  ASSERT_EQ(calls(folder).size(), 4U);
  EXPECT_THAT(calls(folder)[1],
              ElementsAre("train", "task", "--optimizer", "a", "--learning-rate", "0.2", "--seed",
                          "0", "--plan", std::string(folder / "plan"), "--out",
                          std::string(folder / "runs/a_lr0.2_seed0")));
}

// A list must include neither the task after it nor the separator before the flags.
TEST(Compare, TakesListsInAnyPlace) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kPlan);
  const std::string plan = folder / "plan";
  const std::string runs = folder / "runs";
  const Said said =
      test::say({"sing", "compare", "--learning-rates", "0.1", "--optimizers", "a", "task",
                 "--program", kFakeTrain, "--out", runs, "--seeds", "0,1", "--", "--plan", plan});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  ASSERT_EQ(calls(folder).size(), 2U);
  EXPECT_EQ(calls(folder)[0][1], "task");
  EXPECT_THAT(calls(folder)[0], testing::Contains("--plan"));
}

TEST(Compare, KeepsWhatIsFinishedAndAddsWhatIsNew) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kPlan);
  compare(folder, {"--optimizers", "a", "--learning-rates", "0.1,0.2"});
  ASSERT_EQ(calls(folder).size(), 2U);
  const Said again =
      compare(folder, {"--optimizers", "a", "--learning-rates", "1e-1,2e-1", "--seeds", "0,1"});
  EXPECT_EQ(again.code, command::kSuccess) << again.error;
  EXPECT_THAT(again.out, HasSubstr("[1/4] a_lr0.1_seed0: accuracy 50 %, loss 0.25, 40 s (kept)\n"));
  EXPECT_THAT(again.out, HasSubstr("[2/4] a_lr0.2_seed0: diverged, 5 s (kept)\n"));
  EXPECT_THAT(again.out, HasSubstr("[4/4] a_lr0.2_seed1: accuracy 75 %, loss 0.125, 50 s\n"));
  EXPECT_EQ(calls(folder).size(), 4U);
}

TEST(Compare, ARepeatedReasonIsPrintedOnce) {
  const TemporaryFolder folder;
  write_whole(folder / "plan",
              R"({"a_seed0": {"crash": 2, "says": "no data"},
                  "b_seed0": {"crash": 2, "says": "no data"},
                  "c_seed0": {"crash": 1, "says": "no memory"}})");
  const Said said = compare(folder, {"--optimizers", "a,b,c"});
  EXPECT_EQ(said.code, command::kFailure);
  const auto log = [&](const std::string& name) {
    return " (" + std::string(folder / ("runs/" + name + ".log")) + ")\n";
  };
  EXPECT_THAT(said.out,
              HasSubstr("[1/3] a_seed0: failed, exit code 2: no data" + log("a_seed0") +
                        "[2/3] b_seed0: failed, for the same reason" + log("b_seed0") +
                        "[3/3] c_seed0: failed, exit code 1: no memory" + log("c_seed0")));
  EXPECT_THAT(said.error, HasSubstr("got 3 that failed, the first: a_seed0"));
}

TEST(Compare, ContinuesAfterAFailureAndResumesIt) {
  const TemporaryFolder folder;
  write_whole(folder / "plan",
              R"({"a_seed0": {"crash": 7}, "b_seed0": {"accuracy": 1, "loss": 0}})");
  const Said said = compare(folder, {"--optimizers", "a,b"});
  EXPECT_EQ(said.code, command::kFailure);
  EXPECT_THAT(
      said.out,
      HasSubstr("[1/2] a_seed0: failed, exit code 7: [fake] a_seed0 cannot go on (" +
                std::string(folder / "runs/a_seed0.log") + ")\n[2/2] b_seed0: accuracy 100 %"));
  EXPECT_THAT(said.out, HasSubstr("1 of 1 failed"));
  EXPECT_EQ(
      said.error,
      "[sing compare] wanted a result of each of 2 runs, got 1 that failed, the first: a_seed0\n");

  write_whole(folder / "plan", R"({"a_seed0": {"accuracy": 0.5, "loss": 0.25}})");
  const Said again = compare(folder, {"--optimizers", "a,b"});
  EXPECT_EQ(again.code, command::kSuccess) << again.error;
  ASSERT_EQ(calls(folder).size(), 3U);
  EXPECT_THAT(calls(folder)[0], Not(Contains("--resume")));
  EXPECT_EQ(calls(folder)[2].back(), "--resume");
  EXPECT_THAT(again.out, HasSubstr("[1/2] a_seed0: accuracy 50 %, loss 0.25, 1 s\n"));
}

TEST(Compare, CtrlCLetsTheRunSaveAndTheSameCommandContinues) {
  const TemporaryFolder folder;
  write_whole(folder / "plan",
              R"({"a_seed0": {"accuracy": 1, "loss": 0},
                  "b_seed0": {"interrupt": true, "accuracy": 0.5, "loss": 0.25},
                  "c_seed0": {"accuracy": 0, "loss": 1}})");
  const Said said = compare(folder, {"--optimizers", "a,b,c"});
  EXPECT_EQ(said.code, command::kInterruptedExit);
  EXPECT_THAT(said.out, HasSubstr("[2/3] b_seed0: interrupted\n\noptimizer"));
  EXPECT_THAT(said.out, HasSubstr("run the same command again"));
  EXPECT_THAT(read_whole(folder / "runs/b_seed0/metrics.jsonl"), HasSubstr("\"interrupted\""));
  EXPECT_EQ(calls(folder).size(), 2U);

  const Said again = compare(folder, {"--optimizers", "a,b,c"});
  EXPECT_EQ(again.code, command::kSuccess) << again.error;
  ASSERT_EQ(calls(folder).size(), 4U);
  EXPECT_EQ(calls(folder)[2].back(), "--resume");
  EXPECT_THAT(again.out, HasSubstr("[2/3] b_seed0: accuracy 50 %"));
}

// Each of the first two runs waits for the other, so they never end unless they run at once.
TEST(Compare, JobsTrainAtOnceAndGiveTheResultsOfOneAfterTheOther) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "door").c_str(), 0600), 0);
  write_whole(folder / "plan",
              R"({"a_seed0": {"accuracy": 0.5, "loss": 1, "meets": "door", "mode": "r"},
                  "b_seed0": {"accuracy": 0.25, "loss": 2, "meets": "door", "mode": "w"},
                  "c_seed0": {"crash": 7},
                  "d_seed0": {"accuracy": 0.75, "loss": 3}})");
  const Said said = compare(folder, {"--optimizers", "a,b,c,d", "--jobs", "2"});
  EXPECT_EQ(said.code, command::kFailure);
  EXPECT_THAT(said.out, HasSubstr("[1/4] a_seed0: accuracy 50 %, loss 1, 1 s\n"));
  EXPECT_THAT(said.out, HasSubstr("[2/4] b_seed0: accuracy 25 %, loss 2, 1 s\n"));
  EXPECT_THAT(said.out, HasSubstr("[3/4] c_seed0: failed, exit code 7"));
  EXPECT_THAT(said.out,
              HasSubstr("\n\noptimizer  learning rate  runs  accuracy  loss  time\n"
                        "a          its own        1     50 %      1     1 s\n"
                        "b          its own        1     25 %      2     1 s\n"
                        "c          its own        0     –         –     –     1 of 1 failed\n"
                        "d          its own        1     75 %      3     1 s\n"));
  EXPECT_EQ(calls(folder).size(), 4U);
}

TEST(Compare, CtrlCStopsAllJobsAndTheSameCommandContinues) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "door").c_str(), 0600), 0);
  write_whole(folder / "plan", R"({
      "a_seed0": {"interrupt": true, "meets": "door", "mode": "r", "accuracy": 0.5, "loss": 1},
      "b_seed0": {"waits": true, "meets": "door", "mode": "w", "accuracy": 0.25, "loss": 2},
      "c_seed0": {"accuracy": 0.75, "loss": 3}})");
  const std::vector<std::string> words = {"--optimizers", "a,b,c", "--jobs", "2"};
  const Said said = compare(folder, words);
  EXPECT_EQ(said.code, command::kInterruptedExit);
  EXPECT_THAT(said.out, HasSubstr("[1/3] a_seed0: interrupted\n"));
  EXPECT_THAT(said.out, HasSubstr("[2/3] b_seed0: interrupted\n"));
  EXPECT_THAT(said.out, HasSubstr("run the same command again"));
  for (const char* name : {"runs/a_seed0/metrics.jsonl", "runs/b_seed0/metrics.jsonl"}) {
    EXPECT_THAT(read_whole(folder / name), HasSubstr("\"interrupted\"")) << name;
  }
  EXPECT_EQ(calls(folder).size(), 2U);

  const Said again = compare(folder, words);
  EXPECT_EQ(again.code, command::kSuccess) << again.error;
  ASSERT_EQ(calls(folder).size(), 5U);
  const auto all = calls(folder);
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const auto& call) { return call.back() == "--resume"; }),
            2);
  EXPECT_THAT(again.out, HasSubstr("[2/3] b_seed0: accuracy 25 %"));
}

// A run that cannot be started must not leave the others behind.
TEST(Compare, AFailureToStartLetsTheOtherJobsSave) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", R"({"a_seed0": {"waits": true}, "b_seed0": {"waits": true}})");
  std::filesystem::create_directories(folder / "runs/b_seed0.log");  // cannot be opened as a file
  const Said said = compare(folder, {"--optimizers", "a,b", "--jobs", "2"});
  EXPECT_EQ(said.code, command::kFailure);
  EXPECT_THAT(said.error, HasSubstr("b_seed0.log] cannot be opened"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(Compare, RefusesRunsOfAnotherCommandBeforeItStartsAny) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kPlan);
  compare(folder, {"--optimizers", "a", "--learning-rates", "0.1"}, {"--epochs", "1"});
  ASSERT_EQ(calls(folder).size(), 1U);
  const Said said =
      compare(folder, {"--optimizers", "a", "--learning-rates", "0.2,0.1"}, {"--epochs", "2"});
  EXPECT_EQ(said.code, command::kFailure);
  EXPECT_THAT(said.error,
              HasSubstr("a_lr0.1_seed0.command] this run was started with other flags"));
  EXPECT_THAT(said.error, HasSubstr("--epochs 1', got 'train task"));
  EXPECT_EQ(calls(folder).size(), 1U);

  std::filesystem::create_directories(folder / "runs/a_lr0.2_seed0");
  write_whole(folder / "runs/a_lr0.2_seed0/config.json", "{}");
  const Said foreign = compare(folder, {"--optimizers", "a", "--learning-rates", "0.2"});
  EXPECT_EQ(foreign.code, command::kFailure);
  EXPECT_THAT(foreign.error, HasSubstr("wanted a run of sing compare, tune or reproduce"));
}

TEST(Compare, FlagsThatNeverStartedARunMayBeReplaced) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", "no plan: the program fails before it makes a run");
  EXPECT_EQ(compare(folder, {"--optimizers", "a"}, {"--epohcs", "1"}).code, command::kFailure);
  write_whole(folder / "plan", R"({"a_seed0": {"accuracy": 0.5, "loss": 0.25}})");
  const Said said = compare(folder, {"--optimizers", "a"}, {"--epochs", "1"});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_THAT(calls(folder).back(), Not(Contains("--resume")));
}

TEST(Compare, AProgramThatCannotBeStartedIsNamed) {
  const TemporaryFolder folder;
  const std::vector<Cell> cells = cells_of({.task = "t", .optimizers = {"a"}, .seeds = {0}});
  std::ostringstream out;
  EXPECT_THAT(test::message_of<FileError>([&] {
                run_comparison(cells, {.folder = folder / "runs", .program = folder / "absent"},
                               out, [] { return false; });
              }),
              HasSubstr("absent] cannot be started: No such file"));
}

TEST(LastLine, SkipsEmptyLinesAndLongBeginnings) {
  const TemporaryFolder folder;
  EXPECT_EQ(last_line(folder / "absent"), "");
  write_whole(folder / "log", std::string(10000, 'x') + "\nfirst\nlast\n\n \n");
  EXPECT_EQ(last_line(folder / "log"), "last");
}

}  // namespace
}  // namespace sing::lab::compare
