// Trains with several processes under mpirun and compares with one process, and with jobs that were
// not killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "sing/base/message.hpp"
#include "tests/lab/ranks/job.hpp"

namespace sing::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Names the tensors of the last or best checkpoints that differ.
std::vector<std::string> different_tensors(const fs::path& run, const fs::path& other,
                                           const char* checkpoint) {
  const std::map<std::string, std::string> found = tensors_of(run / "checkpoints" / checkpoint);
  const std::map<std::string, std::string> wanted = tensors_of(other / "checkpoints" / checkpoint);
  std::vector<std::string> names;
  for (const auto& [name, bytes] : wanted) {
    if (const auto same = found.find(name); same == found.end() || same->second != bytes) {
      names.push_back(name);
    }
  }
  EXPECT_EQ(found.size(), wanted.size());
  return names;
}

void expect_same_run(const fs::path& run, const fs::path& other) {
  EXPECT_THAT(different_tensors(run, other, "last.safetensors"), IsEmpty());
  EXPECT_THAT(different_tensors(run, other, "best.safetensors"), IsEmpty());
  EXPECT_EQ(timeless_metrics_of(run), timeless_metrics_of(other));
}

const Words kShortRun = {"--steps",     "24", "--evaluate-steps", "8",
                         "--log-steps", "3",  "--norm-steps",     "6"};

// One process that computes the halves of a batch one after the other adds the same numbers:
// g₀ / 2 + g₁ / 2 there and (g₀ + g₁) / 2 here, and halving is exact.
TEST(Ranks, TwoProcessesWriteTheBitsOfOneThatAccumulatesTwoParts) {
  const TemporaryFolder folder;
  for (const char* optimizer : {"sing-adamw", "adahessian", "nvlamb"}) {
    SCOPED_TRACE(optimizer);
    const Words run = with(kShortRun, {"--optimizer", optimizer});
    const fs::path one = folder / fmt::format("{}_one", optimizer);
    const fs::path two = folder / fmt::format("{}_two", optimizer);
    ASSERT_EQ(run_sing(tiny_run(one, with(run, {"--accumulate", "2"}))).code, 0);
    const Outcome job = run_job(2, tiny_run(two, run));
    ASSERT_EQ(job.code, 0) << job.out;
    EXPECT_THAT(job.out, HasSubstr("on cpu in 2 processes\n"));
    // Each step seeds the generators of several ranks.
    EXPECT_THAT(different_tensors(two, one, "last.safetensors"), ElementsAre("random.cpu"));
    EXPECT_THAT(different_tensors(two, one, "best.safetensors"), IsEmpty());
    EXPECT_EQ(timeless_metrics_of(two), timeless_metrics_of(one));
  }
}

// The first loss is a mean over 16 images of 16 × 16 pixels, of predictions through two blocks of
// width 32. Every sum on the way adds at most as many numbers as there are pixels in the batch, and
// the numbers of the blocks' sums, of 128 addends at most, follow one another at most 16 times.
constexpr double kAdditions = 16 * 16 * 16 + 16 * 128;
constexpr double kLossTolerance = kAdditions * std::numeric_limits<float>::epsilon();

TEST(Ranks, TheFirstLossIsThatOfOneProcessWithTheSameBatch) {
  const TemporaryFolder folder;
  const Words steps = {"--steps", "1", "--log-steps", "1"};
  ASSERT_EQ(run_sing(tiny_run(folder / "one", steps)).code, 0);
  const double one = metrics_of(folder / "one").front()["loss"];
  for (const int ranks : {2, 4}) {
    const fs::path run = folder / std::to_string(ranks);
    const Outcome job = run_job(ranks, tiny_run(run, steps));
    ASSERT_EQ(job.code, 0) << job.out;
    EXPECT_NEAR(metrics_of(run).front()["loss"], one, kLossTolerance * one);
  }
}

TEST(Ranks, EvaluationsAreThoseOfOneProcess) {
  const TemporaryFolder folder;
  const Words run = {"--steps", "1", "--batch", "15"};
  ASSERT_EQ(run_sing(tiny_run(folder / "one", run)).code, 0);
  const Outcome job = run_job(3, tiny_run(folder / "three", run));
  ASSERT_EQ(job.code, 0) << job.out;
  const auto evaluation_of = [&](const char* name) {
    const std::vector<nlohmann::json> lines = metrics_of(folder / name);
    return *std::ranges::find(lines, "evaluation", [](const auto& line) { return line["kind"]; });
  };
  const double loss = evaluation_of("one")["loss"];
  EXPECT_NEAR(evaluation_of("three")["loss"], loss, kLossTolerance * loss);
  EXPECT_EQ(evaluation_of("three")["accuracy"], evaluation_of("one")["accuracy"]);
}

const Words kLongRun = {"--steps",      "300", "--evaluate-steps",   "4", "--log-steps", "3",
                        "--norm-steps", "6",   "--checkpoint-steps", "7"};

class KilledRank : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, KilledRank, testing::Values(0, 1));

TEST_P(KilledRank, EndsTheJobWithAMessageAndTheRunGoesOnToTheSameBits) {
  const TemporaryFolder folder;
  const fs::path run = folder / "killed";
  const Words words = with(tiny_run(run, kLongRun), {"--resume"});
  const Outcome reference = run_job(2, tiny_run(folder / "reference", kLongRun));
  ASSERT_EQ(reference.code, 0) << reference.out;
  {
    const std::unique_ptr<ChildProcess> job = start_job(2, words);
    ASSERT_TRUE(wait_for_job_evaluations(*job, 5));
    const pid_t first = first_rank(run);
    std::vector<pid_t> ranks = ranks_of(*job);
    ASSERT_EQ(ranks.size(), 2U);
    std::ranges::sort(ranks, {}, [&](pid_t rank) { return rank != first; });
    ASSERT_EQ(ranks[0], first);
    ::kill(ranks[static_cast<std::size_t>(GetParam())], SIGKILL);
    const Outcome end = end_of(*job);
    EXPECT_NE(end.code, 0);
    EXPECT_THAT(end.out, HasSubstr(fmt::format("process rank {}", GetParam())));
    EXPECT_THAT(end.out, HasSubstr("signal 9"));
  }
  ASSERT_NE(metrics_of(run).back()["kind"], "end");
  const Outcome rest = run_job(2, words);
  ASSERT_EQ(rest.code, 0) << rest.out;
  EXPECT_THAT(rest.out, HasSubstr("resuming from step "));
  expect_same_run(run, folder / "reference");
}

// Running statistics differ between ranks; those of rank 0 are in the checkpoint.
TEST(Ranks, BatchNormalizationGoesOnToTheSameBits) {
  const TemporaryFolder folder;
  const auto words = [&](const char* name, const char* steps) {
    return Words{
        "train", "mnist",       "--stand-in",  "--stand-in-train", "32", "--stand-in-test",
        "16",    "--out",       folder / name, "--batch",          "8",  "--evaluate-steps",
        "2",     "--log-steps", "1",           "--threads",        "1",  "--device",
        "cpu",   "--schedule",  "constant",    "--steps",          steps};
  };
  const Outcome whole = run_job(2, words("whole", "6"));
  ASSERT_EQ(whole.code, 0) << whole.out;
  ASSERT_EQ(run_job(2, words("parts", "3")).code, 0);
  const Outcome rest = run_job(2, with(words("parts", "6"), {"--resume"}));
  ASSERT_EQ(rest.code, 0) << rest.out;
  EXPECT_THAT(different_tensors(folder / "parts", folder / "whole", "last.safetensors"), IsEmpty());
  EXPECT_EQ(timeless_metrics_of(folder / "parts").back()["final_loss"],
            timeless_metrics_of(folder / "whole").back()["final_loss"]);
}

// The checkpoint has the whole state, so that a job with it goes on without it and with it again.
TEST(Ranks, SharedStateGivesTheSameBitsAndCheckpoints) {
  const TemporaryFolder folder;
  for (const char* optimizer : {"sing-adamw", "adahessian", "schedule_free_adamw", "muon"}) {
    SCOPED_TRACE(optimizer);
    const auto words = [&](const char* name, const char* steps, const Words& more) {
      return tiny_run(folder / fmt::format("{}_{}", optimizer, name),
                      with({"--optimizer", optimizer, "--schedule", "constant", "--evaluate-steps",
                            "8", "--log-steps", "4", "--norm-steps", "8", "--steps", steps},
                           more));
    };
    for (const Words& job : {words("whole", "24", {}), words("shared", "8", {"--shard-state"}),
                             words("shared", "16", {"--resume"}),
                             words("shared", "24", {"--resume", "--shard-state"})}) {
      const Outcome end = run_job(2, job);
      ASSERT_EQ(end.code, 0) << end.out;
    }
    expect_same_run(folder / fmt::format("{}_shared", optimizer),
                    folder / fmt::format("{}_whole", optimizer));
  }
}

TEST(Ranks, SharedStateRefusesWhatNeedsAllGradients) {
  const TemporaryFolder folder;
  for (const Words& flags : {Words{"--optimizer", "nvlamb"}, Words{"--non-finite", "skip_step"}}) {
    const Outcome job = run_job(2, tiny_run(folder / "run", with(flags, {"--shard-state"})));
    EXPECT_EQ(job.code, lab::command::kUsage);
    EXPECT_THAT(job.out, HasSubstr("[--shard-state] wanted"));
  }
}

TEST(Ranks, AnotherNumberOfRanksIsRefusedByName) {
  const TemporaryFolder folder;
  const fs::path run = folder / "two";
  ASSERT_EQ(run_job(2, tiny_run(run, {"--steps", "2"})).code, 0);
  EXPECT_THAT(read_whole(run / "config.json"), HasSubstr("\"ranks\": 2"));
  const Words longer = with(tiny_run(run, {"--steps", "4"}), {"--resume"});
  const Outcome alone = run_sing(longer);
  EXPECT_EQ(alone.code, lab::command::kUsage);
  EXPECT_THAT(alone.error, HasSubstr("wanted ranks = 2, with which the run was started (mpirun -n "
                                     "2), got ranks = 1"));
  const Outcome four = run_job(4, longer);
  EXPECT_EQ(four.code, lab::command::kUsage);
  EXPECT_THAT(four.out, HasSubstr("wanted ranks = 2"));

  const fs::path one = folder / "one";
  ASSERT_EQ(run_sing(tiny_run(one, {"--steps", "2"})).code, 0);
  EXPECT_THAT(read_whole(one / "config.json"), Not(HasSubstr("\"ranks\"")));
  const Outcome two = run_job(2, with(tiny_run(one, {"--steps", "4"}), {"--resume"}));
  EXPECT_EQ(two.code, lab::command::kUsage);
  EXPECT_THAT(two.out, HasSubstr("wanted ranks = 1"));
}

TEST(Ranks, ABatchThatTheRanksCannotShareIsRefused) {
  const TemporaryFolder folder;
  const Outcome job = run_job(2, tiny_run(folder / "run", {"--batch", "15"}));
  EXPECT_EQ(job.code, lab::command::kUsage);
  EXPECT_THAT(job.out, HasSubstr("wanted accumulate × ranks = 1 × 2 to divide the batch of 15"));
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(Ranks, OtherCommandsAreRefused) {
  const TemporaryFolder folder;
  for (const Words& words : {Words{"compare", "rde"}, Words{"tune", "rde", "--optimizer", "adamw"},
                             Words{"reproduce", "--table", "rde"}}) {
    const Outcome job = run_job(2, with(words, {"--out", folder / "run"}));
    EXPECT_EQ(job.code, lab::command::kUsage);
    EXPECT_THAT(job.out, HasSubstr(fmt::format("[sing {}] wanted one process, got 2 that mpirun "
                                               "has started",
                                               words.front())));
  }
  EXPECT_FALSE(fs::exists(folder / "run"));
}

// Only rank 0 asks for the lock; the others wait for it when it fails.
TEST(Ranks, AJobWhoseFirstRankFailsEnds) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  const Words words =
      with(tiny_run(run, {"--steps", "1000000", "--evaluate-steps", "4"}), {"--resume"});
  const std::unique_ptr<ChildProcess> first = start_job(2, words);
  ASSERT_TRUE(wait_for_job_evaluations(*first, 1));
  const Outcome second = run_job(2, words);
  EXPECT_NE(second.code, 0);
  EXPECT_THAT(second.out, HasSubstr("a run directory that no other process uses"));
}

}  // namespace
}  // namespace sing::test
