// Checks the numbers in the drawings of runs: layers, colors, times, styles, pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lab/picture/color_map.hpp"
#include "lab/report/heat_map.hpp"
#include "lab/report/run_pictures.hpp"
#include "lab/report/run_style.hpp"
#include "lab/report/time_bars.hpp"

namespace sing::lab::report {
namespace {

using run::kAbsent;
using run::RunRecord;
using run::StepRecord;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(LayerNorms, ALayerIsTheRootOfItsSummedSquares) {
  const std::vector<StepRecord> records = {
      {.step = 10, .gradient_norms = {{"fc.weight", 3}, {"fc.bias", 4}, {"scale", 2}}},
      {.step = 15},
      {.step = 20, .gradient_norms = {{"fc.weight", 6}, {"fc.bias", 8}}},
      {.step = 30, .gradient_norms = {{"fc.weight", kAbsent}, {"fc.bias", 1}, {"scale", 4}}}};
  const LayerNorms all = layer_norms(records, 3);
  EXPECT_THAT(all.layers, ElementsAre("fc", "scale"));
  EXPECT_THAT(all.steps, ElementsAre(10, 20, 30));
  EXPECT_EQ(all.at(0, 0), 5);
  EXPECT_EQ(all.at(0, 1), 10);
  EXPECT_EQ(all.at(0, 2), kInfinity);
  EXPECT_TRUE(std::isnan(all.at(1, 1)));
  const LayerNorms two = layer_norms(records, 2);
  EXPECT_THAT(two.steps, ElementsAre(10, 30));
  EXPECT_EQ(two.at(0, 0), 7.5);
  EXPECT_EQ(two.at(1, 0), 2);
  EXPECT_TRUE(layer_norms({}, 5).values.empty());
}

TEST(HeatMap, ColorsFollowTheLogarithm) {
  const LayerNorms norms{.layers = {"a"},
                         .steps = {1, 2, 3, 4, 5, 6},
                         .values = {0.01, 0.1, 1, 0, kInfinity, kAbsent}};
  const NormLevels levels = norm_levels(norms);
  EXPECT_EQ(levels.low, 0.01);
  EXPECT_EQ(levels.high, 1);
  EXPECT_THAT(levels.bitmap.pixels, ElementsAre(0, 127, kTopLevel, 0, kNotFinite, kNothing));
  EXPECT_EQ(levels.bitmap.colors[kTopLevel], picture::scale_color(1));
  const NormLevels far = norm_levels({{"a"}, {1, 2}, {1e-30, 1}});
  EXPECT_DOUBLE_EQ(far.low, 1e-8);
  EXPECT_EQ(draw_heat_map({}), "");
  EXPECT_THAT(draw_heat_map({{"a"}, {1}, {0}}), HasSubstr("<image"));
}

TEST(StepTime, IsTheMeanWithoutTheFirstRecord) {
  RunRecord run;
  EXPECT_TRUE(std::isnan(step_time(run).sum()));
  const auto record = [](double data, double model, double optimizer) {
    return StepRecord{
        .data_seconds = data, .forward_backward_seconds = model, .optimizer_seconds = optimizer};
  };
  run.steps = {record(1, 10, 2)};
  EXPECT_EQ(step_time(run).sum(), 13);
  run.steps = {record(1, 10, 2), record(0.5, 2, 0.25), record(0.25, 4, 0.75),
               record(kAbsent, 4, 1)};
  const StepTime mean = step_time(run);
  EXPECT_EQ(mean.data, 0.375);
  EXPECT_EQ(mean.forward_backward, 3);
  EXPECT_EQ(mean.optimizer, 0.5);
  EXPECT_EQ(draw_time_bars({RunRecord{}}), "");
}

TEST(RunStyle, SeedsShareAColor) {
  const auto run = [](const char* name, const char* optimizer, const char* seed) {
    return RunRecord{
        .name = name,
        .settings = {
            {"optimizer", optimizer}, {"seed", seed}, {"out", std::string("runs/") + name}}};
  };
  EXPECT_THAT(
      run_styles({run("one", "adamw", "0"), run("two", "sgd", "0"), run("three", "adamw", "1")}),
      ElementsAre("color0 dash0 run0", "color1 dash0 run1", "color0 dash1 run2"));
}

TEST(RunPictures, AFewAtEvenDistancesWithBothEnds) {
  std::vector<std::filesystem::path> all;
  for (int picture = 0; picture < 100; ++picture) {
    all.emplace_back(std::to_string(picture));
  }
  EXPECT_THAT(chosen_pictures(all, 4), ElementsAre("0", "33", "66", "99"));
  EXPECT_EQ(chosen_pictures(all, 100), all);
  EXPECT_THAT(chosen_pictures(all, 1), ElementsAre("99"));
  EXPECT_TRUE(chosen_pictures({}, 4).empty());
}

}  // namespace
}  // namespace sing::lab::report
