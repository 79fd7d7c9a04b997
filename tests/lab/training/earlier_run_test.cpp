// Checks that a run that version 0.1.0 wrote is read, resumed and reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "lab/page/html_text.hpp"
#include "lab/run/run_config.hpp"
#include "lab/run/run_directory.hpp"
#include "lab/run/run_reader.hpp"
#include "tests/lab/training/tiny_run.hpp"

namespace sing::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kEarlierRun = SING_TEST_DATA "/fixtures/earlier/run";

TEST(EarlierRun, IsRead) {
  const lab::run::RunRecord run = lab::run::read_run(kEarlierRun);
  EXPECT_EQ(run.unreadable_lines, 0);
  EXPECT_EQ(run.setting("task"), "rde");
  EXPECT_EQ(run.setting("optimizer"), "sing-adamw");
  EXPECT_EQ(run.setting("commit"), "7d590e71fce9");
  ASSERT_EQ(run.steps.size(), 16U);
  EXPECT_EQ(run.steps.back().step, 80);
  EXPECT_EQ(run.steps.back().epoch, 10);
  EXPECT_EQ(run.steps.back().loss, 0.07297462821006775);
  EXPECT_EQ(run.steps.back().learning_rate, 0.035419546512382265);
  EXPECT_EQ(run.steps.back().units_per_second, 12043.473325663648);
  EXPECT_EQ(run.steps.back().data_seconds, 2.48068e-05);
  EXPECT_EQ(run.steps.back().forward_backward_seconds, 0.0006208896);
  EXPECT_EQ(run.steps.back().optimizer_seconds, 1.80648e-05);
  ASSERT_EQ(run.steps.back().gradient_norms.size(), 19U);
  EXPECT_EQ(run.steps.back().gradient_norms.front().first, "pos_embed");
  EXPECT_EQ(run.steps.back().gradient_norms.front().second, 0.0026561365476959614);
  ASSERT_EQ(run.evaluations.size(), 1U);
  EXPECT_EQ(run.evaluations.front().step, 50);
  ASSERT_TRUE(run.end);
  EXPECT_EQ(run.end->status, lab::run::RunStatus::kInterrupted);
  EXPECT_EQ(run.end->final_loss, 0.06655506882816553);
  EXPECT_FALSE(run.is_complete());
  ASSERT_EQ(run.pictures.size(), 1U);

  const lab::run::RecordedConfig config =
      lab::run::read_config(lab::run::RunDirectory(kEarlierRun).config());
  EXPECT_EQ(config.task, "rde");
  EXPECT_EQ(config.options.size(), 59U);
}

// That version ended with a test loss of 0.06227881833910942. Its optimizer rounded differently in
// places, so the last digits may differ.
TEST(EarlierRun, IsResumedToTheSameResultAndReported) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  fs::copy(kEarlierRun, run, fs::copy_options::recursive);
  const Outcome resumed = run_sing({"train", "rde", "--out", run.string(), "--resume"});
  ASSERT_EQ(resumed.code, 0) << resumed.error;
  EXPECT_THAT(resumed.out, HasSubstr("resuming from step 8"));
  const lab::run::RunRecord record = lab::run::read_run(run);
  ASSERT_TRUE(record.is_complete());
  EXPECT_EQ(record.end->status, lab::run::RunStatus::kFinished);
  EXPECT_EQ(record.steps.back().step, 200);
  EXPECT_EQ(record.steps.size(), 40U);
  EXPECT_NEAR(record.end->final_loss / 0.06227881833910942, 1, 1e-4);

  const Outcome evaluated = run_sing({"eval", run.string(), "--checkpoint", "last"});
  EXPECT_EQ(evaluated.code, 0) << evaluated.error;
  EXPECT_THAT(evaluated.out, HasSubstr("loss 6.22"));
  const Outcome reported = run_sing({"report", run.string()});
  ASSERT_EQ(reported.code, 0) << reported.error;
  const std::string page = read_whole(run / lab::run::kReportFile);
  EXPECT_THAT(page, HasSubstr(">finished</td>"));
  EXPECT_THAT(page, HasSubstr(">" + lab::page::short_number(record.end->final_loss) + "</td>"));
}

}  // namespace
}  // namespace sing::test
