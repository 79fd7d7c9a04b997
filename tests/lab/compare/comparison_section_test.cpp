// Checks what the report's page shows of a comparison.
#include "lab/compare/comparison_section.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sing::lab::compare {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Result finished(const std::string& name, double rate, double accuracy, double loss) {
  return {.contestant = name,
          .learning_rate = rate,
          .end = run::EndRecord{.status = run::RunStatus::kFinished,
                                .final_accuracy = accuracy,
                                .final_loss = loss,
                                .seconds = 10}};
}

TEST(ComparisonSection, HasTheTableOfTheTerminal) {
  const std::string page =
      comparison_section(rows_of({finished("adamw", 0.1, 0.5, 2), finished("adamw", 0.1, 0.7, 4)}));
  EXPECT_THAT(page, HasSubstr("<tr><th>optimizer</th><th>learning rate</th><th>runs</th>"));
  EXPECT_THAT(page, HasSubstr("<tr><td>adamw</td><td>0.1</td><td>2</td><td>60 % ± 14.14 %</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<figure"))) << "one learning rate makes no curve";
  EXPECT_EQ(comparison_section({}), "");
}

TEST(ComparisonSection, DrawsAccuracyByLearningRate) {
  Result diverged = finished("adamw", 1, 0.9, 0);
  diverged.end->status = run::RunStatus::kDiverged;
  const std::string page = comparison_section(
      rows_of({finished("adamw", 0.1, 0.5, 2), finished("adamw", 0.01, 0.25, 2),
               finished("adamw", 0.01, 0.75, 2), diverged, finished("<sing>", 0.1, 1, 1)}));
  EXPECT_THAT(page, HasSubstr("Accuracy by learning rate, %"));
  EXPECT_THAT(page, HasSubstr("\"log\":[true,false]"));
  // A curve runs from low to high rates; where all runs diverged it has a gap.
  EXPECT_THAT(page,
              HasSubstr("\"label\":\"adamw\",\"points\":[[0.01,50.0,25.0,75.0],[0.1,50.0],[1.0]]"))
      << "the band spans the seeds";
  EXPECT_THAT(page, HasSubstr("\"label\":\"\\u003csing>\",\"points\":[[0.1,100.0]]"));
  EXPECT_THAT(page, HasSubstr("<i class=\"swatch color1\"></i>&lt;sing&gt;"));
}

// The name of a score comes from the files of a run.
TEST(ComparisonSection, TheNameOfAScoreIsText) {
  Result one = finished("adamw", 0.1, 0.5, 2);
  one.end->score_name = "<b>";
  one.evaluated_on = "test";
  const std::string page = comparison_section(rows_of({one}));
  EXPECT_THAT(page, HasSubstr("; &lt;b&gt; and loss: on the test set"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
}

TEST(ComparisonSection, DrawsTheLossOfATaskWithoutAccuracy) {
  const std::string page = comparison_section(
      rows_of({finished("adamw", 0.1, run::kAbsent, 2), finished("adamw", 0.01, run::kAbsent, 1)}));
  EXPECT_THAT(page, HasSubstr("Loss by learning rate <small>logarithmic</small>"));
}

TEST(ComparisonSection, ALearningRateThatWasNotGivenIsTheRunsOwn) {
  Result own = finished("lion", 0, 0.5, 1);
  own.learning_rate = std::nullopt;
  own.own_rate = 0.1;
  const std::string page = comparison_section(
      rows_of({finished("adamw", 0.01, 0.5, 1), finished("adamw", 1, 0.5, 1), own}));
  EXPECT_THAT(page, HasSubstr("\"label\":\"lion\",\"points\":[[0.1,50.0]]"));
}

}  // namespace
}  // namespace sing::lab::compare
